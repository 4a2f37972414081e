//! What every store must do: one call for an implementation, in tests.

#![expect(clippy::unwrap_used, reason = "a failed check panics")]

use crate::{Expected, Name, Put, Store};
use volley_error::{ErrorKind, Result};

/// Checks an empty store.
///
/// # Panics
///
/// Where it breaks the contract of [`Store`].
pub fn store(store: &dyn Store) {
    files_are_appended_to(store);
    whole_files_are_conditional(store);
    names_are_listed_and_removed(store);
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn read(store: &dyn Store, text: &str) -> Result<Vec<u8>> {
    let file = store.open(&name(text))?;
    file.read(0..file.size_bytes()).map(|it| it.to_vec())
}

fn files_are_appended_to(store: &dyn Store) {
    let mut file = store.create(&name("log/1")).unwrap();
    assert!(file.is_empty());
    file.append_all(b"abc").unwrap();
    let before = store.open(&name("log/1")).unwrap();
    file.append_all(&[7; 5000]).unwrap();
    file.sync().unwrap();
    store.sync_names(&name("log")).unwrap();
    assert_eq!((file.len(), before.size_bytes()), (5003, 3));
    assert_eq!(before.read(1..3).unwrap(), b"bc"[..]);
    assert_eq!(before.read(1..4).unwrap_err().kind(), ErrorKind::Corruption);
    assert_eq!(read(store, "log/1").unwrap().len(), 5003);
    assert_eq!(store.create(&name("log/1")).err().map(|it| it.kind()), Some(ErrorKind::Io));
    assert_eq!(read(store, "log/2").unwrap_err().kind(), ErrorKind::Io);
}

fn whole_files_are_conditional(store: &dyn Store) {
    let put = |bytes: &[u8], expected| store.put(&name("CURRENT"), bytes, expected).unwrap();
    assert_eq!(put(b"1", Expected::Bytes(b"0")), Put::Refused);
    assert_eq!(put(b"1", Expected::Nothing), Put::Written);
    assert_eq!(put(b"2", Expected::Nothing), Put::Refused);
    assert_eq!(put(b"2", Expected::Bytes(b"0")), Put::Refused);
    assert_eq!(put(b"22", Expected::Bytes(b"1")), Put::Written);
    assert_eq!(read(store, "CURRENT").unwrap(), b"22");
    assert_eq!(put(b"3", Expected::Any), Put::Written);
    assert_eq!(read(store, "CURRENT").unwrap(), b"3");
}

fn names_are_listed_and_removed(store: &dyn Store) {
    store.put(&name("data/0/a"), b"a", Expected::Any).unwrap();
    store.put(&name("data/b"), b"bb", Expected::Any).unwrap();
    let list = |folder: &str| -> Vec<(String, u64)> {
        let listed = store.list(&name(folder)).unwrap();
        listed.into_iter().map(|it| (it.name.to_string(), it.bytes)).collect()
    };
    assert_eq!(list("data"), [("data/0/a".to_owned(), 1), ("data/b".to_owned(), 2)]);
    assert!(list("none").is_empty());
    assert!(list("").iter().any(|it| it.0 == "CURRENT"));
    let open = store.open(&name("data/b")).unwrap();
    store.remove(&name("data/b")).unwrap();
    store.remove(&name("data/b")).unwrap();
    assert_eq!(open.read(0..2).unwrap(), b"bb"[..]);
    assert_eq!(list("data"), [("data/0/a".to_owned(), 1)]);
}
