//! Disks that are full, and syncs that fail.

use super::{
    hooked_store::{Hooked, Operation},
    *,
};
use crate::Name;
use std::{
    io,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// A storage whose disk is full while the flag is set, but for the first operations.
fn with_full_disk(folder: &Path) -> (Arc<Storage>, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (is_full, free) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (full, left) = (Arc::clone(&is_full), Arc::clone(&free));
    let hook = move |operation: Operation, name: &Name| {
        let writes = matches!(operation, Operation::Create | Operation::Append | Operation::Put);
        let is_refused = writes && full.load(Ordering::Relaxed);
        let counted =
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
        match is_refused && counted.is_err() {
            true => Err(Error::io(name, io::ErrorKind::StorageFull.into())),
            false => Ok(()),
        }
    };
    let store = Hooked::new(LocalStore::open(folder).unwrap(), hook);
    (Storage::open(store, options()).unwrap(), is_full, free)
}

#[test]
fn a_full_disk_fails_statements_and_nothing_else() {
    // However many writes still find space.
    for writes in 0..12 {
        let folder = tempdir().unwrap();
        let (storage, is_full, free) = with_full_disk(folder.path());
        let table = create(&storage, "t");
        commit(&storage, |it| insert(it, table, &batch(0..2000))).unwrap();
        let before = rows(&storage, table);
        is_full.store(true, Ordering::Relaxed);
        free.store(writes, Ordering::Relaxed);
        let propagated = storage.propagate(table, before[0].0.segment);
        let committed = commit(&storage, |it| insert(it, table, &batch(2000..2010)));
        let checkpoint = storage.checkpoint();
        for error in [propagated, committed.as_ref().copied().map_err(copy), checkpoint]
            .into_iter()
            .filter_map(Result::err)
        {
            let message = error.to_string();
            let is_named =
                ["log/", "data/", "manifest/", "CURRENT"].iter().any(|it| message.contains(it));
            assert!(is_named || message.contains("open it again"), "{message}");
        }
        let expected = if committed.is_ok() { 2010 } else { 2000 };
        assert_eq!(rows(&storage, table).len(), expected, "{writes} writes");
        is_full.store(false, Ordering::Relaxed);
        // A checkpoint that was interrupted at its last step needs a recovery.
        let again = commit(&storage, |it| insert(it, table, &batch(3000..3005)));
        let expected = expected + if again.is_ok() { 5 } else { 0 };
        drop(storage);
        let storage = open(folder.path());
        assert_eq!(rows(&storage, table).len(), expected, "{writes} writes");
        commit(&storage, |it| insert(it, table, &batch(4000..4005))).unwrap();
        assert!(storage.check().unwrap().findings.is_empty());
    }
}

fn copy(error: &Error) -> Error {
    Error::new(error.kind(), error.to_string())
}

#[test]
fn after_a_failed_sync_the_database_says_what_to_do() {
    let folder = tempdir().unwrap();
    let fails = Arc::new(AtomicBool::new(false));
    let sync_fails = Arc::clone(&fails);
    let hook = move |operation: Operation, name: &Name| match operation == Operation::Sync
        && sync_fails.load(Ordering::Relaxed)
    {
        true => Err(Error::io(name, io::Error::other("the device is gone"))),
        false => Ok(()),
    };
    let storage =
        Storage::open(Hooked::new(LocalStore::open(folder.path()).unwrap(), hook), options());
    let storage = storage.unwrap();
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..5))).unwrap();
    fails.store(true, Ordering::Relaxed);
    let error = commit(&storage, |it| insert(it, table, &batch(5..6))).unwrap_err();
    assert!(error.to_string().contains("log/"), "{error}");
    assert!(error.hint_text().is_some_and(|it| it.contains("open it again")), "{error}");
    fails.store(false, Ordering::Relaxed);
    let error = commit(&storage, |it| insert(it, table, &batch(6..7))).unwrap_err();
    assert!(error.to_string().contains("cannot be changed any more"), "{error}");
    // Readers go on.
    assert_eq!(rows(&storage, table).len(), 5);
    drop(storage);
    let storage = open(folder.path());
    assert!((5..=6).contains(&rows(&storage, table).len()));
}
