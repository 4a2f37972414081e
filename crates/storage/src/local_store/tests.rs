use super::*;
use tempfile::tempdir;

#[test]
fn a_folder_conforms() {
    let folder = tempdir().unwrap();
    let store = LocalStore::open(folder.path().join("a/b")).unwrap();
    crate::conformance::store(&store);
}

#[test]
fn one_process_writes_at_a_time() {
    let folder = tempdir().unwrap();
    let first = LocalStore::open(folder.path()).unwrap();
    let error = LocalStore::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("open for writing already"), "{error}");
    drop(first);
    LocalStore::open(folder.path()).unwrap();
}

#[test]
fn folders_that_cannot_be_made_are_named() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("file"), b"x").unwrap();
    let error = LocalStore::open(folder.path().join("file/sub")).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

#[test]
fn a_second_writer_learns_who_the_first_is() {
    let folder = tempdir().unwrap();
    let first = LocalStore::open(folder.path()).unwrap();
    let error = LocalStore::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("in this process"), "{error}");
    assert!(error.hint_text().is_some_and(|it| it.contains("READ_ONLY")), "{error}");
    // A reader needs no lock.
    LocalStore::open_read_only(folder.path()).unwrap();
    drop(first);
    // What a killed writer leaves is a file without a lock.
    assert!(folder.path().join(LOCK).exists());
    LocalStore::open(folder.path()).unwrap();
}

#[test]
fn a_store_for_reading_refuses_to_write() {
    let folder = tempdir().unwrap();
    let name = Name::new("data/1").unwrap();
    let store = LocalStore::open_read_only(folder.path()).unwrap();
    for refused in [
        store.create(&name).map(drop),
        store.put(&name, b"x", Expected::Any).map(drop),
        store.remove(&name),
    ] {
        assert!(refused.unwrap_err().to_string().contains("opened for reading"));
    }
    assert_eq!(store.list(&Name::default()).unwrap(), []);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named_with_what_to_do() {
    let error = not_writable(Path::new("db/LOCK"), ErrorKind::ReadOnlyFilesystem.into());
    assert!(error.to_string().contains("db/LOCK"), "{error}");
    assert!(error.hint_text().is_some_and(|it| it.contains("READ_ONLY")), "{error}");
    let error = not_writable(Path::new("db/LOCK"), ErrorKind::StorageFull.into());
    assert!(error.hint_text().is_none_or(|it| !it.contains("READ_ONLY")), "{error}");
}
