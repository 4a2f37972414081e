//! Schedules of threads: commits, readers and jobs that take turns at every lock.
//!
//! `cargo test -p volley-storage --features shuttle schedules` runs them. Other tests of the crate
//! need the locks of the standard library. `VOLLEY_SCHEDULES=20000` runs as many. A schedule that
//! fails is printed, for `shuttle::replay`.

use super::*;
use crate::{
    canary::{self, Mistake},
    fuzzing::MemoryStore,
};
use shuttle::{
    Config, Runner,
    scheduler::{PctScheduler, RandomScheduler, Scheduler},
    thread,
};
use std::{
    collections::BTreeSet,
    panic::{self, AssertUnwindSafe},
};

/// Rows before the first commit of a writer: the first is a counter that all writers change.
const ROWS: i64 = 4;

const WRITERS: i64 = 3;

const COMMITS: i64 = 3;

/// Schedules in random order, unless `VOLLEY_SCHEDULES` says how many.
const SCHEDULES: usize = 400;

/// Each commit of a writer adds this many rows.
const ADDED: usize = 2;

fn run(scheduler: impl Scheduler + 'static, threads: impl Fn() + Send + Sync + 'static) -> usize {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    Runner::new(scheduler, config).run(threads)
}

/// The row with the counter, and its value; whether there are as many rows as it tells.
fn counter(rows: &[(RowId, String)]) -> (RowId, i64, bool) {
    let of_key = |it: &&(RowId, String)| key(it) == "BigInt(0)";
    let (id, text) = rows.iter().find(of_key).expect("the counter");
    let value = text.split_once(' ').map_or("", |it| it.1);
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let count: i64 = digits.parse().expect("digits");
    (*id, count, rows.len() == ROWS as usize + count as usize * ADDED)
}

/// Counts, and adds rows with keys of its own; again as long as others change the counter first.
fn count_up(storage: &Arc<Storage>, table: TableId, first: i64) {
    loop {
        let transaction = storage.begin();
        let mut changes = Changes::new(Arc::clone(transaction.version()));
        let (row, count, is_whole) = counter(&rows_of(&changes, table));
        assert!(is_whole, "half of a commit is visible");
        change_row(&mut changes, table, row, Some(&format!("{}", count + 1)));
        insert(&mut changes, table, &batch(first..first + ADDED as i64));
        match transaction.commit(changes) {
            Ok(()) => {
                let (_, seen, _) = counter(&rows(storage, table));
                assert!(seen > count, "a commit that returned is visible");
                return;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidQuery, "{error}"),
        }
    }
}

/// Each snapshot is of one commit, and none is older than the one before.
fn read(storage: &Storage, table: TableId) {
    let mut last = 0;
    for _ in 0..4 {
        let (_, count, is_whole) = counter(&rows(storage, table));
        assert!(is_whole && count >= last, "{count} after {last}");
        last = count;
        thread::yield_now();
    }
}

/// A transaction that is open for long, and changes a row that no other changes.
fn change_late(storage: &Arc<Storage>, table: TableId) -> bool {
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    let found = rows_of(&changes, table);
    let row = found.iter().find(|it| key(it) == "BigInt(2)").expect("a row that is not deleted");
    change_row(&mut changes, table, row.0, Some("late"));
    for _ in 0..3 {
        thread::yield_now();
    }
    transaction.commit(changes).is_ok()
}

/// Checkpoints, and writes segments again.
fn maintain(storage: &Arc<Storage>, table: TableId) {
    for _ in 0..2 {
        storage.checkpoint().unwrap();
        let version = storage.snapshot();
        let segments: Vec<u32> =
            version.table(table).unwrap().segments.iter().map(|it| it.segment.id()).collect();
        for segment in segments {
            storage.propagate(table, segment).unwrap();
        }
    }
    storage.merge_small(table).unwrap();
}

fn threads() {
    let store = MemoryStore::default();
    let storage = Storage::open(Arc::new(store.clone()), options()).unwrap();
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..ROWS))).unwrap();
    let writer = |number: i64| {
        let storage = Arc::clone(&storage);
        move || {
            let first = |step: i64| 1000 * (number + 1) + 10 * step;
            (0..COMMITS).for_each(|step| count_up(&storage, table, first(step)));
        }
    };
    let mut handles: Vec<_> = (0..WRITERS).map(|it| thread::spawn(writer(it))).collect();
    let reader = Arc::clone(&storage);
    handles.push(thread::spawn(move || read(&reader, table)));
    let jobs = Arc::clone(&storage);
    handles.push(thread::spawn(move || maintain(&jobs, table)));
    let late = Arc::clone(&storage);
    let late = thread::spawn(move || change_late(&late, table));
    handles.into_iter().for_each(|it| it.join().unwrap());
    let is_changed = late.join().unwrap();
    check_end(&storage, table, is_changed);
    let expected: Vec<String> = rows(&storage, table).into_iter().map(|it| it.1).collect();
    drop(storage);
    let again = Storage::open(Arc::new(store), options()).unwrap();
    let found: Vec<String> = rows(&again, table).into_iter().map(|it| it.1).collect();
    assert_eq!(found, expected, "after a restart");
}

/// No commit is lost, and none counted twice.
fn check_end(storage: &Storage, table: TableId, is_changed: bool) {
    let found = rows(storage, table);
    let (_, count, is_whole) = counter(&found);
    assert!(is_whole && count == WRITERS * COMMITS, "{count} commits");
    let keys: BTreeSet<&str> = found.iter().map(key).collect();
    assert_eq!(keys.len(), found.len());
    assert_eq!(found.iter().any(|it| it.1.contains("late")), is_changed);
    assert!(storage.check().is_ok());
}

#[test]
fn no_schedule_of_commits_readers_and_jobs_loses_a_commit() {
    let count = std::env::var("VOLLEY_SCHEDULES").ok().and_then(|it| it.parse().ok());
    let count: usize = count.unwrap_or(SCHEDULES);
    assert_eq!(run(RandomScheduler::new(count), threads), count);
    // Few changes of priority at random places find what few changes of threads cause.
    let rare = count / 2;
    assert_eq!(run(PctScheduler::new(3, rare), threads), rare);
}

/// What shows that the checks above can fail.
#[test]
fn schedules_find_mistakes() {
    for mistake in [Mistake::StampOffByOne, Mistake::NoTranslation] {
        canary::make(Some(mistake));
        let result =
            panic::catch_unwind(AssertUnwindSafe(|| run(RandomScheduler::new(2000), threads)));
        canary::make(None);
        assert!(result.is_err(), "{mistake:?} was not found");
    }
}
