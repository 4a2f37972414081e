//! Salvage of databases whose manifests are lost.

use super::*;
use crate::{NativeOptions, SalvageReport, salvage};
use std::fs;
use volley_storage::BULK_ROWS;

fn options() -> NativeOptions {
    NativeOptions::new(&Pool::root("test", None), Arc::default())
}

fn types() -> Vec<Type> {
    vec![Type::BigInt, Type::Varchar, Type::array(Type::Integer)]
}

fn row(number: i64) -> Vec<Value> {
    let elements = vec![Value::Integer(number as i32), Value::Null];
    let text = if number % 7 == 3 { Value::Null } else { Value::text(format!("Größe {number}")) };
    vec![Value::BigInt(number), text, Value::Array(elements.into())]
}

fn batch(numbers: std::ops::Range<i64>) -> Batch {
    batch_of(&types(), &numbers.map(row).collect::<Vec<_>>())
}

fn named(native: &NativeDatabase, name: &str) -> TableId {
    let field = |it: (usize, &Type)| Field::new(format!("c{}", it.0), it.1.clone());
    let columns: Schema = types().iter().enumerate().map(field).collect();
    let definition = TableDefinition {
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        comment: Some(format!("comment of {name}")),
        ..TableDefinition::default()
    };
    let mut transaction = begin(native);
    let (schema, name) = ("main".to_owned(), name.to_owned());
    let made = Definition::CreateTable { schema, name: name.clone(), columns, definition };
    transaction.define(made).unwrap();
    transaction.commit().unwrap();
    id_of(native, &name)
}

fn id_of(native: &NativeDatabase, name: &str) -> TableId {
    let snapshot = native.snapshot().unwrap();
    snapshot.catalog().relation("main", name).unwrap().as_table().unwrap().id
}

/// Deletes rows, and gives others new texts.
fn change(native: &NativeDatabase, id: TableId, deleted: &[i64], updated: &[i64]) {
    let ids = with_ids(&table(native, id));
    let id_of = |key: &i64| *ids.iter().find(|it| it.1[0] == Value::BigInt(*key)).unwrap().0;
    let text = vec![Value::text("changed"); updated.len()];
    let values = Batch::new(vec![Vector::from_values(Type::Varchar, &text)], text.len());
    let changes = RowChanges {
        updates: vec![RowUpdates { ids: updated.iter().map(id_of).collect(), values }],
        updated_columns: vec![1],
        deleted: deleted.iter().map(id_of).collect(),
        ..RowChanges::default()
    };
    let mut transaction = begin(native);
    transaction.change(id, changes).unwrap();
    transaction.commit().unwrap();
}

fn propagate(native: &NativeDatabase, id: TableId) {
    let version = native.storage().snapshot();
    for segment in &version.table(id).unwrap().segments {
        native.storage().propagate(id, segment.segment.id()).unwrap();
    }
}

fn contents(native: &NativeDatabase, name: &str) -> Vec<String> {
    sorted(rows(&table(native, id_of(native, name))).unwrap())
}

/// Tables in all states that a checkpoint leaves, the large one of `count` rows.
fn make(folder: &Path, count: i64) -> BTreeMap<&'static str, Vec<String>> {
    let native = open(folder);
    let small = named(&native, "small");
    insert(&native, small, vec![batch(0..10)]);
    change(&native, small, &[3], &[4]);
    let large = named(&native, "large");
    insert(&native, large, vec![batch(0..count)]);
    insert(&native, large, vec![batch(200_000..200_010)]);
    change(&native, large, &[0, count - 1], &[5, 200_003]);
    let columns = named(&native, "columns");
    insert(&native, columns, vec![batch(0..3000)]);
    propagate(&native, columns);
    change(&native, columns, &[], &[7, 2999]);
    propagate(&native, columns);
    change(&native, columns, &[], &[8]);
    propagate(&native, columns);
    // The files of the segments in between are removed.
    native.maintain(Maintenance::Checkpoint).unwrap();
    change(&native, columns, &[9], &[]);
    named(&native, "empty");
    native.maintain(Maintenance::Checkpoint).unwrap();
    ["small", "large", "columns"].map(|it| (it, contents(&native, it))).into()
}

fn salvaged(from: &Path) -> (SalvageReport, NativeDatabase, tempfile::TempDir) {
    let to = tempdir().unwrap();
    let report = salvage(from, to.path(), &options()).unwrap();
    let native = open(to.path());
    (report, native, to)
}

fn shown(report: &SalvageReport) -> String {
    report.lost.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn rows_are_found_without_a_manifest() {
    let folder = tempdir().unwrap();
    let expected = make(folder.path(), 140_000);
    fs::remove_dir_all(folder.path().join("manifest")).unwrap();
    for is_current_lost in [false, true] {
        if is_current_lost {
            fs::remove_file(folder.path().join("CURRENT")).unwrap();
        }
        let (report, native, _to) = salvaged(folder.path());
        for (name, rows) in &expected {
            assert!(contents(&native, name) == *rows, "{name}: {}", shown(&report));
        }
        let snapshot = native.snapshot().unwrap();
        let entry = snapshot.catalog().relation("main", "small").unwrap().as_table().unwrap();
        assert_eq!(entry.definition.comment.as_deref(), Some("comment of small"));
        assert_eq!(entry.columns.types().cloned().collect::<Vec<_>>(), types());
        assert!(entry.definition.keys.is_empty());
        let lost = shown(&report);
        assert_eq!(report.lost.len(), 2, "{lost}");
        assert!(lost.contains("no manifest") && lost.contains("without keys"), "{lost}");
    }
}

#[test]
fn damaged_files_lose_what_is_damaged() {
    let folder = tempdir().unwrap();
    let expected = make(folder.path(), BULK_ROWS as i64);
    fs::remove_dir_all(folder.path().join("manifest")).unwrap();
    for entry in fs::read_dir(folder.path().join("data")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for at in [bytes.len() * 2 / 3, 9, 60] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            fs::write(&path, &damaged).unwrap();
            let (report, native, _to) = salvaged(folder.path());
            // The other tables are whole.
            let snapshot = native.snapshot().unwrap();
            let is_whole = |name: &str| {
                let is_there = snapshot.catalog().relation("main", name).is_some();
                is_there && contents(&native, name) == expected[name]
            };
            let whole = expected.keys().filter(|it| is_whole(it)).count();
            assert!(whole >= 1, "{path:?} {at}: {}", shown(&report));
            // What is lost is named; blocks that no segment needs are not read.
            let is_named = report.lost.len() > 2 || whole == expected.len();
            assert!(is_named, "{path:?} {at}: {}", shown(&report));
        }
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn a_folder_without_descriptions_says_that_nothing_is_found() {
    let folder = tempdir().unwrap();
    make(folder.path(), 100);
    fs::remove_dir_all(folder.path().join("manifest")).unwrap();
    fs::remove_dir_all(folder.path().join("data")).unwrap();
    let to = tempdir().unwrap();
    let error = salvage(folder.path(), &to.path().join("new"), &options()).unwrap_err();
    assert!(error.to_string().contains("no manifest of the database can be read"), "{error}");
}
