use super::*;
use std::{path::Path, sync::Arc};
use tempfile::tempdir;
use volley_connector::Database;
use volley_connector_testkit::database;
use volley_memory::Pool;
use volley_types::TypeRegistry;

fn open(folder: &Path) -> NativeDatabase {
    NativeDatabase::open(folder, &Pool::root("test", None), Arc::new(TypeRegistry::default()))
        .unwrap()
}

#[test]
fn a_database_on_disk_conforms() {
    let folder = tempdir().unwrap();
    let native = open(folder.path());
    database(&native);
    native.checkpoint().unwrap();
    database(&native);
    drop(native);
    let native = open(folder.path());
    database(&native);
    let snapshot = native.snapshot().unwrap();
    assert!(snapshot.catalog().schemas.values().all(|it| it.is_empty()));
}
