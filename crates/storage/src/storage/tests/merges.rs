//! Merges of small segments, and files that are hardly used.

use super::*;
use crate::Due;

fn add_segment(storage: &Arc<Storage>, table: TableId, keys: std::ops::Range<i64>) {
    let types: Arc<[Type]> = columns().types().cloned().collect();
    commit(storage, |changes| {
        let pool = Pool::root("test", None);
        let mut writer = SegmentWriter::new(storage.files(), table, &types, &pool);
        writer.write(&batch(keys.clone())).unwrap();
        let segments = writer.finish().unwrap();
        let change = changes.table_mut(table).unwrap();
        let added = change.table.unchanged(&segments, storage.budget()).unwrap();
        change.added.extend(added);
    })
    .unwrap();
}

fn texts(storage: &Storage, table: TableId) -> Vec<String> {
    rows(storage, table).into_iter().map(|it| it.1).collect()
}

fn segments(storage: &Storage, table: TableId) -> Vec<u32> {
    let version = storage.snapshot();
    version.table(table).unwrap().segments.iter().map(|it| it.segment.id()).collect()
}

#[test]
fn small_segments_become_one() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    for number in 0..9 {
        add_segment(&storage, table, number * 10..number * 10 + 10);
        while let Some(job) = storage.due() {
            assert!(matches!(job, Due::Merge(..)), "{job:?}");
            storage.run(job).unwrap();
        }
    }
    let expected: Vec<String> =
        (0..90).map(|it| format!("BigInt({it}) Varchar(\"text {it}\")")).collect();
    assert_eq!(texts(&storage, table), expected);
    // The first segment has no rows; jobs are looked for after every fourth one.
    assert!(segments(&storage, table).len() <= 5, "{:?}", segments(&storage, table));
    storage.merge_small(table).unwrap();
    drop(storage);
    assert_eq!(texts(&open(folder.path()), table), expected);
}

#[test]
fn transactions_go_on_while_segments_are_merged() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    for number in 0..4 {
        add_segment(&storage, table, number * 10..number * 10 + 10);
    }
    commit(&storage, |changes| {
        let names = rows_of(changes, table);
        change_row(changes, table, names[12].0, None);
        change_row(changes, table, names[31].0, Some("before"));
    })
    .unwrap();
    let names = rows(&storage, table);
    let begin = || {
        let transaction = storage.begin();
        let changes = Changes::new(Arc::clone(transaction.version()));
        (transaction, changes)
    };
    let (open_one, mut one) = begin();
    let (open_two, mut two) = begin();
    for row in [3, 13, 35] {
        change_row(&mut one, table, names[row].0, Some("one"));
    }
    change_row(&mut one, table, names[20].0, None);
    insert(&mut one, table, &batch(90..92));
    change_row(&mut two, table, names[35].0, Some("two"));
    let all = segments(&storage, table);
    storage.merge(table, &all).unwrap();
    assert_eq!(segments(&storage, table).len(), 1);
    open_one.commit(one).unwrap();
    assert!(open_two.commit(two).is_err());
    let found = texts(&storage, table);
    assert_eq!(found.len(), 39 - 1 + 2);
    let changed: Vec<&String> = found.iter().filter(|it| it.contains("\"one\"")).collect();
    let keys = ["BigInt(3)", "BigInt(14)", "BigInt(36)"];
    assert!(changed.iter().zip(keys).all(|(it, key)| it.starts_with(key)), "{changed:?}");
    assert_eq!(changed.len(), 3);
    assert!(found.iter().any(|it| it.contains("\"before\"")));
    drop(storage);
    assert_eq!(texts(&open(folder.path()), table), found);
}

#[test]
fn segments_that_are_not_there_or_apart_are_not_merged() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    for number in 0..3 {
        add_segment(&storage, table, number * 10..number * 10 + 10);
    }
    let all = segments(&storage, table);
    for wrong in [vec![all[1], all[3]], vec![all[2], all[1]], vec![999], vec![all[3], 999], vec![]]
    {
        storage.merge(table, &wrong).unwrap();
        assert_eq!(segments(&storage, table), all);
    }
    storage.merge(TableId(999), &all).unwrap();
    // Rows that are all deleted.
    commit(&storage, |changes| {
        for (row, _) in rows_of(changes, table) {
            change_row(changes, table, row, None);
        }
    })
    .unwrap();
    storage.merge(table, &all).unwrap();
    assert_eq!((segments(&storage, table).len(), texts(&storage, table).len()), (1, 0));
    add_segment(&storage, table, 0..3);
    assert_eq!(texts(&storage, table).len(), 3);
}

#[test]
fn files_that_are_hardly_used_are_freed() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    let types: Arc<[Type]> = columns().types().cloned().collect();
    let mut random = fastrand::Rng::with_seed(1);
    let pool = Pool::root("test", None);
    // Two segments in one file: the texts cannot be compressed.
    let rows_of_file: usize = (1 << 20) + 5000;
    commit(&storage, |changes| {
        let mut writer = SegmentWriter::new(storage.files(), table, &types, &pool);
        for start in (0..rows_of_file).step_by(1 << 16) {
            let count = (1 << 16).min(rows_of_file - start);
            let keys: Vec<i64> = (0..count).map(|_| random.i64(..)).collect();
            let columns = vec![
                Vector::native::<i64>(Type::BigInt, keys, None),
                Vector::constant(Type::Varchar, &Value::text("x"), count),
            ];
            writer.write(&Batch::new(columns, count)).unwrap();
        }
        let segments = writer.finish().unwrap();
        assert_eq!(segments.len(), 2);
        let change = changes.table_mut(table).unwrap();
        let added = change.table.unchanged(&segments, storage.budget()).unwrap();
        change.added.extend(added);
    })
    .unwrap();
    let bytes = || -> u64 {
        let listed = storage.store.list(&crate::Name::new("data").unwrap()).unwrap();
        listed.iter().map(|it| it.bytes).sum()
    };
    let large = segments(&storage, table)[1];
    commit(&storage, |changes| {
        let change = changes.table_mut(table).unwrap();
        let segment = Arc::clone(change.segment(large).unwrap());
        let mut own = segment.layers.transaction().unwrap();
        own.delete_range(&segment.layers, 0..segment.segment.rows()).unwrap();
        change.own.insert(large, Arc::new(own));
    })
    .unwrap();
    storage.propagate(table, large).unwrap();
    storage.checkpoint().unwrap();
    assert!(bytes() > 8 << 20, "the rest of the file is in use");
    storage.look_for_jobs();
    let job = storage.due().unwrap();
    assert!(matches!(&job, Due::Merge(_, segments) if segments.len() == 1), "{job:?}");
    storage.run(job).unwrap();
    storage.checkpoint().unwrap();
    assert!(bytes() < 1 << 20, "{}", bytes());
    assert_eq!(storage.snapshot().table(table).unwrap().rows(), 5000);
    storage.look_for_jobs();
    assert_eq!(storage.due(), None);
}
