//! Rows by key, compared with all rows.

use crate::check::{added, begin, committed, create, define, done, id, ids, removed, updated};
use volley_connector::{
    Database, Definition, KeyDefinition, KeyLookup, ObjectKind, RowUpdates, Snapshot,
    TableDefinition, TableId,
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Rows of the table: enough for an index of a large batch.
const ROWS: i64 = 6000;

/// Checks look-ups by PRIMARY KEY in committed rows and in those of a transaction.
pub(crate) fn look_up(database: &dyn Database) {
    let key = KeyDefinition { columns: vec![0], is_primary: true, index: None };
    let definition = TableDefinition { keys: vec![key], ..TableDefinition::default() };
    define(database, create("looked up", definition));
    let snapshot = done(database.snapshot());
    let table = id(&*snapshot, "looked up");
    check(&*snapshot, table, &[0]);
    let mut transaction = begin(database);
    let rows: Vec<(i64, Option<i64>)> = (0..ROWS).map(|it| (it, Some(it * 2))).collect();
    done(transaction.change(table, added(&rows)));
    check(&*transaction.snapshot(), table, &[0, 17, ROWS - 1, ROWS]);
    done(transaction.commit());
    let mut transaction = begin(database);
    for row in ROWS..ROWS + 40 {
        done(transaction.change(table, added(&[(row, None)])));
        check(&*transaction.snapshot(), table, &[row - 1, row, row + 1]);
    }
    let mark = transaction.mark();
    for _ in 0..2 {
        done(transaction.roll_back_to(&mark));
        let snapshot = transaction.snapshot();
        done(transaction.change(table, removed(&*snapshot, table, &[3, ROWS + 3])));
        check(&*transaction.snapshot(), table, &[3, ROWS + 3]);
    }
    let snapshot = transaction.snapshot();
    done(transaction.change(table, updated(&*snapshot, table, &[4, ROWS + 4], Some(-1))));
    // Another key, which one of the removed rows had.
    let updates = vec![RowUpdates {
        ids: ids(&*transaction.snapshot(), table, &[5]),
        values: Batch::new(vec![Vector::from_values(Type::BigInt, &[Value::BigInt(3)])], 1),
    }];
    let changes = volley_connector::RowChanges {
        updates,
        updated_columns: vec![0],
        ..volley_connector::RowChanges::default()
    };
    done(transaction.change(table, changes));
    let changed = [3, 4, 5, 6, ROWS + 2, ROWS + 3, ROWS + 4];
    check(&*transaction.snapshot(), table, &changed);
    check(&*done(database.snapshot()), table, &changed);
    done(transaction.commit());
    check(&*done(database.snapshot()), table, &changed);
    assert_eq!(committed(database, table).len() as i64, ROWS + 38);
    let (schema, kind) = ("main".to_owned(), ObjectKind::Table);
    define(database, Definition::Drop { schema, kind, name: "looked up".into() });
}

/// Looks up all keys at once, and each alone.
#[track_caller]
fn check(snapshot: &dyn Snapshot, table: TableId, keys: &[i64]) {
    let rows = crate::check::pairs(snapshot, table);
    let stored = done(snapshot.table(table));
    let with_ids = stored.as_stored().expect("the rows can be changed").with_row_ids;
    for keys in [keys].into_iter().chain(keys.chunks(1)) {
        let column = Vector::native::<i64>(Type::BigInt, keys.to_vec(), None);
        let lookup = KeyLookup { columns: vec![0], keys: Batch::new(vec![column], keys.len()) };
        // A small table may be scanned instead.
        let Some(found) = done(stored.lookup(&lookup, &[1, 0])) else {
            assert!(rows.len() < 1000, "a large table is not scanned");
            continue;
        };
        let expected = rows.iter().filter(|it| keys.contains(&it.0));
        let expected: Vec<(i64, Option<i64>)> = expected.copied().collect();
        let number = |column: usize, row: usize| {
            let value = done(found.column(column).value(row));
            value.as_i128().and_then(|it| i64::try_from(it).ok())
        };
        let pair = |row: usize| (number(1, row).expect("a key is not null"), number(0, row));
        let mut pairs: Vec<_> = (0..found.rows()).map(pair).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, expected);
        let found = done(with_ids.lookup(&lookup, &[2])).expect("as without ids");
        let id = |row: usize| done(found.column(0).value(row)).as_i128();
        let mut found: Vec<i128> = (0..found.rows()).filter_map(id).collect();
        let mut expected: Vec<i128> =
            ids(snapshot, table, keys).into_iter().map(i128::from).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
