//! What every database must do with rows.

use crate::{
    check::{
        added, batch, begin, columns, committed, create, define, done, id, make, pairs, refused,
        removed, rows, updated,
    },
    definitions::Definitions,
    lookups, references, sinks, turns,
};
use volley_connector::{
    ColumnDefinition, Database, Definition, KeyDefinition, Maintenance, ObjectKind, RowChanges,
    TableDefinition, TableId, Transaction, WriteKind,
};
use volley_error::ErrorKind;
use volley_memory::Pool;

/// Checks an empty database with the schema `main`, which is empty again afterwards.
///
/// # Panics
///
/// Where the database breaks the contract of [`Database`].
pub fn database(database: &dyn Database) {
    let rows = Rows { database };
    rows.are_changed();
    rows.are_received_by_sinks();
    sinks::receive_changes(database);
    rows.are_isolated();
    rows.go_back_to_marks();
    rows.stay_after_failures();
    rows.conflict();
    rows.keep_their_promises();
    rows.outlive_maintenance();
    lookups::look_up(database);
    turns::take_turns(database);
    references::refer(database);
    let definitions = Definitions { database };
    definitions.change_schemas();
    definitions.change_tables();
    definitions.change_objects();
    definitions.conflict();
    let snapshot = done(database.snapshot());
    let left = snapshot.catalog().schemas.values().all(|it| it.is_empty());
    assert!(left, "objects are left: {:?}", snapshot.catalog());
}

struct Rows<'d> {
    database: &'d dyn Database,
}

impl Rows<'_> {
    fn drop_table(&self, name: &str) {
        let (schema, kind) = ("main".to_owned(), ObjectKind::Table);
        define(self.database, Definition::Drop { schema, kind, name: name.to_owned() });
    }

    fn check(&self, table: TableId, expected: &[(i64, Option<i64>)]) {
        assert_eq!(committed(self.database, table), expected);
    }

    /// Maintenance changes no answer, and succeeds where it means nothing.
    fn outlive_maintenance(&self) {
        let table = make(self.database, "kept", &[(1, Some(10)), (2, None), (3, Some(30))]);
        let mut transaction = begin(self.database);
        let changes = removed(&*transaction.snapshot(), table, &[2]);
        done(transaction.change(table, changes));
        for work in [
            Maintenance::Checkpoint,
            Maintenance::Vacuum(Some(table)),
            Maintenance::Vacuum(None),
            Maintenance::Checkpoint,
        ] {
            done(self.database.maintain(work));
            self.check(table, &[(1, Some(10)), (2, None), (3, Some(30))]);
        }
        done(transaction.commit());
        for work in [Maintenance::Vacuum(Some(table)), Maintenance::Checkpoint] {
            done(self.database.maintain(work));
            self.check(table, &[(1, Some(10)), (3, Some(30))]);
        }
        let size = done(self.database.size());
        assert!(size.live_bytes <= size.bytes && size.log_bytes <= size.bytes, "{size:?}");
        let blocks = done(self.database.stored_blocks(table));
        assert!(blocks.iter().all(|it| it.column < 2), "{blocks:?}");
        done(self.database.close());
        self.check(table, &[(1, Some(10)), (3, Some(30))]);
        self.drop_table("kept");
    }

    fn are_changed(&self) {
        let table = make(self.database, "changed", &[(1, Some(10)), (2, None), (3, Some(30))]);
        let mut transaction = begin(self.database);
        let snapshot = transaction.snapshot();
        let RowChanges { updates, updated_columns, .. } =
            updated(&*snapshot, table, &[2], Some(20));
        let deleted = removed(&*snapshot, table, &[3]).deleted;
        let inserted = vec![batch(&[(4, Some(40))]), batch(&[(5, None), (6, None)])];
        let changes =
            RowChanges { inserted, updates, updated_columns, deleted, ..RowChanges::default() };
        let changed = done(transaction.change(table, changes));
        let count = |it: &[volley_vector::Batch]| it.iter().map(|it| it.rows()).sum::<usize>();
        assert_eq!(count(&changed.written[..changed.changed_batches]), 1, "changed rows");
        assert_eq!(count(&changed.written[changed.changed_batches..]), 3, "added rows");
        assert_eq!(count(&changed.removed), 1, "removed rows");
        let expected = [(1, Some(10)), (2, Some(20)), (4, Some(40)), (5, None), (6, None)];
        assert_eq!(pairs(&*transaction.snapshot(), table), expected);
        // The snapshot from before the change is as it was.
        assert_eq!(pairs(&*snapshot, table), [(1, Some(10)), (2, None), (3, Some(30))]);
        done(transaction.commit());
        self.check(table, &expected);
        // Nothing is a change, too.
        let mut transaction = begin(self.database);
        done(transaction.change(table, RowChanges::default()));
        done(transaction.commit());
        self.check(table, &expected);
        self.drop_table("changed");
    }

    fn are_received_by_sinks(&self) {
        let pool = Pool::root("rows", None);
        let key = KeyDefinition { columns: vec![0], is_primary: true, index: None };
        let definition = TableDefinition { keys: vec![key], ..TableDefinition::default() };
        define(self.database, create("sunk", definition));
        let table = id(&*done(self.database.snapshot()), "sunk");
        let mut transaction = begin(self.database);
        let writer = done(transaction.writer(table, &WriteKind::insert(), &pool));
        assert!(writer.sinks_max() > 1, "one sink for all drivers");
        let (mut first, mut second) = (done(writer.open()), done(writer.open()));
        // A sink that is not finished adds nothing.
        done(done(writer.open()).write(&batch(&[(100, None)])));
        done(second.write(&batch(&[(3, Some(3)), (4, None)])));
        done(first.write(&batch(&[(1, Some(1))])));
        done(first.write(&batch(&[(2, None)])));
        done(second.finish());
        done(first.finish());
        assert!(pairs(&*transaction.snapshot(), table).is_empty(), "rows that were not added");
        let changed = done(transaction.apply(table, writer));
        assert_eq!(changed.written.iter().map(|it| it.rows()).sum::<usize>(), 4);
        let keys = done(rows(&done(transaction.snapshot().table(table))));
        let keys: Vec<_> = keys.iter().map(|it| it[0].as_i128()).collect();
        assert_eq!(keys, [1, 2, 3, 4].map(Some), "the rows of the first sink come first");
        done(transaction.commit());
        self.check(table, &[(1, Some(1)), (2, None), (3, Some(3)), (4, None)]);
        // Keys hold, and a transaction that refuses them goes on.
        let mut transaction = begin(self.database);
        let add = |transaction: &mut Box<dyn Transaction>, skipping: &[usize]| {
            let kind = WriteKind::Insert { skipping_keys: skipping.to_vec() };
            let writer = done(transaction.writer(table, &kind, &pool));
            let mut sink = done(writer.open());
            done(sink.write(&batch(&[(4, Some(4)), (5, Some(5))])));
            done(sink.finish());
            transaction.apply(table, writer)
        };
        refused(add(&mut transaction, &[]), ErrorKind::InvalidValue, "4");
        assert_eq!(
            done(add(&mut transaction, &[0])).written.iter().map(|it| it.rows()).sum::<usize>(),
            1
        );
        drop(transaction);
        self.check(table, &[(1, Some(1)), (2, None), (3, Some(3)), (4, None)]);
        assert_eq!(pool.stats().bytes, 0, "memory of rows that were added");
        self.drop_table("sunk");
    }

    fn are_isolated(&self) {
        let table = make(self.database, "isolated", &[(1, None)]);
        let before = done(self.database.snapshot());
        let mut transaction = begin(self.database);
        done(transaction.change(table, added(&[(2, None)])));
        self.check(table, &[(1, None)]);
        // One that is dropped leaves nothing.
        drop(transaction);
        self.check(table, &[(1, None)]);
        let mut writer = begin(self.database);
        let reader = begin(self.database);
        done(writer.change(table, added(&[(3, None)])));
        done(writer.commit());
        self.check(table, &[(1, None), (3, None)]);
        for snapshot in [before, reader.snapshot()] {
            assert_eq!(pairs(&*snapshot, table), [(1, None)], "a snapshot changed");
        }
        done(reader.commit());
        self.drop_table("isolated");
        refused(done(self.database.snapshot()).table(table), ErrorKind::InvalidQuery, "table");
    }

    fn go_back_to_marks(&self) {
        let table = make(self.database, "marked", &[(1, None)]);
        let mut transaction = begin(self.database);
        let first = transaction.mark();
        done(transaction.change(table, added(&[(2, None)])));
        let second = transaction.mark();
        done(transaction.change(table, added(&[(3, None)])));
        done(transaction.define(create("later", TableDefinition::default())));
        done(transaction.roll_back_to(&second));
        assert_eq!(pairs(&*transaction.snapshot(), table), [(1, None), (2, None)]);
        assert!(transaction.snapshot().catalog().relation("main", "later").is_none());
        done(transaction.roll_back_to(&first));
        assert_eq!(pairs(&*transaction.snapshot(), table), [(1, None)]);
        // A mark stays valid.
        done(transaction.change(table, added(&[(4, None)])));
        done(transaction.roll_back_to(&first));
        done(transaction.change(table, added(&[(5, None)])));
        done(transaction.commit());
        self.check(table, &[(1, None), (5, None)]);
        self.drop_table("marked");
    }

    fn stay_after_failures(&self) {
        let definition = TableDefinition {
            columns: vec![ColumnDefinition { is_not_null: true, ..ColumnDefinition::default() }; 2],
            keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
            ..TableDefinition::default()
        };
        define(self.database, create("strict", definition));
        let table = id(&*done(self.database.snapshot()), "strict");
        let mut transaction = begin(self.database);
        done(transaction.change(table, added(&[(1, Some(1))])));
        let null = transaction.change(table, added(&[(2, Some(2)), (3, None)]));
        refused(null, ErrorKind::InvalidValue, "n");
        let twice = transaction.change(table, added(&[(2, Some(2)), (1, Some(3))]));
        refused(twice, ErrorKind::InvalidValue, "1");
        let null = updated(&*transaction.snapshot(), table, &[1], None);
        refused(transaction.change(table, null), ErrorKind::InvalidValue, "n");
        assert_eq!(pairs(&*transaction.snapshot(), table), [(1, Some(1))]);
        let changes = RowChanges { skipping_keys: vec![0], ..added(&[(1, Some(9)), (2, Some(2))]) };
        let changed = done(transaction.change(table, changes));
        assert_eq!(changed.written.iter().map(|it| it.rows()).sum::<usize>(), 1);
        done(transaction.commit());
        self.check(table, &[(1, Some(1)), (2, Some(2))]);
        self.drop_table("strict");
    }

    fn conflict(&self) {
        let table = make(self.database, "contended", &[(1, Some(0))]);
        let other = make(self.database, "other", &[]);
        let mut first = begin(self.database);
        let mut second = begin(self.database);
        let mut third = begin(self.database);
        let changes = updated(&*first.snapshot(), table, &[1], Some(1));
        done(first.change(table, changes));
        let changes = updated(&*second.snapshot(), table, &[1], Some(2));
        done(second.change(table, changes));
        done(second.change(other, added(&[(7, None)])));
        done(third.change(other, added(&[(8, None)])));
        done(first.commit());
        refused(second.commit(), ErrorKind::InvalidQuery, "contended");
        // None of its changes were made; those of another table are no conflict.
        done(third.commit());
        self.check(table, &[(1, Some(1))]);
        self.check(other, &[(8, None)]);
        let mut writer = begin(self.database);
        let changes = updated(&*writer.snapshot(), table, &[1], Some(3));
        done(writer.change(table, changes));
        self.drop_table("contended");
        refused(writer.commit(), ErrorKind::InvalidQuery, "contended");
        self.drop_table("other");
    }

    fn keep_their_promises(&self) {
        let table = make(self.database, "promised", &[(1, Some(1)), (1, Some(2))]);
        let key = KeyDefinition { columns: vec![0], is_primary: true, index: None };
        let definition = TableDefinition { keys: vec![key], ..TableDefinition::default() };
        let mut transaction = begin(self.database);
        let change = volley_connector::TableChange::Define { definition: definition.clone() };
        let refusal = transaction.define(Definition::AlterTable { table, change });
        refused(refusal, ErrorKind::InvalidValue, "1");
        let changes = removed(&*transaction.snapshot(), table, &[1]);
        done(transaction.change(table, changes));
        let change = volley_connector::TableChange::Define { definition };
        done(transaction.define(Definition::AlterTable { table, change }));
        done(transaction.change(table, added(&[(1, None)])));
        refused(transaction.change(table, added(&[(1, None)])), ErrorKind::InvalidValue, "1");
        done(transaction.commit());
        self.check(table, &[(1, None)]);
        let snapshot = done(self.database.snapshot());
        let entry = snapshot.catalog().table(table).expect("the table exists").1;
        assert!(entry.definition.keys[0].is_primary);
        assert_eq!(entry.columns, columns());
        self.drop_table("promised");
    }
}
