//! The file systems of this repository keep the contract, and faults come where they are asked for.

use std::{io, sync::Arc};
use volley_error::ErrorKind;
use volley_io::{
    FileSystem, FileSystems, IoRuntime, LocalFileSystem, WriteMode, WriteOutcome, wait,
};
use volley_io_testkit::{FaultyFileSystem, FileFaults, MemoryFileSystem, conformance};

#[test]
fn local_files_conform() {
    let folder = tempfile::tempdir().unwrap();
    let file_system = LocalFileSystem::new(IoRuntime::new());
    conformance::file_system(&file_system, folder.path().to_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    conformance::file_system(&file_system, &format!("file://{}", folder.path().display()));
}

#[test]
fn files_in_memory_conform() {
    conformance::file_system(&MemoryFileSystem::new(IoRuntime::new()), "memory://bucket/folder");
}

#[test]
fn a_file_system_with_faults_conforms_without_faults() {
    let folder = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalFileSystem::default());
    let file_system = FaultyFileSystem::new(local, &FileFaults::default());
    conformance::file_system(&file_system, folder.path().to_str().unwrap());
}

#[test]
fn lists_and_globs_go_through_any_file_system() {
    let memory = MemoryFileSystem::default();
    for name in ["b.csv", "a.csv", "sub/c.csv", "sub/x/d.csv", "_h/e.csv", "note.txt"] {
        let location = format!("memory://bucket/{name}");
        wait(memory.write(&location, "x".into(), WriteMode::Replace)).unwrap();
    }
    let files = FileSystems::default().with("memory", Arc::new(memory)).unwrap();
    let check = |pattern: &str, expected: &[&str]| {
        let found = files.list(&format!("memory://{pattern}"), &|it| it.ends_with(".csv"));
        let expected: Vec<_> = expected.iter().map(|it| format!("memory://bucket/{it}")).collect();
        assert_eq!(found.unwrap(), expected, "{pattern}");
    };
    check("bucket", &["a.csv", "b.csv", "sub/c.csv", "sub/x/d.csv"]);
    check("bucket/*.csv", &["a.csv", "b.csv"]);
    check("bucket/s*/?.csv", &["sub/c.csv"]);
    check("bucket/**/[cd].csv", &["sub/c.csv", "sub/x/d.csv"]);
    check("bucket/sub", &["sub/c.csv", "sub/x/d.csv"]);
    check("bucket/_h/e.csv", &["_h/e.csv"]);
    assert!(files.list("memory://bucket/no*.csv", &|_| true).is_err());
}

/// Each operation fails once: the error arrives, and files are whole or missing.
#[test]
fn faults_come_where_they_are_asked_for() {
    let faults = FileFaults::default();
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("file").to_str().unwrap().to_owned();
    let file_system = FaultyFileSystem::new(Arc::new(LocalFileSystem::default()), &faults);
    let work = || -> volley_error::Result<bool> {
        let mut writer = wait(file_system.create(&location, WriteMode::Replace))?;
        io::Write::write_all(&mut writer, b"bytes")
            .map_err(|it| volley_error::Error::io(&location, it))?;
        wait(writer.sync())?;
        wait(writer.commit())?;
        let file = wait(file_system.open(&location))?;
        let is_whole = file.read(0..5)? == "bytes";
        wait(file_system.remove(&location))?;
        Ok(is_whole)
    };
    assert!(work().unwrap());
    let operations = faults.operations();
    assert_eq!(operations, 7);
    for operation in 0..operations {
        faults.inject(faults.operations() + operation, io::ErrorKind::StorageFull);
        let error = work().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.message().contains(&location), "{error}");
        let left = std::fs::read(&location).unwrap_or_else(|_| b"bytes".to_vec());
        assert_eq!(left, b"bytes");
        assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 1, "unfinished files");
        assert!(work().unwrap(), "a fault comes once");
    }
    let written = wait(file_system.write(&location, "x".into(), WriteMode::CreateNew));
    assert!(matches!(written.unwrap(), WriteOutcome::Written(_)));
}
