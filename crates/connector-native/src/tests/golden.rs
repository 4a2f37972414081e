//! Databases that each version of the format has written, kept in the repository.
//!
//! `cargo test -p volley-connector-native -- --ignored make_the_database` writes that of the newest
//! version again, when the format has changed before a release.

use super::*;
use std::fs;
use volley_connector::{DefinedObject, SequenceEntry, SequenceId};

/// The folder of the database of a version.
fn kept(version: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(format!("database-{version}"))
}

fn types() -> Vec<Type> {
    let row = Type::row(vec![Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]);
    vec![
        Type::BigInt,
        Type::Varchar,
        Type::Double,
        Type::Boolean,
        Type::Date,
        Type::Decimal { precision: 30, scale: 2 },
        Type::array(Type::Varchar),
        row,
    ]
}

/// The row of a number; some of its values are null.
fn row(number: i64) -> Vec<Value> {
    let text = Value::text(format!("Größe {}", number % 17));
    let small = i32::try_from(number).unwrap();
    let mut values = vec![
        Value::BigInt(number),
        text.clone(),
        Value::Double(number as f64 / 8.0),
        Value::Boolean(number % 3 == 0),
        Value::Date(small),
        Value::Decimal(i128::from(number) << 70),
        Value::Array(vec![text.clone(), Value::Null].into()),
        Value::Row(vec![Value::Integer(small), text].into()),
    ];
    let null = usize::try_from(number % 11).unwrap();
    values.iter_mut().skip(1).skip(null).take(1).for_each(|it| *it = Value::Null);
    values
}

fn batch(numbers: std::ops::Range<i64>) -> Batch {
    batch_of(&types(), &numbers.map(row).collect::<Vec<_>>())
}

/// A segment of 3000 rows with a column that was written again, changes of it in a block, and more
/// of them in the log; another table with a column that was written again, as the log has it.
fn make(native: &NativeDatabase) {
    let definition = TableDefinition {
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        comment: Some("kept".into()),
        ..TableDefinition::default()
    };
    let mut transaction = begin(native);
    let id = create(&mut *transaction, &types(), definition);
    let sequence = SequenceEntry {
        id: SequenceId(0),
        name: "s".into(),
        start: 5,
        increment: 2,
        least: 1,
        greatest: i64::MAX,
        cycles: false,
    };
    let (schema, object) = ("main".to_owned(), DefinedObject::Sequence(sequence));
    transaction.define(Definition::Put { schema, object }).unwrap();
    transaction.commit().unwrap();
    insert(native, id, vec![batch(0..3000)]);
    native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
    // Each of these writes a column again.
    for _ in 0..2 {
        change_rows(native, id, None, 8);
        native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
        native.maintain(Maintenance::Checkpoint).unwrap();
    }
    insert(native, id, vec![batch(3000..3010)]);
    change_rows(native, id, Some(7), 8);
    let other = make_other(native);
    native.maintain(Maintenance::Checkpoint).unwrap();
    insert(native, id, vec![batch(3010..3020)]);
    change_rows(native, id, Some(3001), 100);
    change_rows(native, other, None, 9);
    let version = native.storage().snapshot();
    for segment in &version.table(other).unwrap().segments {
        native.storage().propagate(other, segment.segment.id()).unwrap();
    }
}

/// A second table.
fn make_other(native: &NativeDatabase) -> TableId {
    let mut transaction = begin(native);
    let field = |it: (usize, &Type)| Field::new(format!("c{}", it.0), it.1.clone());
    let columns: Schema = types().iter().enumerate().map(field).collect();
    let (schema, name) = ("main".to_owned(), "other".to_owned());
    let definition = TableDefinition::default();
    transaction.define(Definition::CreateTable { schema, name, columns, definition }).unwrap();
    transaction.commit().unwrap();
    let id = table_id(native, "other");
    insert(native, id, vec![batch(0..100)]);
    native.maintain(Maintenance::Vacuum(Some(id))).unwrap();
    id
}

fn table_id(native: &NativeDatabase, name: &str) -> TableId {
    let snapshot = native.snapshot().unwrap();
    snapshot.catalog().relation("main", name).unwrap().as_table().unwrap().id
}

/// Deletes a row, and gives another one another text.
fn change_rows(native: &NativeDatabase, id: TableId, deleted: Option<i64>, updated: i64) {
    let ids = with_ids(&table(native, id));
    let id_of = |key: i64| *ids.iter().find(|it| it.1[0] == Value::BigInt(key)).unwrap().0;
    let text = Vector::from_values(Type::Varchar, &[Value::text("changed")]);
    let changes = RowChanges {
        updates: vec![RowUpdates { ids: vec![id_of(updated)], values: Batch::new(vec![text], 1) }],
        updated_columns: vec![1],
        deleted: deleted.into_iter().map(id_of).collect(),
        ..RowChanges::default()
    };
    let mut transaction = begin(native);
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
}

fn expected() -> Vec<String> {
    let rows = (0..3020).filter(|it| ![7, 3001].contains(it)).map(|number| {
        let mut values = row(number);
        if [8, 100].contains(&number) {
            values[1] = Value::text("changed");
        }
        values
    });
    sorted(rows)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn the_kept_database_is_read_and_changed() {
    for version in ["1.0", "1.1"] {
        read_and_change(version);
    }
}

#[test]
fn the_kept_database_of_1_1_has_columns_of_other_segments() {
    let folder = tempdir().unwrap();
    copy(&kept("1.1"), folder.path());
    let native = open(folder.path());
    let id = table_id(&native, "other");
    let mut expected: Vec<Vec<Value>> = (0..100).map(row).collect();
    expected[9][1] = Value::text("changed");
    assert_eq!(sorted(rows(&table(&native, id)).unwrap()), sorted(expected.into_iter()));
    for id in [id, table_id(&native, "t")] {
        let version = native.storage().snapshot();
        let segments = &version.table(id).unwrap().segments;
        assert!(segments.iter().any(|it| !it.segment.has_own_blocks()));
    }
}

fn read_and_change(version: &str) {
    let folder = tempdir().unwrap();
    copy(&kept(version), folder.path());
    let native = open(folder.path());
    let snapshot = native.snapshot().unwrap();
    let entry = snapshot.catalog().relation("main", "t").unwrap().as_table().unwrap().clone();
    assert_eq!(entry.definition.comment.as_deref(), Some("kept"));
    assert_eq!(entry.columns.types().cloned().collect::<Vec<_>>(), types());
    let table_of = |native: &NativeDatabase| table(native, entry.id);
    assert_eq!(sorted(rows(&table_of(&native)).unwrap()), expected());
    assert!(native.check().unwrap().findings.is_empty());
    let mut numbers = [0; 2];
    let sequence = snapshot.catalog().schemas["main"].sequences["s"].id;
    assert_eq!(snapshot.take_numbers(sequence, &mut numbers).unwrap(), 2);
    assert_eq!(numbers[1] - numbers[0], 2);
    insert(&native, entry.id, vec![batch(5000..5001)]);
    native.maintain(Maintenance::Vacuum(Some(entry.id))).unwrap();
    assert_eq!(rows(&table_of(&native)).unwrap().len(), expected().len() + 1);
}

#[test]
#[ignore = "writes the database that is kept in the repository"]
fn make_the_database() {
    let folder = tempdir().unwrap();
    make(&open(folder.path()));
    fs::remove_dir_all(kept("1.1")).ok();
    copy(folder.path(), &kept("1.1"));
}
