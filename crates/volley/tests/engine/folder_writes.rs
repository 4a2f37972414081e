//! COPY to folders of files: by the values of columns, and by size.

use std::{collections::BTreeSet, fs, io, path::Path, sync::Arc};
use volley::{ErrorKind, Session, Settings, Value};
use volley_io::LocalFileSystem;
use volley_io_testkit::{FaultyFileSystem, FileFaults, MemoryFileSystem};

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).and_then(|it| it.collect_values()).unwrap_or_else(|it| panic!("{sql}: {it}"))
}

#[track_caller]
fn fails(session: &Session, sql: &str, message: &str) {
    let error = session.sql(sql).and_then(|it| it.collect_values()).unwrap_err();
    assert!(error.to_string().contains(message), "{sql}: {error}");
}

/// The files below a folder, without its own name.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let below = path.strip_prefix(folder).unwrap();
                    found.insert(below.to_str().unwrap().to_owned());
                }
            }
        }
    }
    found
}

struct Folder {
    session: Session,
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { session: Session::new().unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn files(&self, name: &str) -> Vec<String> {
        files(&self.folder.path().join(name)).into_iter().collect()
    }

    fn run(&self, sql: &str) -> Vec<Vec<Value>> {
        rows(&self.session, sql)
    }
}

const ROWS: &str = "SELECT i, CASE i % 4 WHEN 3 THEN NULL ELSE 2020 + i % 4 END AS year, \
                    'a/b ' || i % 2 AS s FROM range(10000) t(i)";

#[test]
fn values_name_folders_in_every_format() {
    let it = Folder::new();
    for format in ["parquet", "orc", "csv", "json"] {
        let path = it.path(format);
        it.run(&format!("COPY ({ROWS}) TO '{path}' (FORMAT {format}, PARTITION_BY (year, s))"));
        let expected = [
            "year=2020/s=a%2Fb%200",
            "year=2021/s=a%2Fb%201",
            "year=2022/s=a%2Fb%200",
            "year=__HIVE_DEFAULT_PARTITION__/s=a%2Fb%201",
        ];
        assert_eq!(it.files(format), expected.map(|it| format!("{it}/data_0.{format}")));
        let found = format!(
            "SELECT count(*), count(DISTINCT s), sum(i)::BIGINT, count(year), \
             sum(year)::BIGINT FROM '{path}/*/*/*.{format}'"
        );
        let count = |sql: &str| it.run(&format!("SELECT count(*) FROM ({sql}) LIMIT 1"));
        let sum: i64 = (0..10_000).sum();
        let years = 2500 * (2020 + 2021 + 2022);
        let expected = [10_000, 2, sum, 7500, years].map(Value::BigInt);
        assert_eq!(it.run(&found), [expected]);
        let same = format!("({ROWS}) EXCEPT SELECT i, year, s FROM '{path}/*/*/*.{format}'");
        assert_eq!(count(&same), [[Value::BigInt(0)]], "{format}");
        let one = format!("FROM '{path}/*/*/*.{format}' WHERE year = 2021 AND i >= 0");
        assert_eq!(count(&one), [[Value::BigInt(2500)]]);
    }
    let with_columns = it.path("with_columns");
    let write = "FORMAT csv, PARTITION_BY year, WRITE_PARTITION_COLUMNS, FILENAME_PATTERN 'x', \
                 FILE_EXTENSION 'txt'";
    it.run(&format!("COPY ({ROWS}) TO '{with_columns}/' ({write})"));
    assert_eq!(it.files("with_columns")[0], "year=2020/x0.txt");
    let header = fs::read_to_string(format!("{with_columns}/year=2020/x0.txt")).unwrap();
    assert!(header.starts_with("i,year,s\n"));
}

#[test]
fn files_end_at_a_size() {
    let it = Folder::new();
    for format in ["parquet", "orc", "csv", "json"] {
        let path = it.path(format);
        let rows = "SELECT i, hash(i) AS h FROM range(100000) t(i)";
        it.run(&format!("COPY ({rows}) TO '{path}' (FORMAT {format}, FILE_SIZE_BYTES '200kb')"));
        let files = it.files(format);
        assert!(files.len() > 3, "{files:?}");
        for name in &files {
            let size = fs::metadata(format!("{path}/{name}")).unwrap().len();
            assert!(size < 500_000, "{name} has {size} bytes");
        }
        let found = it.run(&format!("SELECT count(*), count(DISTINCT h) FROM '{path}'"));
        assert_eq!(found, [[Value::BigInt(100_000), Value::BigInt(100_000)]], "{format}");
    }
    let empty = it.path("empty");
    it.run(&format!("COPY ({ROWS} WHERE i < 0) TO '{empty}' (FORMAT csv, FILE_SIZE_BYTES 10)"));
    assert_eq!(fs::read_to_string(format!("{empty}/data_0.csv")).unwrap(), "i,year,s\n");
    let empty = it.path("none");
    it.run(&format!("COPY ({ROWS} WHERE i < 0) TO '{empty}' (FORMAT csv, PARTITION_BY (s))"));
    assert!(it.files("none").is_empty());
}

#[test]
fn files_that_are_there_are_refused_kept_replaced_or_removed() {
    let it = Folder::new();
    let path = it.path("t");
    let copy = |rows: &str, options: &str| {
        format!("COPY (SELECT {rows}) TO '{path}' (FORMAT csv, PARTITION_BY (k){options})")
    };
    it.run(&copy("1 AS k, 10 AS v UNION ALL SELECT 2, 20", ""));
    fails(&it.session, &copy("1 AS k, 11 AS v", ""), "the folder is not empty");
    fails(&it.session, &copy("1 AS k, 11 AS v", ", OVERWRITE, APPEND"), "exclude each other");
    let all = || it.run(&format!("SELECT k, v FROM '{path}/*/*.csv' ORDER BY ALL"));
    let pairs = |pairs: &[[i64; 2]]| -> Vec<Vec<Value>> {
        pairs.iter().map(|it| it.map(Value::BigInt).to_vec()).collect()
    };
    it.run(&copy("1 AS k, 11 AS v", ", APPEND"));
    assert_eq!(it.files("t").len(), 3);
    assert_eq!(all(), pairs(&[[1, 10], [1, 11], [2, 20]]));
    it.run(&copy("1 AS k, 12 AS v", ", OVERWRITE_OR_IGNORE true"));
    assert_eq!(all(), pairs(&[[1, 11], [1, 12], [2, 20]]));
    // A statement that fails leaves what it would have removed.
    fails(&it.session, &copy("3 AS k, error('no') AS v", ", OVERWRITE"), "no");
    assert_eq!(all(), pairs(&[[1, 11], [1, 12], [2, 20]]));
    // A folder can be written from its own rows.
    it.run(&copy(&format!("k, v + 1 AS v FROM '{path}/*/*.csv'"), ", OVERWRITE"));
    assert_eq!(all(), pairs(&[[1, 12], [1, 13], [2, 21]]));
    assert_eq!(it.files("t").len(), 2);
    fs::write(it.path("file"), "x").unwrap();
    let file = it.path("file");
    fails(
        &it.session,
        &format!("COPY (SELECT 1 AS k, 2 AS v) TO '{file}' (FORMAT csv, PARTITION_BY (k))"),
        "file",
    );
    assert_eq!(fs::read_to_string(file).unwrap(), "x");
}

#[test]
fn options_of_folders_are_checked_before_the_query_runs() {
    let it = Folder::new();
    let path = it.path("t");
    for (options, message) in [
        ("PARTITION_BY (x)", "no such column: x"),
        ("PARTITION_BY (i, year, s)", "has all columns"),
        ("PARTITION_BY (i, I)", "repeats column"),
        ("FILENAME_PATTERN 'x'", "is for folders"),
        ("PARTITION_BY (i), FILENAME_PATTERN 'a/b'", "part of a file's name"),
        ("FILE_SIZE_BYTES 'much'", "not a size in bytes"),
        ("PARTITON_BY (i)", "unsupported COPY option"),
    ] {
        let sql = format!("EXPLAIN COPY ({ROWS}) TO '{path}' (FORMAT csv, {options})");
        fails(&it.session, &sql, message);
    }
    assert!(!Path::new(&path).exists());
}

/// More folders than files are open at the same time.
#[test]
fn many_folders_take_little_memory() {
    let memory = MemoryFileSystem::new(Session::builder().io_runtime().clone());
    let session = Session::builder()
        .add_file_system("memory", Arc::new(memory.clone()))
        .settings(Settings { memory_limit_bytes: Some(48 << 20), ..Settings::default() })
        .build()
        .unwrap();
    let rows_of = "SELECT i, i * 7919 % 1000 AS k, repeat('text', 20) AS s FROM range(300000) t(i)";
    let copy = format!("COPY ({rows_of}) TO 'memory://m/t' (FORMAT parquet, PARTITION_BY (k))");
    session.sql(&copy).unwrap();
    assert!(memory.locations().len() >= 1000);
    let found =
        "SELECT count(*), count(DISTINCT k), sum(i)::BIGINT FROM 'memory://m/t/*/*.parquet'";
    let sum: i64 = (0..300_000).sum();
    let expected = [300_000, 1000, sum].map(Value::BigInt);
    assert_eq!(
        rows(
            &Session::builder().add_file_system("memory", Arc::new(memory)).build().unwrap(),
            found
        ),
        [expected]
    );
}

/// Whichever operation fails, the statement leaves no file behind, and none of another statement
/// is lost.
#[test]
fn a_failed_statement_removes_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let faults = FileFaults::default();
    let local = FaultyFileSystem::new(Arc::new(LocalFileSystem::default()), &faults);
    let session = Session::builder().local_file_system(Arc::new(local)).build().unwrap();
    let copy = |folder: &str, options: &str| {
        format!(
            "COPY (SELECT i, i % 150 AS k FROM range(3000) t(i)) TO '{path}/{folder}' \
             (FORMAT csv, PARTITION_BY (k){options})"
        )
    };
    session.sql(&copy("old", "")).unwrap();
    let before = files(folder.path());
    assert_eq!(before.len(), 150);
    let operations = {
        let first = faults.operations();
        session.sql(&copy("new", "")).unwrap();
        fs::remove_dir_all(folder.path().join("new")).unwrap();
        faults.operations() - first
    };
    // Not all, as each runs the statement.
    let mut failures = 0;
    for operation in (0..operations).step_by(31) {
        faults.inject(faults.operations() + operation, io::ErrorKind::StorageFull);
        match session.sql(&copy("new", "")) {
            Ok(_) => {}
            Err(error) => {
                failures += 1;
                assert_eq!(error.kind(), ErrorKind::Io, "{error}");
                assert_eq!(files(folder.path()), before, "operation {operation}: {error}");
            }
        }
        let _ = fs::remove_dir_all(folder.path().join("new"));
    }
    assert!(failures > 12, "{failures}");
    // OVERWRITE keeps the old files, at most with some of them removed at the end.
    for operation in (0..operations).step_by(149) {
        faults.inject(faults.operations() + operation, io::ErrorKind::StorageFull);
        let _ = session.sql(&copy("old", ", OVERWRITE"));
        faults.inject(u64::MAX, io::ErrorKind::StorageFull);
        let found = format!("SELECT count(DISTINCT i) FROM '{path}/old/*/*.csv'");
        assert_eq!(rows(&session, &found), [[Value::BigInt(3000)]], "operation {operation}");
    }
}
