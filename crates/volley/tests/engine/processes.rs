//! Queries that run in several processes: here, threads with a session each, which exchange only
//! messages of bytes.

use crate::tasks::{QUERIES, session, values};
use std::{path::Path, sync::Arc, thread};
use volley::{Error, ErrorKind, Session};
use volley_platform_mpi::{Channels, Messenger, World};

/// Parquet files of the tables of [`session`]: `t` of several files and row groups.
fn write_files(folder: &Path) {
    let session = session("1");
    for part in 0..4 {
        let path = folder.join(format!("t{part}.parquet"));
        let copy = format!(
            "COPY (SELECT * FROM t WHERE n % 4 = {part}) TO '{}' (ROW_GROUP_SIZE 1500)",
            path.display()
        );
        session.sql(&copy).unwrap();
    }
    session.sql(&format!("COPY u TO '{}'", folder.join("u.parquet").display())).unwrap();
}

fn register(session: &Session, folder: &Path) {
    session.register_files("t", &folder.join("t*.parquet").to_string_lossy()).unwrap();
    session.register_files("u", &folder.join("u.parquet").to_string_lossy()).unwrap();
}

fn configured(builder: volley::SessionBuilder) -> Session {
    let session = builder.build().unwrap();
    session.set("threads", "2").unwrap();
    session.set("batch_rows", "256").unwrap();
    session
}

/// Runs `test` in process 0 of `ranks`, whose session reads the files of `folder`.
fn with_processes(ranks: usize, folder: &Path, test: impl FnOnce(&Session)) {
    let mut worlds: Vec<World> = Channels::connected(ranks)
        .into_iter()
        .map(|it| World::join(move || Ok(Box::new(it) as Box<dyn Messenger>)).unwrap())
        .collect();
    let first = Arc::new(worlds.remove(0));
    thread::scope(|scope| {
        for world in worlds {
            scope.spawn(move || {
                let session = configured(Session::builder());
                world.ready(Ok(()));
                let start = |spec: &[u8], processes| session.start_fragments(spec, processes);
                world.serve(&start).unwrap();
                world.leave();
                session.wait_released();
                assert_eq!(session.pool().stats().bytes, 0, "a process holds memory");
            });
        }
        // Also if the test fails: the others would wait.
        let leaving = Leaving(Arc::clone(&first));
        first.wait_ready().unwrap();
        let session = configured(Session::builder().platform(Arc::clone(&first) as _));
        register(&session, folder);
        test(&session);
        drop(leaving);
    });
}

struct Leaving(Arc<World>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leave();
    }
}

fn failure(session: &Session, sql: &str) -> Error {
    let found = session.sql(sql).and_then(|it| it.collect_values());
    found.err().unwrap_or_else(|| panic!("{sql} has not failed"))
}

#[test]
fn answers_are_those_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let one = configured(Session::builder());
    register(&one, dir.path());
    with_processes(3, dir.path(), |session| {
        let plan = values(session, "EXPLAIN (DISTRIBUTED) SELECT k, sum(n) FROM t GROUP BY k");
        assert!(format!("{plan:?}").contains("tasks=all"), "{plan:?}");
        // What all processes did: every row was scanned once.
        let analyzed = values(session, "EXPLAIN ANALYZE SELECT k, sum(n) FROM t GROUP BY k");
        let analyzed = format!("{analyzed:?}");
        assert!(analyzed.contains("25,000") || analyzed.contains("25000"), "{analyzed}");
        for page_size in ["1MiB", "100B"] {
            session.set("exchange_page_size", page_size).unwrap();
            for sql in QUERIES {
                assert_eq!(values(session, sql), values(&one, sql), "{sql}");
            }
        }
    });
}

#[test]
fn tables_of_one_process_are_scanned_there() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    with_processes(3, dir.path(), |session| {
        session.sql("CREATE TABLE own AS SELECT i AS k, i * 7 AS x FROM range(60) r(i)").unwrap();
        let sql = "SELECT own.x, count(*), sum(t.n) FROM t JOIN own ON t.k = own.k GROUP BY own.x";
        let distributed = values(session, &format!("{sql} ORDER BY 1"));
        assert_eq!(distributed.len(), 60);
        session.sql("CREATE TABLE whole AS SELECT * FROM t").unwrap();
        let sql = sql.replace("FROM t", "FROM whole t");
        assert_eq!(values(session, &format!("{sql} ORDER BY 1")), distributed);
        let insert = "INSERT INTO own SELECT k + 1000, n FROM t WHERE n < 10";
        session.sql(insert).unwrap();
        let count = values(session, "SELECT count(*) FROM own");
        assert_eq!(count, [[volley::Value::BigInt(70)]]);
    });
}

#[test]
fn a_failure_in_any_process_is_the_error_of_the_query() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    with_processes(3, dir.path(), |session| {
        // One row of 25,000, in the split of some process.
        let sql = "SELECT sum(CAST(CASE WHEN n = 12345 THEN 'x' ELSE '1' END AS INTEGER)) FROM t";
        for _ in 0..5 {
            let error = failure(session, sql);
            assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
            assert!(error.to_string().contains("'x'"), "{error}");
        }
        // The next query runs.
        assert_eq!(values(session, "SELECT count(*) FROM t"), [[volley::Value::BigInt(25_000)]]);
    });
}

#[test]
fn a_query_that_is_dropped_or_cancelled_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    with_processes(3, dir.path(), |session| {
        let long = "SELECT a.n, b.n FROM t a JOIN t b ON a.k = b.k ORDER BY 1, 2";
        drop(session.sql(long).unwrap());
        let mut result = session.sql("SELECT a.n FROM t a JOIN t b ON a.k = b.k").unwrap();
        assert!(result.next().unwrap().is_some());
        drop(result);
        let mut result = session.sql(long).unwrap();
        result.cancel();
        assert_eq!(result.next().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(values(session, "SELECT count(*) FROM u"), [[volley::Value::BigInt(50)]]);
    });
}

#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    with_processes(2, dir.path(), |session| {
        let path = dir.path().join("u.parquet");
        let copy = format!("COPY (SELECT 'a' AS other) TO '{}'", path.display());
        session.sql(&copy).unwrap();
        let error = failure(session, "SELECT count(*) FROM u JOIN t ON u.k = t.k");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    });
}
