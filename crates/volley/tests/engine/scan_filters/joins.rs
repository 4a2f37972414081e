//! Filters that joins make for scans: answers are the same without them, and they drop rows where
//! they should.

use std::path::Path;
use volley::Session;

/// `t`: 20,000 rows, `i` counts from 0 and is null in every 7th row, `k` has 500 sparse values, `g`
/// has 10. `u`: 40 of the values of `k`, with a null and values that `t` does not have.
fn session() -> Session {
    let session = Session::new().unwrap();
    let folder = Path::new("../../tests/data");
    let numbers = folder.join("numbers.parquet").display().to_string();
    let t = format!(
        "CREATE TABLE t AS SELECT CASE WHEN n % 7 = 0 THEN NULL ELSE n END AS i, \
         (n % 500) * 1000003 AS k, n % 10 AS g, 'text ' || n AS s \
         FROM (SELECT a.r * 100 + b.r AS n FROM '{numbers}' a, '{numbers}' b \
               WHERE a.r < 200 AND b.r < 100)"
    );
    let u = "CREATE TABLE u AS SELECT DISTINCT k + CASE WHEN k % 3 = 0 THEN 1 ELSE 0 END AS k, \
             k // 1000003 % 4 AS c FROM t WHERE k < 40000000 AND i IS NOT NULL \
             UNION ALL SELECT NULL, 1";
    for sql in [&t, u] {
        while session.sql(sql).unwrap().next().unwrap().is_some() {}
    }
    session
}

/// Runs a query with and without filters, in several ways; whether filters dropped rows.
#[track_caller]
fn drops_rows(session: &Session, sql: &str) -> bool {
    super::dropped_rows(session, sql, "rows dropped by joins", false) > 0
}

#[test]
fn joins_filter_scans_through_the_nodes_above_them() {
    let session = session();
    for sql in [
        "SELECT count(*), sum(i), min(c) FROM t JOIN u ON t.k = u.k",
        "SELECT count(*) FROM t WHERE k IN (SELECT k FROM u WHERE c = 2)",
        "SELECT count(*) FROM t WHERE i IN (SELECT i FROM t WHERE g = 3 AND i < 100)",
        "SELECT u.c, a.n FROM (SELECT k, count(*) AS n FROM t GROUP BY k) a JOIN u ON a.k = u.k",
        "SELECT count(*) FROM (SELECT k FROM t UNION ALL SELECT k + 0 FROM t) a JOIN u ON a.k = u.k",
        "SELECT u.c, r FROM (SELECT k, i, rank() OVER (PARTITION BY k ORDER BY i) AS r FROM t) a \
         JOIN u ON a.k = u.k WHERE r < 3",
        "SELECT count(*), sum(b.i) FROM t a JOIN t b ON a.i = b.i JOIN u ON b.k = u.k",
        "SELECT count(*) FROM t LEFT JOIN (SELECT DISTINCT k FROM t WHERE g < 5) d ON t.k = d.k \
         WHERE t.k IN (SELECT k FROM u)",
        "SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM u WHERE u.k = a.k AND u.c <> a.g)",
    ] {
        assert!(drops_rows(&session, sql), "no rows were dropped: {sql}");
    }
}

#[test]
fn rows_that_joins_keep_are_not_filtered() {
    let session = session();
    for sql in [
        "SELECT count(*), count(u.k) FROM t LEFT JOIN u ON t.k = u.k",
        "SELECT count(*), count(u.k), count(t.k) FROM t FULL JOIN u ON t.k = u.k",
        "SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
        "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
        "SELECT count(*) FROM t JOIN u ON t.i IS NOT DISTINCT FROM u.k",
        "SELECT count(*) FROM (SELECT k FROM t ORDER BY i, k LIMIT 15000) a JOIN u ON a.k = u.k",
        "SELECT sum(r) FROM (SELECT k, row_number() OVER (ORDER BY i, k) AS r FROM t) a \
         JOIN u ON a.k = u.k",
    ] {
        assert!(!drops_rows(&session, sql), "rows were dropped: {sql}");
    }
}

#[test]
fn row_groups_without_a_key_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let session = session();
    for part in 0..8 {
        let file = folder.path().join(format!("{part}.parquet"));
        let copy =
            format!("COPY (SELECT * FROM t WHERE i // 2500 = {part}) TO '{}'", file.display());
        while session.sql(&copy).unwrap().next().unwrap().is_some() {}
    }
    let files = folder.path().join("*.parquet");
    let sql = format!(
        "SELECT count(*) FROM '{}' f JOIN t ON f.i = t.i WHERE t.i IN (5, 19990)",
        files.display()
    );
    assert!(drops_rows(&session, &sql));
    let mut result = session.sql(&sql).unwrap();
    while result.next().unwrap().is_some() {}
    assert_eq!(result.statistics().unwrap().total("groups skipped"), 6);
}
