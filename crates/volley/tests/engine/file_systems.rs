//! Sessions over file systems of their own.

use std::sync::Arc;
use volley::{ErrorKind, Session, Value};
use volley_io::{FileSystem, LocalFileSystem, WriteMode, wait};
use volley_io_testkit::{FaultyFileSystem, FileFaults, MemoryFileSystem};

fn with_memory() -> (Session, MemoryFileSystem) {
    let builder = Session::builder();
    let memory = MemoryFileSystem::new(builder.io_runtime().clone());
    let session = builder.add_file_system("memory", Arc::new(memory.clone())).build().unwrap();
    (session, memory)
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).unwrap().collect_values().unwrap()
}

/// Every format is written and read, in files of many parts.
#[test]
fn any_file_system_has_tables() {
    let (session, memory) = with_memory();
    for ending in ["parquet", "csv", "json"] {
        for day in 1..4 {
            let sql = format!(
                "COPY (SELECT i, i * {day} AS x, 'text ' || i AS t FROM range(5000) r(i)) \
                 TO 'memory://lake/{ending}/day={day}/f.{ending}'"
            );
            session.sql(&sql).unwrap();
        }
        let sql = format!(
            "SELECT day, count(*), sum(x), max(t) FROM 'memory://lake/{ending}/*/*.{ending}' \
             WHERE i >= 100 GROUP BY day ORDER BY day"
        );
        let sum: i64 = (100..5000).sum();
        let expected = (1..4).map(|day| {
            let max = Value::text("text 999");
            vec![Value::BigInt(day), Value::BigInt(4900), Value::HugeInt((sum * day).into()), max]
        });
        let found = rows(&session, &sql.replace("sum(x)", "sum(x)::HUGEINT"));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{ending}");
    }
    assert_eq!(memory.locations().len(), 9);
    session.register_files("lake", "memory://lake/parquet").unwrap();
    assert_eq!(rows(&session, "SELECT count(*) FROM lake"), [[Value::BigInt(15_000)]]);
    session.sql("CREATE TABLE t (i BIGINT, x BIGINT, t VARCHAR)").unwrap();
    session.sql("COPY t FROM 'memory://lake/csv/day=2/f.csv'").unwrap();
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), [[Value::BigInt(5000)]]);
    let listed = "SELECT count(DISTINCT file_name) FROM parquet_metadata('memory://lake/parquet')";
    assert_eq!(rows(&session, listed), [[Value::BigInt(3)]]);
    // What fails leaves no file, and the old one.
    let before = memory.locations();
    session.sql("COPY (SELECT 1 // (5 - i) FROM range(9) r(i)) TO 'memory://lake/new.csv'").ok();
    session.sql("COPY (SELECT error('no')) TO 'memory://lake/new.csv'").err().unwrap();
    assert!(memory.locations().len() <= before.len() + 1);
}

#[test]
fn unknown_schemes_are_named_with_those_that_are_known() {
    let (session, _) = with_memory();
    for sql in [
        "FROM 'tape://1/a.parquet'",
        "FROM read_csv('tape://1/a.parquet')",
        "COPY (SELECT 1) TO 'tape://1/a.parquet' (FORMAT parquet)",
    ] {
        let error = session.sql(sql).and_then(|it| it.collect_values()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidQuery, "{sql}");
        let message = "no file system for the scheme tape: tape://1/a.parquet";
        assert_eq!(error.message(), message, "{sql}");
        let hint = "there are file systems for the schemes file, memory";
        assert_eq!(error.hint_text(), Some(hint), "{sql}");
    }
    let again = Session::builder().add_file_system("file", Arc::new(MemoryFileSystem::default()));
    let message = "there is already a file system for the scheme file";
    assert_eq!(again.build().err().unwrap().message(), message);
}

#[test]
fn a_file_that_fails_to_be_written_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let (faults, local) = (FileFaults::default(), Arc::new(LocalFileSystem::default()));
    let faulty = Arc::new(FaultyFileSystem::new(local.clone(), &faults));
    let session = Session::builder().local_file_system(faulty).build().unwrap();
    let location = folder.path().join("out.csv").to_str().unwrap().to_owned();
    wait(local.write(&location, "old\n".into(), WriteMode::Replace)).unwrap();
    let copy = format!("COPY (SELECT * FROM range(100000)) TO '{location}'");
    session.sql(&copy).unwrap().collect_values().unwrap();
    let operations = faults.operations();
    assert!(operations > 3, "{operations}");
    wait(local.write(&location, "old\n".into(), WriteMode::Replace)).unwrap();
    for operation in 0..operations {
        faults.inject(faults.operations() + operation, std::io::ErrorKind::StorageFull);
        let error = session.sql(&copy).and_then(|it| it.collect_values()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        session.wait_released();
        assert_eq!(std::fs::read(&location).unwrap(), b"old\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "unfinished files");
    }
}
