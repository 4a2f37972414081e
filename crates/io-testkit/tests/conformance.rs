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

/// A glob names the same files where folders exist and where they are parts of names.
#[test]
fn globs_are_the_same_with_and_without_folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let memory = MemoryFileSystem::default();
    let local = LocalFileSystem::default();
    let names = [
        "a.csv",
        "b.csv",
        "note.txt",
        "_h.csv",
        "_d/a.csv",
        "k=1/a.csv",
        "k=1/x/b.csv",
        "k=2/a.csv",
        "k=2/_t/c.csv",
        "k=2/.f/d.csv",
        "d.csv/e.csv",
        "d.csv/f/g.csv",
        "é/ü.csv",
    ];
    for name in names {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let local = local.write(&format!("{root}/{name}"), "x".into(), WriteMode::Replace);
        let memory = memory.write(&format!("memory://b/{name}"), "x".into(), WriteMode::Replace);
        wait(local).unwrap();
        wait(memory).unwrap();
    }
    let files = FileSystems::default().with("memory", Arc::new(memory)).unwrap();
    let list = |folder: &str, pattern: &str| {
        let location = format!("{folder}/{pattern}");
        let found = files.list(&location, &|it| it.ends_with(".csv"));
        let below = |it: &String| it[folder.len() + 1..].to_owned();
        found.map(|it| it.iter().map(below).collect::<Vec<_>>()).map_err(|it| it.kind())
    };
    let patterns = [
        "*.csv",
        "?.csv",
        "[ab].csv",
        "k=*/*.csv",
        "k=*",
        "k=*/**",
        "**",
        "**/*.csv",
        "**/a.csv",
        "*/a.csv",
        "**/x/*.csv",
        "**/x",
        "k=1/**/b.csv",
        "d.*",
        "d.csv/*",
        "_d/*",
        "*/_t/*",
        "none*.csv",
        "k=3/*.csv",
        "é/*",
        "*/ü.csv",
        "**/**/b.csv",
        "k=1/x/*",
        "./k=1/*.csv",
    ];
    for pattern in patterns {
        assert_eq!(list("memory://b", pattern), list(root, pattern), "{pattern}");
    }
    assert!(list("memory://b", "**").unwrap().len() == 8);
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
