//! Changes that the sinks of several drivers receive.

use crate::check::{SCHEMA, batch, begin, define, done, ids, make, pairs, refused, rows_of};
use volley_connector::{
    BatchIndex, Database, Definition, MergeAction, ObjectKind, RowSink, TableId, Transaction,
    WriteKind,
};
use volley_error::ErrorKind;
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// A column of numbers.
fn numbers(values: &[i64]) -> Vector {
    let values: Vec<Value> = values.iter().map(|it| Value::BigInt(*it)).collect();
    Vector::from_values(Type::BigInt, &values)
}

/// Rows of UPDATE: ids and new numbers.
fn updates(ids: &[i64], values: &[i64]) -> Batch {
    Batch::new(vec![numbers(ids), numbers(values)], ids.len())
}

/// Rows of MERGE: id, action, key, number.
fn merged(rows: &[(Option<i64>, MergeAction, i64, i64)]) -> Batch {
    let column = |data_type: Type,
                  value: &dyn Fn(&(Option<i64>, MergeAction, i64, i64)) -> Value| {
        let values: Vec<Value> = rows.iter().map(value).collect();
        Vector::from_values(data_type, &values)
    };
    let columns = vec![
        column(Type::BigInt, &|it| it.0.map_or(Value::Null, Value::BigInt)),
        column(Type::Integer, &|it| Value::Integer(it.1.code())),
        column(Type::BigInt, &|it| Value::BigInt(it.2)),
        column(Type::BigInt, &|it| Value::BigInt(it.3)),
    ];
    Batch::new(columns, rows.len())
}

/// Lets sinks of one writer receive batches, and applies them.
struct Writes<'t> {
    transaction: &'t mut Box<dyn Transaction>,
    table: TableId,
    pool: &'t Pool,
}

impl Writes<'_> {
    fn apply(
        &mut self,
        kind: &WriteKind,
        write: impl FnOnce(&mut [Box<dyn RowSink>]),
    ) -> volley_error::Result<volley_connector::Changed> {
        let writer = done(self.transaction.writer(self.table, kind, self.pool));
        let mut sinks: Vec<_> = (0..2).map(|_| done(writer.open())).collect();
        write(&mut sinks);
        sinks.iter_mut().for_each(|it| done(it.finish()));
        drop(sinks);
        self.transaction.apply(self.table, writer)
    }
}

/// Checks what becomes of rows of each kind.
pub(crate) fn receive_changes(database: &dyn Database) {
    let pool = Pool::root("rows", None);
    let rows: Vec<(i64, Option<i64>)> = (1..=6).map(|it| (it, Some(it * 10))).collect();
    let table = make(database, "received", &rows);
    let mut transaction = begin(database);
    let id_of = |transaction: &dyn Transaction, key: i64| {
        let found = ids(&*transaction.snapshot(), table, &[key]);
        *found.first().expect("the row exists")
    };
    let (one, two, three) =
        (id_of(&*transaction, 1), id_of(&*transaction, 2), id_of(&*transaction, 3));
    let mut writes = Writes { transaction: &mut transaction, table, pool: &pool };
    // The last values of a row are those at the greatest index, whatever sink came first.
    let changed = done(writes.apply(&WriteKind::Update { columns: vec![1] }, |sinks| {
        done(sinks[0].begin(BatchIndex(5)));
        done(sinks[0].write(&updates(&[one, two], &[100, 200])));
        done(sinks[1].begin(BatchIndex(2)));
        done(sinks[1].write(&updates(&[one], &[-1])));
        done(sinks[1].begin(BatchIndex(7)));
        done(sinks[1].write(&updates(&[three, two], &[300, 201])));
    }));
    assert_eq!(changed.written.iter().map(Batch::rows).sum::<usize>(), 3);
    let expected = [(1, Some(100)), (2, Some(201)), (3, Some(300))];
    assert_eq!(pairs(&*transaction.snapshot(), table)[..3], expected);
    // A row is removed once.
    let (four, five) = (id_of(&*transaction, 4), id_of(&*transaction, 5));
    let mut writes = Writes { transaction: &mut transaction, table, pool: &pool };
    let changed = done(writes.apply(&WriteKind::Delete, |sinks| {
        done(sinks[0].write(&Batch::new(vec![numbers(&[four, five])], 2)));
        done(sinks[1].write(&Batch::new(vec![numbers(&[five])], 1)));
    }));
    assert_eq!(changed.removed.iter().map(Batch::rows).sum::<usize>(), 2);
    let merge = WriteKind::Merge { statement: "MERGE" };
    let (one, two, six) =
        (id_of(&*transaction, 1), id_of(&*transaction, 2), id_of(&*transaction, 6));
    let mut writes = Writes { transaction: &mut transaction, table, pool: &pool };
    let twice = writes.apply(&merge, |sinks| {
        done(sinks[0].write(&merged(&[(Some(one), MergeAction::Update, 1, 0)])));
        done(sinks[1].write(&merged(&[(Some(one), MergeAction::Delete, 0, 0)])));
    });
    refused(twice, ErrorKind::InvalidValue, "MERGE changes a row twice");
    let changed = done(writes.apply(&merge, |sinks| {
        done(sinks[0].write(&merged(&[
            (Some(one), MergeAction::Update, 11, 111),
            (None, MergeAction::Insert, 8, 80),
            (Some(six), MergeAction::Delete, 0, 0),
        ])));
        done(sinks[1].write(&merged(&[(None, MergeAction::Insert, 9, 90)])));
        done(sinks[1].write(&merged(&[(Some(two), MergeAction::Update, 2, 222)])));
    }));
    let count = |it: &[Batch]| it.iter().map(Batch::rows).sum::<usize>();
    assert_eq!(count(&changed.written[..changed.changed_batches]), 2, "changed rows");
    assert_eq!(count(&changed.written[changed.changed_batches..]), 2, "added rows");
    assert_eq!(count(&changed.removed), 1, "removed rows");
    let expected = [(2, Some(222)), (3, Some(300)), (8, Some(80)), (9, Some(90)), (11, Some(111))];
    assert_eq!(pairs(&*transaction.snapshot(), table), expected);
    // Nothing received is no change.
    for kind in [WriteKind::Delete, merge, WriteKind::Update { columns: vec![1] }] {
        let mut writes = Writes { transaction: &mut transaction, table, pool: &pool };
        let changed = done(writes.apply(&kind, |_| ()));
        assert!(changed.written.is_empty() && changed.removed.is_empty(), "{kind:?}");
    }
    done(transaction.commit());
    assert_eq!(pairs(&*done(database.snapshot()), table), expected);
    keep_the_order(database, &pool);
    assert_eq!(pool.stats().bytes, 0, "memory of changes that were made");
    let (schema, kind) = (SCHEMA.to_owned(), ObjectKind::Table);
    define(database, Definition::Drop { schema, kind, name: "received".to_owned() });
}

/// Rows to add are in the order of their indexes.
fn keep_the_order(database: &dyn Database, pool: &Pool) {
    let table = make(database, "ordered", &[(0, None)]);
    let mut transaction = begin(database);
    let mut writes = Writes { transaction: &mut transaction, table, pool };
    done(writes.apply(&WriteKind::insert(), |sinks| {
        for (sink, index, key) in [(1, 0, 1), (0, 1, 2), (1, 3, 5), (0, 2, 4), (0, 9, 6)] {
            done(sinks[sink].begin(BatchIndex(index)));
            done(sinks[sink].write(&batch(&[(key, None)])));
            if key == 2 {
                done(sinks[sink].write(&batch(&[(3, None)])));
            }
        }
    }));
    let found = rows_of(&done(transaction.snapshot().table(table)));
    let keys: Vec<_> = found.iter().map(|it| it[0].as_i128()).collect();
    assert_eq!(keys, (0..=6).map(Some).collect::<Vec<_>>());
    drop(transaction);
    let (schema, kind) = (SCHEMA.to_owned(), ObjectKind::Table);
    define(database, Definition::Drop { schema, kind, name: "ordered".to_owned() });
}
