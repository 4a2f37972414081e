//! The gate: with all closed, no statement and no function reaches a file.

use std::{collections::BTreeSet, fs, sync::Arc};
use volley::{ErrorKind, Session, Value};
use volley_io::LocalFileSystem;
use volley_io_testkit::{FaultyFileSystem, FileFaults};

/// A session whose accesses to local files are counted, and a folder with files.
struct Counted {
    session: Session,
    accesses: FileFaults,
    folder: tempfile::TempDir,
}

impl Counted {
    fn new() -> Counted {
        let accesses = FileFaults::default();
        let local = FaultyFileSystem::new(Arc::new(LocalFileSystem::default()), &accesses);
        let session = Session::builder()
            .local_file_system(Arc::new(local))
            .build()
            .expect("a folder and a session");
        let folder = tempfile::tempdir().expect("a folder and a session");
        fs::write(folder.path().join("a.csv"), "x\n1\n").expect("a folder and a session");
        fs::create_dir(folder.path().join("in")).expect("a folder and a session");
        fs::write(folder.path().join("in/b.csv"), "x\n2\n").expect("a folder and a session");
        Counted { session, accesses, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a path in Unicode").to_owned()
    }

    fn run(&self, sql: &str) -> volley::Result<Vec<Vec<Value>>> {
        self.session.sql(sql)?.collect_values()
    }

    #[track_caller]
    fn denied(&self, sql: &str) {
        let before = self.accesses.operations();
        let error = match self.run(sql) {
            Ok(rows) => unreachable!("{sql} runs: {rows:?}"),
            Err(error) => error,
        };
        assert_eq!(error.kind(), ErrorKind::InvalidQuery, "{sql}: {error}");
        assert!(error.message().starts_with("access is denied"), "{sql}: {error}");
        assert_eq!(self.accesses.operations(), before, "{sql}");
    }
}

#[test]
fn with_all_closed_no_statement_reaches_a_file() {
    let counted = Counted::new();
    let (file, out) = (counted.path("a.csv"), counted.path("out.csv"));
    counted
        .run(&format!("CREATE TABLE t AS FROM '{file}'; CREATE VIEW v AS FROM '{file}'"))
        .unwrap();
    assert!(counted.accesses.operations() > 0, "accesses are counted");
    counted.run("SET enable_external_access = false").unwrap();
    let remote =
        ["s3://bucket/a.csv", "https://host/a.csv", "gs://bucket/*", "az://container/a.csv"];
    let folder = counted.path("");
    let local = [file.clone(), counted.path("*.csv"), folder, format!("file://{file}")];
    for path in local.iter().map(String::as_str).chain(remote) {
        for sql in [
            format!("FROM '{path}'"),
            format!("SELECT * FROM read_csv('{path}')"),
            format!("SELECT * FROM read_csv(['{path}'])"),
            format!("SELECT * FROM read_parquet('{path}')"),
            format!("SELECT * FROM read_json('{path}')"),
            format!("SELECT * FROM read_orc('{path}')"),
            format!("SELECT * FROM parquet_schema('{path}')"),
            format!("SELECT * FROM parquet_metadata('{path}')"),
            format!("DESCRIBE FROM '{path}'"),
            format!("SUMMARIZE FROM '{path}'"),
            format!("EXPLAIN FROM read_csv('{path}')"),
            format!("CREATE TABLE u AS FROM read_csv('{path}')"),
            format!("CREATE VIEW w AS FROM read_csv('{path}')"),
            format!("INSERT INTO t FROM read_csv('{path}')"),
            format!("COPY t FROM '{path}' (FORMAT csv)"),
            format!("PREPARE p AS FROM read_csv('{path}')"),
        ] {
            counted.denied(&sql);
        }
    }
    counted.denied("FROM v");
    counted.denied(&format!("COPY t TO '{out}'"));
    counted.denied("COPY t TO 's3://bucket/out.csv'");
    counted.denied(&format!("ATTACH '{}' AS other", counted.path("database")));
    assert!(!fs::exists(counted.path("database")).unwrap());
    counted.denied(&format!("EXPORT DATABASE '{}'", counted.path("exported")));
    assert!(!fs::exists(counted.path("exported")).unwrap());
    counted.denied(&format!("IMPORT DATABASE '{}'", counted.path("")));
    counted.denied("EXPORT DATABASE 's3://bucket/exported'");
    counted.denied(&format!("SET spill_directory = '{}'", counted.path("in")));
    assert!(!fs::exists(&out).unwrap());
    // The process's own rows are still there.
    assert_eq!(counted.run("FROM t").unwrap(), [[Value::BigInt(1)]]);
}

/// Functions of FROM, which SHOW FUNCTIONS does not list.
const READERS: [&str; 13] = [
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "read_orc",
    "orc_scan",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "parquet_schema",
    "parquet_metadata",
    "parquet_file_metadata",
    "parquet_kv_metadata",
];

#[test]
fn with_all_closed_no_function_reaches_a_file() {
    let counted = Counted::new();
    let file = counted.path("a.csv");
    let names = counted.run("SHOW FUNCTIONS").unwrap();
    let names = names.iter().filter_map(|it| it[0].as_str());
    let mut names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(names.len() > 500, "{}", names.len());
    names.extend(READERS.map(str::to_owned));
    for reader in READERS {
        let known = counted.run(&format!("FROM {reader}('{file}')"));
        let is_unknown = known.is_err_and(|it| it.message().contains("no such"));
        assert!(!is_unknown, "{reader}");
    }
    counted.run("SET enable_external_access = false").unwrap();
    let before = counted.accesses.operations();
    for name in names {
        for arguments in [format!("'{file}'"), format!("'{file}', '{file}'"), format!("['{file}']")]
        {
            // Most calls have wrong arguments, which is fine.
            let _ = counted.run(&format!("SELECT \"{name}\"({arguments})"));
            let _ = counted.run(&format!("FROM \"{name}\"({arguments}) LIMIT 1"));
        }
        assert_eq!(counted.accesses.operations(), before, "{name}");
    }
}

#[test]
fn settings_of_the_gate_only_tighten() {
    let counted = Counted::new();
    let (inside, file) = (counted.path("in"), counted.path("a.csv"));
    counted.run(&format!("SET allowed_directories = ['{inside}']")).unwrap();
    let read = format!("FROM '{inside}/*.csv'");
    assert_eq!(counted.run(&read).unwrap(), [[Value::BigInt(2)]]);
    counted.run(&format!("COPY (SELECT 3 AS x) TO '{inside}/c.csv'")).unwrap();
    counted.denied(&format!("FROM '{file}'"));
    counted.denied(&format!("FROM '{inside}/../a.csv'"));
    let fails = |sql: &str, message: &str| {
        let error = counted.run(sql).unwrap_err();
        assert!(error.message().contains(message), "{sql}: {error}");
    };
    fails(&format!("SET allowed_paths = ['{file}']"), "can only be tightened");
    fails("RESET allowed_paths", "can only be tightened");
    counted.run(&format!("SET allowed_paths = '{inside}/b.csv'")).unwrap();
    counted.denied(&format!("FROM '{inside}/c.csv'"));
    counted.run("SET allow_network = on; SET allow_network = off").unwrap();
    fails("SET allow_network = on", "can only be tightened");
    counted.run("SET enable_external_access = false").unwrap();
    fails("SET enable_external_access = true", "can only be tightened");
    assert_eq!(counted.run(&format!("FROM '{inside}/b.csv'")).unwrap(), [[Value::BigInt(2)]]);
    counted.run("SET lock_configuration = true").unwrap();
    for sql in ["SET threads = 1", "RESET threads", "RESET ALL", "SET lock_configuration = false"] {
        fails(sql, "settings are locked");
    }
    let shown = counted.run("SHOW allowed_directories").unwrap();
    assert_eq!(shown, [[Value::text(format!("{inside}/b.csv"))]]);
    // Sessions that share the tables share the gate.
    assert!(counted.session.another().sql(&format!("FROM '{file}'")).is_err());
}

#[test]
fn secrets_are_listed_without_values() {
    let counted = Counted::new();
    counted
        .run(
            "CREATE SECRET lake (TYPE s3, KEY_ID 'hidden1', SECRET 'hidden2', REGION 'eu-1', \
             SCOPE 's3://lake/raw');
             CREATE SECRET (TYPE http, BEARER_TOKEN 'hidden3', SCOPE ['https://a', 'https://b:1/c'])",
        )
        .unwrap();
    let shown = counted.run("SHOW SECRETS").unwrap();
    let row = |cells: [&str; 5]| cells.map(Value::text).to_vec();
    let expected = [
        row(["__default_http", "http", "config", "https://a, https://b:1/c", "bearer_token"]),
        row(["lake", "s3", "config", "s3://lake/raw", "key_id, region, secret"]),
    ];
    assert_eq!(shown, expected);
    let shown = format!("{:?} {:?}", counted.run("SHOW ALL").unwrap(), shown);
    assert!(!shown.contains("hidden"));
    let fails = |sql: &str, message: &str| {
        let error = counted.run(sql).unwrap_err();
        assert!(error.message().contains(message), "{sql}: {error}");
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
    };
    fails("CREATE SECRET lake (TYPE s3, SECRET 'hidden')", "already a secret");
    fails("CREATE SECRET x (TYPE ftp, SECRET 'hidden')", "no type of secrets");
    fails("CREATE SECRET x (TYPE s3, SEKRET 'hidden')", "no parameter sekret");
    fails("CREATE SECRET x (TYPE s3, SECRET 'hidden', SCOPE 'gs://a')", "not a scope");
    fails("CREATE SECRET x (TYPE s3, PROVIDER vault, SECRET 'hidden')", "no provider");
    fails("DROP SECRET none", "no such secret");
    for wrong in [
        "CREATE SECRET x (TYPE s3, SECRET 'hidden' 'hidden')",
        "CREATE SECRET x (TYPE s3, 'hidden')",
        "CREATE TEMPORARY SECRET x (TYPE s3, SECRET hidden hidden)",
        "SELECT 1; CREATE SECRET x (TYPE s3, SECRET 'hidden') hidden",
        "CREATE OR REPLACE SECRET (SECRET ['hidden', 'hidden2'], TYPE s3)",
        "CREATE PERSISTENT SECRET x (TYPE s3, SECRET 'hidden')",
        "EXPLAIN CREATE SECRET x (TYPE s3, SECRET 'hidden')",
        "EXPLAIN CREATE SECRET x (TYPE s3, SECRET 'hidden' 'hidden')",
        "PREPARE p AS CREATE OR REPLACE SECRET x (TYPE s3, SECRET 'hidden' 'hidden')",
    ] {
        let error = counted.run(wrong).unwrap_err();
        assert!(
            !format!("{error:?} {error} {:?}", error.hint_text()).contains("hidden"),
            "{error:?}"
        );
        let has_excerpt = error.text_span().is_some() && error.kind() == ErrorKind::Syntax;
        assert!(!has_excerpt, "{wrong}: an excerpt of the statement is shown");
    }
    // A table may have the name.
    counted.run("CREATE TABLE secret (secret VARCHAR); DROP TABLE secret").unwrap();
    counted.run("CREATE OR REPLACE SECRET lake (TYPE s3, PROVIDER credential_chain)").unwrap();
    counted.run("CREATE SECRET IF NOT EXISTS lake (TYPE s3); DROP SECRET IF EXISTS none").unwrap();
    counted.run("DROP SECRET LAKE; DROP TEMPORARY SECRET __default_http").unwrap();
    assert!(counted.run("SHOW SECRETS").unwrap().is_empty());
}

/// A build without the feature says which one it lacks.
#[cfg(not(feature = "cloud"))]
#[test]
fn a_build_without_clouds_names_the_feature() {
    let error = Session::new().unwrap().sql("FROM 's3://bucket/a.parquet'").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("needs the feature cloud"), "{error}");
    assert_eq!(error.hint_text(), Some("build Volley with --features cloud"));
}
