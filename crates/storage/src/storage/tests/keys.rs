//! Rows by key, compared with a look at all rows.

use super::*;
use crate::{FoundRow, SortedRuns, TableView};
use std::collections::BTreeSet;

fn keys(keys: &[Option<i64>]) -> Batch {
    let values: Vec<Value> = keys.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    let column = Vector::from_values(Type::BigInt, &values).flatten().unwrap();
    Batch::new(vec![column], keys.len())
}

/// The rows with one of the keys, by a look at all rows.
fn scanned(changes: &Changes, table: TableId, keys: &[Option<i64>]) -> BTreeSet<FoundRow> {
    let rows = rows_of(changes, table);
    let of_key = |(number, wanted): (usize, &Option<i64>)| {
        let wanted = wanted.map(|it| format!("BigInt({it})"));
        let found = rows.iter().filter(move |it| Some(key(it)) == wanted.as_deref());
        let found = found.map(move |it| FoundRow { key: number as u32, row: it.0 });
        found.collect::<Vec<FoundRow>>()
    };
    keys.iter().enumerate().flat_map(of_key).collect()
}

fn check(changes: &Changes, table: TableId) {
    let wanted: Vec<Option<i64>> = (-1..80).map(Some).chain([None]).collect();
    let view = changes.view(table).unwrap();
    let found = view.find(&[0], &keys(&wanted)).unwrap().unwrap();
    let found: BTreeSet<FoundRow> = found.into_iter().collect();
    assert_eq!(found, scanned(changes, table, &wanted));
    for one in [0, 7, 79] {
        let found = view.find(&[0], &keys(&[Some(one)])).unwrap().unwrap();
        let found: BTreeSet<FoundRow> = found.into_iter().collect();
        assert_eq!(found, scanned(changes, table, &[Some(one)]));
    }
}

fn random_change(changes: &mut Changes, table: TableId, random: &mut fastrand::Rng) {
    let rows = rows_of(changes, table);
    match random.u32(0..6) {
        0 if !rows.is_empty() => {
            change_row(changes, table, rows[random.usize(..rows.len())].0, None);
        }
        1 if !rows.is_empty() => {
            change_row(changes, table, rows[random.usize(..rows.len())].0, Some("changed"));
        }
        2 if !rows.is_empty() => {
            let row = rows[random.usize(..rows.len())].0;
            set_key(changes, table, row, random.i64(0..80));
        }
        _ => {
            let first = random.i64(0..75);
            insert(changes, table, &batch(first..first + random.i64(1..4)));
        }
    }
}

fn set_key(changes: &mut Changes, table: TableId, row: RowId, key: i64) {
    let change = changes.table_mut(table).unwrap();
    let segment = Arc::clone(change.segment(row.segment).unwrap());
    let own = change.own.entry(row.segment);
    let own = own.or_insert_with(|| Arc::new(segment.layers.transaction().unwrap()));
    let values = keys(&[Some(key)]);
    let count = Arc::make_mut(own).modify(&segment.layers, &[row.row], &[0], &values).unwrap();
    assert_eq!(count, 1);
}

#[test]
fn rows_are_found_by_key_in_all_layers() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = tempdir().unwrap();
        let mut storage = open(folder.path());
        let table = create(&storage, "t");
        for _ in 0..12 {
            let transaction = storage.begin();
            let mut changes = Changes::new(Arc::clone(transaction.version()));
            for _ in 0..random.u32(1..5) {
                let savepoint = changes.clone();
                random_change(&mut changes, table, &mut random);
                if random.bool() {
                    check(&changes, table);
                }
                if random.u32(0..4) == 0 {
                    changes = savepoint;
                    check(&changes, table);
                }
            }
            transaction.commit(changes).unwrap();
            let committed = Changes::new(storage.snapshot());
            if random.bool() {
                check(&committed, table);
            }
            match random.u32(0..6) {
                0 => storage.checkpoint().unwrap(),
                1 => {
                    let id = committed.view(table).unwrap().segments[0].segment_id();
                    storage.propagate(table, id).unwrap();
                }
                2 => {
                    drop(committed);
                    drop(storage);
                    storage = open(folder.path());
                }
                _ => {}
            }
            check(&Changes::new(storage.snapshot()), table);
        }
    }
}

#[test]
fn keys_of_several_columns_are_found() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..3000))).unwrap();
    let segment = rows(&storage, table)[0].0.segment;
    storage.propagate(table, segment).unwrap();
    commit(&storage, |it| insert(it, table, &batch(3000..3010))).unwrap();
    let view = Changes::new(storage.snapshot()).view(table).unwrap();
    let wanted = |keys: std::ops::Range<i64>| {
        let rows = batch(keys);
        let flat = rows.columns().iter().map(|it| it.flatten().unwrap()).collect();
        Batch::new(flat, rows.rows())
    };
    for first in [0, 17, 2999, 3009] {
        let found = view.find(&[0, 1], &wanted(first..first + 1)).unwrap().unwrap();
        assert_eq!(found.len(), 1);
        let row = view.fetch(&[found[0].row], &[0]).unwrap();
        assert_eq!(row.column(0).value(0).unwrap(), Value::BigInt(first));
    }
    let [k, t] = [wanted(1..2), wanted(2..3)];
    let mixed = Batch::new(vec![k.column(0).clone(), t.column(1).clone()], 1);
    assert!(view.find(&[0, 1], &mixed).unwrap().unwrap().is_empty());
    assert!(view.find(&[0], &wanted(0..1)).is_err());
}

#[test]
fn without_memory_nothing_is_found_and_said_so() {
    let folder = tempdir().unwrap();
    let pool = Pool::root("test", Some(1 << 20));
    let store = || Arc::new(LocalStore::open(folder.path()).unwrap());
    let storage = open(folder.path());
    let table = create(&storage, "t");
    for first in 0..4 {
        commit(&storage, |it| insert(it, table, &batch(first * 5000..(first + 1) * 5000))).unwrap();
    }
    let segment = rows(&storage, table)[0].0.segment;
    storage.propagate(table, segment).unwrap();
    drop(storage);
    let options = || StorageOptions { pool: pool.clone(), ..options() };
    let storage = Storage::open(store(), options()).unwrap();
    let find = |view: &TableView| view.find(&[0], &keys(&[Some(777)])).unwrap();
    let view = Changes::new(storage.snapshot()).view(table).unwrap();
    // An eighth of the limit is less than 20,000 entries.
    assert!(find(&view).is_none());
    pool.set_limit(Some(8 << 20));
    drop((storage, view));
    let storage = Storage::open(store(), options()).unwrap();
    let view = Changes::new(storage.snapshot()).view(table).unwrap();
    assert_eq!(find(&view).unwrap().len(), 1);
}

#[test]
fn sorted_runs_are_few_and_keep_earlier_versions() {
    let budget = Budget::unlimited();
    let mut runs = SortedRuns::default();
    let mut random = fastrand::Rng::with_seed(3);
    let mut expected = Vec::new();
    let mut earlier: Vec<(SortedRuns<u64>, usize)> = Vec::new();
    for step in 0..1000 {
        let added: Vec<u64> = (0..random.usize(0..4)).map(|_| random.u64(0..100)).collect();
        expected.extend(&added);
        runs = runs.with(added, &budget).unwrap();
        if step % 100 == 0 {
            earlier.push((runs.clone(), expected.len()));
        }
    }
    earlier.push((runs.clone(), expected.len()));
    for (runs, count) in earlier {
        let mut wanted = expected[..count].to_vec();
        wanted.sort_unstable();
        let mut found: Vec<u64> = runs.iter().copied().collect();
        found.sort_unstable();
        assert_eq!((&found, runs.len()), (&wanted, count));
        for element in 0..101 {
            assert_eq!(runs.contains(&element), wanted.contains(&element));
            let count = wanted.iter().filter(|it| (element..=element + 4).contains(it)).count();
            assert_eq!(runs.between(element, element + 4).count(), count);
        }
    }
    assert!(runs.runs() <= 12, "{}", runs.runs());
    assert!(budget.used_bytes() > 0);
    drop(runs);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn keys_of_commits_are_forgotten_with_the_transactions_that_did_not_see_them() {
    let folder = tempdir().unwrap();
    let storage = open(folder.path());
    let table = create(&storage, "t");
    let begin = || {
        let transaction = storage.begin();
        let changes = Changes::new(Arc::clone(transaction.version()));
        (transaction, changes)
    };
    let write = |changes: &mut Changes, hashes: std::ops::Range<u64>| {
        insert(changes, table, &batch(0..1));
        changes.table_mut(table).unwrap().add_keys(&[0], hashes, storage.key_budget()).unwrap();
    };
    let before = storage.key_budget().used_bytes();
    let (old, mut old_changes) = begin();
    // Few keys and many, in one commit each.
    for hashes in [0..10, 100..5000] {
        let (transaction, mut changes) = begin();
        write(&mut changes, hashes);
        transaction.commit(changes).unwrap();
    }
    assert!(storage.key_budget().used_bytes() > before);
    for hash in [3, 4999] {
        let mut changes = old_changes.clone();
        write(&mut changes, hash..hash + 1);
        let transaction = storage.queue.commit(&storage, changes);
        assert!(transaction.is_err());
    }
    write(&mut old_changes, 50..51);
    old.commit(old_changes).unwrap();
    assert_eq!(storage.key_budget().used_bytes(), before);
}
