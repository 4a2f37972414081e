//! Queries that are cancelled, or whose result is dropped, at random moments leave nothing behind.
//!
//! How quickly they stop is measured by the example `cancel_latency`: times depend on the machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, thread, time::Duration};
use volley::{ErrorKind, Result, Session};

/// Queries that run longer than the delays; `{out}` stands for a file to write.
const QUERIES: [&str; 18] = [
    "SELECT count(*) FROM lineitem, orders WHERE l_comment || o_comment LIKE '%a%b%c%d%e%'",
    "SELECT * FROM lineitem a, region b ORDER BY l_comment, r_name DESC",
    "SELECT l_orderkey, l_partkey, l_comment, count(*) FROM lineitem, region GROUP BY ALL",
    "SELECT l_suppkey, count(DISTINCT l_comment), string_agg(l_comment, ',') FROM lineitem, region \
        GROUP BY 1",
    "SELECT array_agg(l_comment ORDER BY l_comment) FROM lineitem, region",
    "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_linestatus = b.l_linestatus",
    "SELECT count(*) FROM lineitem a FULL JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
        AND a.l_comment < b.l_comment",
    "SELECT count(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_custkey",
    "SELECT count(*) FROM orders WHERE o_comment NOT IN \
        (SELECT l_comment FROM lineitem, region WHERE l_orderkey <> o_orderkey)",
    "SELECT l_comment, r_name FROM lineitem, region INTERSECT ALL \
        SELECT o_comment, r_name FROM orders, region",
    "SELECT * FROM lineitem, region ORDER BY l_comment LIMIT 100000",
    "SELECT rank() OVER (ORDER BY l_comment) FROM lineitem, region",
    "SELECT string_agg(r_name, '') OVER (PARTITION BY l_suppkey ORDER BY l_comment ROWS 5 PRECEDING) \
        FROM lineitem, region",
    "SELECT count(DISTINCT l_suppkey) OVER (ORDER BY l_comment ROWS 500 PRECEDING) FROM lineitem",
    "SELECT array_agg(l_comment) OVER (PARTITION BY l_suppkey ORDER BY l_partkey) FROM lineitem, region",
    "CREATE TABLE copied AS SELECT * FROM lineitem, region",
    "COPY (SELECT * FROM lineitem, region) TO '{out}.parquet'",
    "COPY (SELECT * FROM lineitem, region ORDER BY l_comment) TO '{out}.csv'",
];

/// A pseudo-random sequence (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn session(data: &Path, batch_rows: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.set("batch_rows", batch_rows).unwrap();
    for table in ["lineitem", "orders", "region"] {
        let path = data.join(format!("{table}.parquet"));
        session.register_files(table, path.to_str().unwrap()).unwrap();
    }
    session
}

fn drain(session: &Session, sql: &str) -> Result<()> {
    let mut rows = session.sql(sql)?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Runs `sql` and cancels it after `delay`; whether it was cut off.
fn cancel_after(session: &Session, sql: &str, delay: Duration) -> bool {
    let outcome = thread::scope(|scope| {
        let query = scope.spawn(|| drain(session, sql));
        thread::sleep(delay);
        while !query.is_finished() {
            // It may not have begun yet.
            session.cancel();
            thread::sleep(Duration::from_millis(1));
        }
        query.join().unwrap()
    });
    match outcome {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{sql}: {error}");
            true
        }
    }
}

/// Threads of this process that run drivers.
fn driver_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks.filter_map(|it| fs::read_to_string(it.ok()?.path().join("comm")).ok());
    names.filter(|it| it.starts_with("driver-")).count()
}

#[test]
fn what_is_cancelled_or_dropped_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.01, data.path(), &|_| Ok(())).unwrap();
    let out = tempfile::tempdir().unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut cut_off = 0;
    for batch_rows in ["64", "8192"] {
        let session = session(data.path(), batch_rows);
        for sql in QUERIES {
            let sql = sql.replace("{out}", out.path().join("out").to_str().unwrap());
            for _ in 0..3 {
                let delay = Duration::from_micros(random.below(40_000));
                cut_off += usize::from(cancel_after(&session, &sql, delay));
                session.sql("DROP TABLE IF EXISTS copied").unwrap();
                for file in fs::read_dir(out.path()).unwrap() {
                    let path = file.unwrap().path();
                    assert!(!path.to_string_lossy().contains("unfinished"), "{sql}: {path:?}");
                    fs::remove_file(path).unwrap();
                }
                session.wait_released();
                assert_eq!(session.pool().stats().bytes, 0, "{sql} after {delay:?}");
            }
            if sql.starts_with("SELECT") {
                let mut rows = session.sql(&sql).unwrap();
                thread::sleep(Duration::from_micros(random.below(10_000)));
                if random.below(2) == 0 {
                    rows.cancel();
                    let _ = rows.next();
                }
                drop(rows);
                session.wait_released();
                assert_eq!(session.pool().stats().bytes, 0, "{sql} dropped");
            }
            // The session goes on.
            let rows = session.sql("SELECT count(*) FROM region").unwrap();
            assert_eq!(rows.collect_values().unwrap()[0][0].as_i128(), Some(5));
        }
    }
    assert!(cut_off >= QUERIES.len(), "only {cut_off} runs were cut off");
    assert_eq!(driver_threads(), 0);
}
