mod columns;
mod full_disk;
mod hooked_store;
mod keys;
mod merges;
mod reader;
#[cfg(feature = "shuttle")]
mod schedules;

use super::*;
use crate::{ConflictScope, LocalStore, SegmentWriter, TableChange, TableVersion};
use std::path::Path;
use tempfile::tempdir;
use volley_connector::{RelationEntry, SequenceEntry, TableEntry, TableId};
use volley_pdt::{Budget, PROVISIONAL, RowId, RowName};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

fn open(folder: &Path) -> Arc<Storage> {
    let store = Arc::new(LocalStore::open(folder).unwrap());
    Storage::open(store, options()).unwrap()
}

fn options() -> StorageOptions {
    StorageOptions {
        pool: Pool::root("test", None),
        delta_bytes: usize::MAX,
        types: Arc::new(TypeRegistry::default()),
        salt: 9,
        bulk_rows: BULK_ROWS,
    }
}

fn columns() -> Schema {
    Schema::new(vec![Field::new("k", Type::BigInt), Field::new("t", Type::Varchar)])
}

fn batch(keys: std::ops::Range<i64>) -> Batch {
    let numbers: Vec<Value> = keys.clone().map(Value::BigInt).collect();
    let texts: Vec<Value> = keys.clone().map(|it| Value::text(format!("text {it}"))).collect();
    let columns = vec![
        Vector::from_values(Type::BigInt, &numbers),
        Vector::from_values(Type::Varchar, &texts),
    ];
    Batch::new(columns, numbers.len())
}

fn create(storage: &Arc<Storage>, name: &str) -> TableId {
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    let id = add_table(storage, &mut changes, name);
    transaction.commit(changes).unwrap();
    id
}

fn add_table(storage: &Storage, changes: &mut Changes, name: &str) -> TableId {
    let id = TableId(storage.ids().next_object());
    let mut catalog = (*changes.catalog).clone();
    let main = Arc::make_mut(catalog.schemas.get_mut("main").unwrap());
    let entry =
        TableEntry { id, name: name.into(), columns: columns(), definition: Arc::default() };
    main.relations.insert(name.into(), RelationEntry::Table(Arc::new(entry)));
    changes.catalog = Arc::new(catalog);
    let segment = storage.ids().next_segment().unwrap();
    let shape = storage.ids().next_object();
    let table = TableVersion::empty(id, shape, &columns(), segment, storage.budget()).unwrap();
    changes.tables.insert(id, Arc::new(TableChange::replacing(table)));
    id
}

/// Inserts at the end of the last segment.
fn insert(changes: &mut Changes, table: TableId, rows: &Batch) {
    let change = changes.table_mut(table).unwrap();
    let last = Arc::clone(change.segments().next_back().unwrap());
    let own = change.own.entry(last.segment.id());
    let own = own.or_insert_with(|| Arc::new(last.layers.transaction().unwrap()));
    Arc::make_mut(own).insert(last.segment.rows(), rows).unwrap();
}

fn change_row(changes: &mut Changes, table: TableId, row: RowId, text: Option<&str>) {
    let change = changes.table_mut(table).unwrap();
    let segment = Arc::clone(change.segment(row.segment).unwrap());
    let own = change.own.entry(row.segment);
    let own = own.or_insert_with(|| Arc::new(segment.layers.transaction().unwrap()));
    let own = Arc::make_mut(own);
    let count = match text {
        None => own.delete(&segment.layers, &[row.row]).unwrap(),
        Some(text) => {
            let values =
                Batch::new(vec![Vector::from_values(Type::Varchar, &[Value::text(text)])], 1);
            own.modify(&segment.layers, &[row.row], &[1], &values).unwrap()
        }
    };
    assert_eq!(count, 1);
}

fn commit(storage: &Arc<Storage>, change: impl FnOnce(&mut Changes)) -> Result<()> {
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    change(&mut changes);
    transaction.commit(changes)
}

/// All rows by name.
fn rows(storage: &Storage, table: TableId) -> Vec<(RowId, String)> {
    let changes = Changes::new(storage.snapshot());
    rows_of(&changes, table)
}

fn rows_of(changes: &Changes, table: TableId) -> Vec<(RowId, String)> {
    let view = changes.view(table).unwrap();
    let mut names = Vec::new();
    for segment in &view.segments {
        for rid in 0..segment.view().rows() as u32 {
            let row = segment.view().row_at(rid).unwrap();
            names.push(RowId { segment: segment.segment_id(), row });
        }
    }
    let found = view.fetch(&names, &[0, 1]).unwrap();
    let text = |row: usize| {
        let value = |column: usize| found.column(column).value(row).unwrap();
        format!("{:?} {:?}", value(0), value(1))
    };
    names.iter().enumerate().map(|(row, it)| (*it, text(row))).collect()
}

fn key(row: &(RowId, String)) -> &str {
    row.1.split(' ').next().unwrap()
}

#[test]
fn commits_survive_a_restart() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..10))).unwrap();
    let names = rows(&storage, table);
    commit(&storage, |it| {
        change_row(it, table, names[3].0, Some("changed"));
        change_row(it, table, names[5].0, None);
        insert(it, table, &batch(20..22));
    })
    .unwrap();
    let expected = rows(&storage, table);
    assert_eq!(expected.len(), 11);
    assert!(expected[3].1.contains("changed"));
    storage.checkpoint().unwrap();
    assert_eq!(rows(&storage, table), expected);
    drop(storage);
    for _ in 0..3 {
        let storage = open(folder.path());
        assert_eq!(rows(&storage, table), expected);
    }
}

#[test]
fn names_go_on_after_a_restart() {
    let folder = tempdir().unwrap();
    let mut storage = open(folder.path());
    let table = create(&storage, "t");
    let mut expected = Vec::new();
    for round in 0..6 {
        commit(&storage, |it| insert(it, table, &batch(round * 10..round * 10 + 4))).unwrap();
        let names = rows(&storage, table);
        commit(&storage, |it| {
            change_row(it, table, names[round as usize].0, Some("changed"));
            change_row(it, table, names.last().unwrap().0, None);
        })
        .unwrap();
        expected = rows(&storage, table);
        if round % 3 == 1 {
            storage.checkpoint().unwrap();
        }
        if round % 2 == 1 {
            drop(storage);
            storage = open(folder.path());
            assert_eq!(rows(&storage, table), expected);
        }
    }
    assert_eq!(expected.len(), 18);
}

#[test]
fn segments_are_written_again_while_a_transaction_is_open() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..10))).unwrap();
    let names = rows(&storage, table);
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    change_row(&mut changes, table, names[7].0, Some("late"));
    insert(&mut changes, table, &batch(30..31));
    let other = storage.begin();
    let mut conflicting = Changes::new(Arc::clone(other.version()));
    change_row(&mut conflicting, table, names[2].0, Some("conflict"));
    commit(&storage, |it| {
        change_row(it, table, names[1].0, None);
        change_row(it, table, names[2].0, Some("first"));
    })
    .unwrap();
    storage.propagate(table, names[0].0.segment).unwrap();
    let version = storage.snapshot();
    let segments = &version.table(table).unwrap().segments;
    assert!(segments.iter().all(|it| it.is_clean() && it.segment.rows() == 9));
    drop(version);
    transaction.commit(changes).unwrap();
    let error = other.commit(conflicting).unwrap_err();
    assert!(error.to_string().contains("conflicts"), "{error}");
    let after = rows(&storage, table);
    assert_eq!(after.len(), 10);
    assert!(after[6].1.contains("late") && after[1].1.contains("first"), "{after:?}");
    drop(storage);
    let storage = open(folder.path());
    assert_eq!(rows(&storage, table), after);
}

#[test]
fn rows_conflict_and_not_tables() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..3))).unwrap();
    let names = rows(&storage, table);
    let change = |row: usize| {
        let transaction = storage.begin();
        let mut changes = Changes::new(Arc::clone(transaction.version()));
        change_row(&mut changes, table, names[row].0, Some("x"));
        (transaction, changes)
    };
    let (first, second, third, whole) = (change(0), change(0), change(1), change(2));
    first.0.commit(first.1).unwrap();
    let error = second.0.commit(second.1).unwrap_err();
    assert!(error.to_string().contains(": t"), "{error}");
    third.0.commit(third.1).unwrap();
    let (transaction, mut changes) = whole;
    changes.table_mut(table).unwrap().scope = ConflictScope::Table;
    assert!(transaction.commit(changes).is_err());
}

#[test]
fn keys_conflict() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    let write = |hash: u64| {
        let transaction = storage.begin();
        let mut changes = Changes::new(Arc::clone(transaction.version()));
        insert(&mut changes, table, &batch(0..1));
        changes.table_mut(table).unwrap().add_keys(&[0], [hash], storage.key_budget()).unwrap();
        (transaction, changes)
    };
    let (first, second, third) = (write(1), write(1), write(2));
    first.0.commit(first.1).unwrap();
    assert!(second.0.commit(second.1).is_err());
    third.0.commit(third.1).unwrap();
    // Nothing is left of transactions that ended.
    let later = write(1);
    later.0.commit(later.1).unwrap();
}

#[test]
fn large_inserts_are_segments() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    let types: Arc<[Type]> = columns().types().cloned().collect();
    commit(&storage, |changes| {
        let pool = Pool::root("test", None);
        let mut writer = SegmentWriter::new(storage.files(), table, &types, &pool);
        writer.write(&batch(0..5000)).unwrap();
        let segments = writer.finish().unwrap();
        let change = changes.table_mut(table).unwrap();
        let added = change.table.unchanged(&segments, storage.budget()).unwrap();
        change.added.extend(added);
        let row = RowId { segment: segments[0].id(), row: RowName::Base(17) };
        change_row(changes, table, row, None);
        insert(changes, table, &batch(5000..5001));
    })
    .unwrap();
    let expected = rows(&storage, table);
    assert_eq!(expected.len(), 5000);
    assert_eq!(key(&expected[17]), "BigInt(18)");
    drop(storage);
    let storage = open(folder.path());
    assert_eq!(rows(&storage, table), expected);
    // The files of dropped tables are removed.
    commit(&storage, |changes| {
        let mut catalog = (*changes.catalog).clone();
        Arc::make_mut(catalog.schemas.get_mut("main").unwrap()).relations.clear();
        changes.catalog = Arc::new(catalog);
    })
    .unwrap();
    storage.checkpoint().unwrap();
    let data = storage.store.list(&crate::Name::new("data").unwrap()).unwrap();
    assert!(data.is_empty(), "{data:?}");
}

#[test]
fn an_own_row_can_be_changed_before_the_commit() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    let table = add_table(&storage, &mut changes, "t");
    insert(&mut changes, table, &batch(0..3));
    let names = rows_of(&changes, table);
    assert_eq!(names[0].0.row, RowName::Inserted(PROVISIONAL));
    change_row(&mut changes, table, names[0].0, None);
    change_row(&mut changes, table, names[1].0, Some("own"));
    transaction.commit(changes).unwrap();
    let expected = rows(&storage, table);
    assert!(expected.len() == 2 && expected[0].1.contains("own"), "{expected:?}");
    drop(storage);
    assert_eq!(rows(&open(folder.path()), table), expected);
}

#[test]
fn numbers_are_given_out_once() {
    let folder = tempdir().unwrap();
    let mut storage = open(folder.path());
    let id = SequenceId(storage.ids().next_object());
    let entry = SequenceEntry {
        id,
        name: "s".into(),
        start: 1,
        increment: 1,
        least: 1,
        greatest: i64::MAX,
        cycles: false,
    };
    commit(&storage, |changes| {
        let mut catalog = (*changes.catalog).clone();
        let main = Arc::make_mut(catalog.schemas.get_mut("main").unwrap());
        main.sequences.insert("s".into(), Arc::new(entry.clone()));
        changes.catalog = Arc::new(catalog);
        changes.numbers.insert(id, Arc::new(crate::Numbers::new(entry)));
    })
    .unwrap();
    let take = |storage: &Storage| {
        let version = storage.snapshot();
        let mut taken = [0; 3];
        storage.take_numbers(id, &version.numbers[&id], &mut taken).unwrap();
        taken
    };
    assert_eq!(take(&storage), [1, 2, 3]);
    drop(storage);
    storage = open(folder.path());
    assert_eq!(take(&storage), [1025, 1026, 1027]);
    storage.close().unwrap();
    drop(storage);
    storage = open(folder.path());
    assert_eq!(take(&storage), [1028, 1029, 1030]);
}

#[test]
fn many_threads_commit() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let storage = &storage;
            scope.spawn(move || {
                for round in 0..10 {
                    let key = thread * 100 + round;
                    commit(storage, |it| insert(it, table, &batch(key..key + 1))).unwrap();
                    if round == 5 && thread % 2 == 0 {
                        storage.checkpoint().unwrap();
                        let segment = rows(storage, table)[0].0.segment;
                        storage.propagate(table, segment).unwrap();
                    }
                }
            });
        }
    });
    let mut found = rows(&storage, table);
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found.dedup_by(|a, b| a.1 == b.1);
    assert_eq!(found.len(), 80);
    drop(storage);
    assert_eq!(rows(&open(folder.path()), table).len(), 80);
}

#[test]
fn a_check_reads_everything_and_finds_damage() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..3000))).unwrap();
    let segment = rows(&storage, table)[0].0.segment;
    storage.propagate(table, segment).unwrap();
    commit(&storage, |it| insert(it, table, &batch(3000..3010))).unwrap();
    storage.checkpoint().unwrap();
    let report = storage.check().unwrap();
    assert_eq!((report.blocks, report.findings.len()), (3, 0), "{report:?}");
    let blocks = storage.blocks(table).unwrap();
    assert_eq!(blocks.iter().map(|it| it.rows).collect::<Vec<_>>(), [3000, 3000]);
    assert_eq!(blocks[0].codec.as_deref(), Some("pfor-delta"));
    drop(storage);
    // One bit of each file of blocks.
    let mut findings = 0;
    for entry in std::fs::read_dir(folder.path().join("data")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, &damaged).unwrap();
            let store = Arc::new(LocalStore::open(folder.path()).unwrap());
            match Storage::open(store, options()) {
                // Changes are read when the database is opened.
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                    assert!(error.to_string().contains("data/"), "{error}");
                    findings += 1;
                }
                Ok(storage) => {
                    let report = storage.check().unwrap();
                    let named = |it: &Error| it.to_string().contains("data/");
                    assert!(report.findings.iter().all(named), "{report:?}");
                    findings += report.findings.len().min(1);
                }
            }
            std::fs::write(&path, &bytes).unwrap();
        }
    }
    // Every bit of a file belongs to a block that is read.
    assert_eq!(findings, 14 + 2);
}

#[test]
fn looking_for_jobs_does_not_wait_for_a_commit() {
    use hooked_store::{Hooked, Operation};
    use std::sync::OnceLock;
    static STORAGE: OnceLock<Arc<Storage>> = OnceLock::new();
    let folder = tempdir().unwrap();
    let hook = |operation: Operation, _: &crate::Name| {
        // The thread that syncs a group has the lock that another would wait for.
        if operation == Operation::Sync {
            let due = STORAGE.get().map(|it| it.due());
            assert!(matches!(due, None | Some(None)), "{due:?}");
        }
        Ok(())
    };
    let store = Hooked::new(LocalStore::open(folder.path()).unwrap(), hook);
    let storage = Storage::open(store, options()).unwrap();
    let table = create(&storage, "t");
    assert_eq!(storage.due(), None);
    STORAGE.set(Arc::clone(&storage)).unwrap();
    commit(&storage, |it| insert(it, table, &batch(0..4))).unwrap();
    assert_eq!(rows(&storage, table).len(), 4);
}
