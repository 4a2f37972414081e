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
