//! Bounds of ORDER BY with LIMIT for scans: answers are the same without them, and they drop rows,
//! pages and row groups where they should.

use super::run;
use std::path::Path;
use tempfile::TempDir;
use volley::Session;

fn execute(session: &Session, sql: &str) {
    while session.sql(sql).unwrap().next().unwrap().is_some() {}
}

/// `t`: 20,000 rows. `u` counts from 0; `i` has 700 values and nulls, `d` is a double with NaN,
/// infinities and both zeros, `c` a decimal, `day` a date, `s` a text; `one` is always 1.
fn session() -> Session {
    let session = Session::new().unwrap();
    let folder = Path::new("../../tests/data");
    let numbers = folder.join("numbers.parquet").display().to_string();
    let sql = format!(
        "CREATE TABLE t AS SELECT n AS u, CASE WHEN n % 11 = 3 THEN NULL ELSE n * 7919 % 700 END \
         AS i, CASE n * 31 % 97 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN \
         CAST('Infinity' AS DOUBLE) WHEN 2 THEN CAST('-Infinity' AS DOUBLE) WHEN 3 THEN NULL \
         WHEN 4 THEN CAST('-0.0' AS DOUBLE) WHEN 5 THEN 0.0 ELSE (n * 6007 % 20011 - 9000) / 7.0 \
         END AS d, CAST((n * 104729 % 30011) / 100.0 AS DECIMAL(12, 2)) AS c, \
         DATE '1992-01-01' + CAST(n * 17 % 2500 AS INTEGER) AS day, \
         CASE WHEN n % 5 = 0 THEN NULL ELSE 'a text of number ' || n * 13 % 20000 END AS s, \
         1 AS one FROM (SELECT a.r * 100 + b.r AS n FROM '{numbers}' a, '{numbers}' b \
         WHERE a.r < 200 AND b.r < 100)"
    );
    execute(&session, &sql);
    session
}

/// Runs a query with and without bounds, in several ways; how many rows bounds dropped.
#[track_caller]
fn dropped_rows(session: &Session, sql: &str) -> u64 {
    super::dropped_rows(session, sql, "rows dropped by bounds", true)
}

/// Writes `t` to eight files, and says what they are called together. In order of `by`, so that
/// each has a range of its values; the names of the files are in another order.
fn write_parts(session: &Session, folder: &TempDir, by: &str) -> String {
    let numbered = format!("SELECT t.*, row_number() OVER (ORDER BY {by}, u) AS p FROM t");
    for part in 0..8 {
        let name = format!("{}.parquet", (part * 3 + 4) % 8);
        let file = folder.path().join(name).display().to_string();
        let rows = format!("SELECT * FROM ({numbered}) WHERE (p - 1) // 2500 = {part} ORDER BY p");
        execute(session, &format!("COPY ({rows}) TO '{file}'"));
    }
    folder.path().join("*.parquet").display().to_string()
}

#[test]
fn every_type_and_order_has_the_same_first_rows() {
    let session = session();
    let folder = tempfile::tempdir().unwrap();
    let files = format!("'{}'", write_parts(&session, &folder, "u"));
    for table in ["t", &files] {
        for column in ["u", "i", "d", "c", "day", "s", "one"] {
            for order in
                ["ASC NULLS FIRST", "ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST"]
            {
                // The key alone: which of several equal rows come is not determined.
                let key = format!("SELECT {column} FROM {table} ORDER BY {column} {order} LIMIT 7");
                dropped_rows(&session, &key);
                let ties = format!(
                    "SELECT {column}, u, s FROM {table} ORDER BY {column} {order}, u DESC \
                     LIMIT 20 OFFSET 3"
                );
                let dropped = dropped_rows(&session, &ties);
                let is_dropped = dropped > 0 || column == "one";
                let is_spared = is_dropped || count(&session, &ties, "groups skipped") > 0;
                assert!(is_spared, "no rows were dropped: {ties}");
            }
        }
    }
    // Of rows that are equal in the only key, those that come later are dropped.
    assert!(dropped_rows(&session, "SELECT one FROM t ORDER BY one LIMIT 5") > 0);
    assert!(dropped_rows(&session, "SELECT i FROM t ORDER BY i NULLS FIRST LIMIT 5") > 0);
    assert!(dropped_rows(&session, "SELECT u, i FROM t ORDER BY i DESC, u LIMIT 3000") > 0);
}

#[test]
fn bounds_pass_nodes_that_pass_on_their_rows() {
    let session = session();
    execute(&session, "CREATE TABLE k AS SELECT u AS k, u % 3 AS m FROM t WHERE u % 10 < 6");
    for sql in [
        "SELECT u, i + 1 FROM t WHERE i % 2 = 0 ORDER BY u DESC LIMIT 10",
        "SELECT u FROM (SELECT u FROM t UNION ALL SELECT u + 100000 FROM t) ORDER BY u LIMIT 10",
        "SELECT u, m FROM t JOIN k ON t.u = k.k ORDER BY u LIMIT 10",
        "SELECT u, m FROM t LEFT JOIN k ON t.u = k.k AND m = 1 ORDER BY c, u LIMIT 10",
        "SELECT u, sum(one) OVER (PARTITION BY i) AS r FROM t ORDER BY u LIMIT 10",
        "SELECT u FROM t WHERE u IN (SELECT k FROM k) ORDER BY d DESC, u LIMIT 10",
        "SELECT u FROM t WHERE NOT EXISTS (SELECT 1 FROM k WHERE k = u) ORDER BY s, u LIMIT 10",
    ] {
        assert!(dropped_rows(&session, sql) > 0, "no rows were dropped: {sql}");
    }
}

#[test]
fn bounds_do_not_pass_what_counts_rows_or_puts_them_together() {
    let session = session();
    execute(&session, "CREATE TABLE k AS SELECT u AS k FROM t WHERE u % 10 < 6");
    for sql in [
        "SELECT u FROM (SELECT u FROM t ORDER BY c, u LIMIT 9000) ORDER BY u LIMIT 10",
        "SELECT i, count(*) FROM t GROUP BY i ORDER BY i DESC NULLS LAST LIMIT 10",
        "SELECT u, row_number() OVER (ORDER BY c, u) AS r FROM t ORDER BY u LIMIT 10",
        "SELECT u, sum(one) OVER (PARTITION BY i ORDER BY c) AS r FROM t ORDER BY u LIMIT 10",
        "SELECT k FROM k FULL JOIN t ON t.u = k.k ORDER BY k, u LIMIT 10",
        "SELECT -u FROM t ORDER BY -u LIMIT 10",
        "WITH w AS (SELECT u, c FROM t WHERE u % 3 = 1) SELECT a.u, b.n FROM w a, \
         (SELECT count(*) AS n FROM w) b ORDER BY a.u LIMIT 10",
        "SELECT count(*), sum(u) FROM t ORDER BY 1 LIMIT 10",
        "SELECT u FROM t ORDER BY u LIMIT 0",
        "SELECT u FROM t ORDER BY u LIMIT 19990",
    ] {
        let inner = "SELECT u FROM (SELECT u FROM t ORDER BY c";
        let dropped = dropped_rows(&session, sql);
        assert!(dropped == 0 || sql.starts_with(inner) || sql.starts_with("WITH"), "{sql}");
    }
}

/// Runs a query in one thread; a counter of its scans.
fn count(session: &Session, sql: &str, counter: &str) -> u64 {
    session.set("threads", "1").unwrap();
    session.set("batch_rows", "1024").unwrap();
    run(session, sql, counter).1
}

#[test]
fn row_groups_are_read_best_first() {
    let session = session();
    for (by, key) in [
        ("u", "u"),
        ("u", "u DESC"),
        ("s", "s NULLS LAST"),
        ("s", "s DESC NULLS LAST"),
        ("s NULLS FIRST", "s NULLS FIRST"),
        ("d", "d"),
        ("d", "d NULLS FIRST"),
        ("c", "c"),
        ("c", "c DESC"),
        ("day", "day"),
        ("day", "day DESC"),
        ("i NULLS FIRST", "i NULLS FIRST"),
        ("i NULLS LAST", "i DESC NULLS LAST"),
        ("i NULLS LAST", "i DESC NULLS FIRST"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = write_parts(&session, &folder, by);
        let sql = format!("SELECT * FROM '{files}' ORDER BY {key}, u LIMIT 10");
        dropped_rows(&session, &sql);
        // More nulls than one file has rows: the second key may tell any of them apart.
        let read = if key == "s NULLS FIRST" { 2 } else { 1 };
        assert_eq!(count(&session, &sql, "groups read"), read, "{sql}");
        assert_eq!(count(&session, &sql, "groups skipped"), 8 - read, "{sql}");
    }
    // Not all files say whether there are NaNs, which come first: what is not ruled out is dropped.
    let folder = tempfile::tempdir().unwrap();
    let files = write_parts(&session, &folder, "d");
    let sql = format!("SELECT * FROM '{files}' ORDER BY d DESC NULLS LAST, u LIMIT 10");
    dropped_rows(&session, &sql);
    let spared = ["groups skipped", "rows dropped by bounds"].map(|it| count(&session, &sql, it));
    assert!(spared[0] * 2500 + spared[1] > 15_000, "{sql}: {spared:?}");
}

#[test]
fn files_of_several_row_groups_are_read_best_first_together() {
    let session = session();
    let folder = tempfile::tempdir().unwrap();
    // Two row groups each, the last of which begins the order.
    for part in 0..2 {
        let file = folder.path().join(format!("{part}.parquet")).display().to_string();
        let rows = format!(
            "SELECT 2200000 - (t.u + 20000 * k.n) AS v, t.u % 10 AS w \
             FROM t, (SELECT u AS n FROM t WHERE u < 110) k WHERE t.u % 2 = {part} ORDER BY v DESC"
        );
        execute(&session, &format!("COPY ({rows}) TO '{file}'"));
    }
    let files = folder.path().join("*.parquet").display().to_string();
    session.set("threads", "1").unwrap();
    for (key, last) in [("v", "1000"), ("v DESC, w", "2199001"), ("v, w DESC", "1000")] {
        let sql = format!("SELECT v, w FROM '{files}' ORDER BY {key} LIMIT 1000");
        let (rows, read) = run(&session, &sql, "groups read");
        assert_eq!((rows.len(), rows[999].contains(last)), (1000, true), "{sql}: {}", rows[999]);
        assert_eq!((read, count(&session, &sql, "groups skipped")), (2, 2), "{sql}");
    }
}

#[test]
fn pages_are_looked_at_again_when_the_bound_tightens() {
    let session = session();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.parquet").display().to_string();
    // One row group, with pages of 20,000 rows or some more; the first rows are in the first page,
    // or the last.
    let rows = "SELECT t.u + 20000 * k.n AS v, 'text ' || t.u + 20000 * k.n AS s, \
        CASE WHEN k.n < 2 THEN t.u + 20000 * k.n END AS w \
        FROM t, (SELECT u AS n FROM t WHERE u < 5) k";
    execute(&session, &format!("COPY ({rows} ORDER BY v) TO '{file}'"));
    for (key, rows) in [
        ("v", 70_000..=80_000),
        ("v, s", 70_000..=80_000),
        ("w NULLS LAST, v", 70_000..=80_000),
        ("w NULLS FIRST, v DESC", 0..=20_000),
        ("v DESC", 0..=0),
    ] {
        let sql = format!("SELECT v, s, w FROM '{file}' ORDER BY {key} LIMIT 10");
        dropped_rows(&session, &sql);
        assert_eq!(count(&session, &sql, "groups read"), 1, "{sql}");
        let pruned = count(&session, &sql, "rows pruned");
        assert!(rows.contains(&pruned), "{pruned} rows: {sql}");
        assert_eq!(count(&session, &sql, "pages pruned") > 0, pruned > 0, "{sql}");
    }
}

#[test]
fn row_groups_and_pages_behind_the_bound_are_not_read() {
    let session = session();
    for (by, order) in [("u", "u"), ("s", "s NULLS LAST"), ("d", "d"), ("c", "c"), ("day", "day")] {
        let folder = tempfile::tempdir().unwrap();
        let files = write_parts(&session, &folder, by);
        session.set("threads", "1").unwrap();
        session.set("batch_rows", "1024").unwrap();
        let sql = format!("SELECT * FROM '{files}' ORDER BY {order}, u LIMIT 10");
        assert!(dropped_rows(&session, &sql) > 0);
        assert_eq!(count(&session, &sql, "groups skipped"), 7, "{by}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.parquet").display().to_string();
    // Pages of 20,000 rows.
    let rows = "SELECT t.u + 20000 * k.n AS v, t.s FROM t, (SELECT u AS n FROM t WHERE u < 10) k";
    execute(&session, &format!("COPY ({rows} ORDER BY v) TO '{file}'"));
    let sql = format!("SELECT v, s FROM '{file}' WHERE v >= 50000 ORDER BY v LIMIT 10");
    let (found, pruned) = run(&session, &sql, "pages pruned");
    assert_eq!((found.len(), found[0].contains("50000")), (10, true));
    assert!(pruned > 0, "no pages were ruled out");
}
