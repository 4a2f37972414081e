//! The cache of remote files, in SQL.

use std::sync::Arc;
use volley::{Session, Value};
use volley_io_testkit::{FaultyFileSystem, FileFaults, MemoryFileSystem};

struct Remote {
    store: MemoryFileSystem,
    requests: FileFaults,
    session: Session,
}

impl Remote {
    fn new() -> Remote {
        Remote::over(MemoryFileSystem::new(Session::builder().io_runtime().clone()))
    }

    fn over(store: MemoryFileSystem) -> Remote {
        let requests = FileFaults::default();
        let counted = FaultyFileSystem::new(Arc::new(store.clone()), &requests);
        let builder = Session::builder().add_file_system("memory", Arc::new(counted));
        Remote { store, requests, session: builder.build().unwrap() }
    }

    fn run(&self, sql: &str) -> Vec<Vec<Value>> {
        let rows = self.session.sql(sql).and_then(|it| it.collect_values());
        rows.unwrap_or_else(|it| panic!("{sql}: {it}"))
    }

    /// The requests of a statement, which returns a number.
    fn requests(&self, sql: &str, expected: i64) -> u64 {
        let before = self.requests.operations();
        assert_eq!(self.run(sql), [[Value::BigInt(expected)]], "{sql}");
        self.requests.operations() - before
    }
}

const COPY: &str =
    "COPY (SELECT i, 'text ' || i AS s FROM range(20000) t(i)) TO 'memory://b/t.parquet'";

#[test]
fn statements_read_remote_bytes_once() {
    let remote = Remote::new();
    remote.run(COPY);
    let sum = "SELECT sum(i)::BIGINT FROM 'memory://b/t.parquet'";
    let (first, second) = (remote.requests(sum, 199_990_000), remote.requests(sum, 199_990_000));
    assert!(first > 2 && second <= 2, "{first} requests, then {second}");
    let shown = remote.run("SHOW CACHE");
    assert_eq!((shown.len(), &shown[0][0]), (1, &Value::text("memory://b/t.parquet")));
    // Another file of the same name is read.
    remote.run("COPY (SELECT 7 AS i) TO 'memory://b/t.parquet'");
    remote.requests(sum, 7);
    remote.run("SET enable_external_file_cache = false");
    assert!(remote.run("SHOW CACHE").is_empty());
    assert_eq!(remote.run("SHOW cache_memory_size"), [[Value::text("0 B")]]);
    let again = remote.requests(sum, 7);
    assert!(again > 2, "{again}");
}

#[test]
fn a_table_is_read_ahead_into_a_folder_that_outlives_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let set = format!("SET cache_directory = '{}'", folder.path().display());
    let first = Remote::new();
    first.run(COPY);
    first.run(&set);
    first.run("CREATE VIEW v AS FROM 'memory://b/t.parquet'; PREFETCH TABLE v");
    first.run("PREFETCH TABLE v");
    // It waits for the threads that write blocks.
    first.run("SET cache_directory = ''");
    let second = Remote::over(first.store.clone());
    let error = second.session.sql("PREFETCH TABLE nothing").err().unwrap();
    assert!(error.message().contains("nothing"), "{error}");
    second.run(&set);
    assert_eq!(
        second.run("SHOW cache_directory"),
        [[Value::text(folder.path().display().to_string())]]
    );
    let sum = "SELECT sum(i + length(s))::BIGINT FROM 'memory://b/t.parquet'";
    let lengths: i64 = (0..20_000_i64).map(|it| it + 5 + it.to_string().len() as i64).sum();
    let requests = second.requests(sum, lengths);
    assert!(requests <= 2, "{requests} requests for bytes on disk");
}

#[test]
fn a_file_that_was_replaced_is_read_anew() {
    let remote = Remote::new();
    remote.run(COPY);
    let sum = "SELECT sum(i)::BIGINT FROM 'memory://b/t.parquet'";
    remote.requests(sum, 199_990_000);
    let other = Remote::over(remote.store.clone());
    other.run("COPY (SELECT 5 AS i, 6 AS j) TO 'memory://b/t.parquet'");
    remote.requests(sum, 5);
    // Its columns are others, too.
    remote.requests("SELECT j::BIGINT FROM 'memory://b/t.parquet'", 6);
    other.run("COPY (SELECT 7 AS k) TO 'memory://b/t.parquet'");
    remote.requests("SELECT k::BIGINT FROM 'memory://b/t.parquet'", 7);
    let error = remote.session.sql(sum).err().unwrap();
    assert!(error.message().contains('i'), "{error}");
    other.run("COPY (SELECT 8 AS k) TO 'memory://b/u.parquet'");
    let both = "SELECT sum(k)::BIGINT FROM 'memory://b/*.parquet'";
    remote.requests(both, 15);
    remote.requests(both, 15);
    other.run("COPY (SELECT 9 AS k) TO 'memory://b/v.parquet'");
    remote.requests(both, 24);
}

#[test]
fn within_the_interval_of_validation_no_request_is_sent() {
    let remote = Remote::new();
    remote.run(COPY);
    let sum = "SELECT sum(i)::BIGINT FROM 'memory://b/*.parquet'";
    for set in ["SET cache_validation_interval = '1h'", "SET enable_http_metadata_cache = true"] {
        remote.run(set);
        remote.requests(sum, 199_990_000);
        assert_eq!(remote.requests(sum, 199_990_000), 0);
        remote.run("RESET cache_validation_interval");
        assert!(remote.requests(sum, 199_990_000) > 0);
    }
    remote.run("SET cache_validation_interval = '90s'");
    assert_eq!(remote.run("SHOW cache_validation_interval"), [[Value::text("90s")]]);
    assert_eq!(remote.run("SHOW enable_http_metadata_cache"), [[Value::text("false")]]);
    remote.run("COPY (SELECT 7 AS i) TO 'memory://b/t.parquet'");
    remote.requests(sum, 7);
    let error = remote.session.sql("SET cache_validation_interval = 'soon'").err().unwrap();
    assert!(error.message().contains("length of time"), "{error}");
}
