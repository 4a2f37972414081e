//! Rows keep the order of their source whatever drivers do, if `preserve_insertion_order` is on.
//!
//! Batches of few rows and many splits make drivers overtake each other. What one thread reads is
//! the order that is expected.

use std::{fmt::Write, fs, path::Path};
use volley::{Session, Value};

/// Rows of the batches of a table in memory: each is a split.
const BATCHES: [i64; 7] = [3000, 1200, 500, 200, 90, 40, 15];

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

fn rows(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).unwrap().collect_values().unwrap()
}

fn make(session: &Session, table: &str) {
    run(session, &format!("CREATE TABLE {table} (i BIGINT, t VARCHAR)"));
    let mut start = 0;
    for rows in BATCHES {
        let end = start + rows;
        let source = format!("SELECT range, 'text ' || range FROM range({start}, {end})");
        run(session, &format!("INSERT INTO {table} {source}"));
        start = end;
    }
}

/// Files of several row groups and chunks, and several files of one table.
fn make_files(session: &Session, folder: &Path) {
    let path = |name: &str| folder.join(name).display().to_string();
    run(session, &format!("COPY t TO '{}' (ROW_GROUP_SIZE 300)", path("t.parquet")));
    run(session, &format!("COPY t TO '{}'", path("t.json")));
    for (part, range) in [(0, "i < 1000"), (1, "i >= 1000 AND i < 4000"), (2, "i >= 4000")] {
        let file = path(&format!("part{part}.csv"));
        run(session, &format!("COPY (FROM t WHERE {range}) TO '{file}'"));
    }
    // More than several readers take at once.
    let mut text = String::from("i,t\n");
    for row in 0..150_000 {
        let _ = writeln!(text, "{row},a text that makes the lines longer {row}");
    }
    fs::write(folder.join("long.csv"), text).unwrap();
}

fn queries(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut queries: Vec<String> = [
        "FROM t",
        "SELECT i + 1, upper(t) FROM t WHERE i % 3 = 1",
        "SELECT i FROM t WHERE i % 997 = 5",
        "FROM t LIMIT 5",
        "FROM t LIMIT 700 OFFSET 2900",
        "SELECT i FROM t WHERE i % 7 = 0 LIMIT 20 OFFSET 500",
        "FROM t OFFSET 4990",
        "SELECT i FROM t UNION ALL SELECT -i FROM t WHERE i % 2 = 0 UNION ALL SELECT 7",
        "SELECT i FROM (FROM t UNION ALL FROM t) WHERE i > 4000 LIMIT 900 OFFSET 100",
        "SELECT row_number() OVER () AS n, i FROM t",
        "SELECT i, unnest([1, 2, 3]) FROM t WHERE i % 5 = 0",
        "SELECT * FROM (SELECT i, i + 1 AS a, i + 2 AS b FROM t) UNPIVOT (v FOR n IN (a, b))",
        "SELECT sum(i) FROM (SELECT i FROM t LIMIT 1234 OFFSET 1800)",
        "SELECT i FROM (SELECT i FROM t LIMIT 2000 OFFSET 2500) LIMIT 100 OFFSET 1000",
        "WITH c AS (SELECT i * 2 AS x FROM t) SELECT x FROM c WHERE x > 100 LIMIT 3000",
    ]
    .map(str::to_owned)
    .to_vec();
    for file in ["t.parquet", "t.json", "part*.csv", "long.csv"] {
        let file = path(file);
        queries.push(format!("SELECT i FROM '{file}' WHERE i % 11 = 0"));
        queries.push(format!("FROM '{file}' LIMIT 10 OFFSET 4321"));
    }
    queries
}

#[test]
fn several_drivers_return_rows_as_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new().unwrap();
    session.set("threads", "1").unwrap();
    make(&session, "t");
    make_files(&session, folder.path());
    let queries = queries(folder.path());
    let expected: Vec<_> = queries.iter().map(|it| rows(&session, it)).collect();
    assert_eq!(expected[3][4][0], Value::BigInt(4));
    for (threads, batch_rows) in [("4", "16"), ("3", "64"), ("8", "1024"), ("4", "1")] {
        session.set("threads", threads).unwrap();
        session.set("batch_rows", batch_rows).unwrap();
        for (sql, expected) in queries.iter().zip(&expected) {
            if batch_rows != "1" || !sql.contains("long.csv") {
                assert!(rows(&session, sql) == *expected, "{threads} {batch_rows} {sql}");
            }
        }
    }
}

#[test]
fn tables_keep_the_order_of_their_source() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new().unwrap();
    session.set("threads", "1").unwrap();
    make(&session, "t");
    make_files(&session, folder.path());
    run(&session, &format!("ATTACH '{}' AS d", folder.path().join("d").display()));
    let file = |name: &str| folder.path().join(name).display().to_string();
    let sources = [
        "SELECT i, t FROM t WHERE i % 3 > 0".to_owned(),
        "FROM t UNION ALL SELECT i + 10000, t FROM t".to_owned(),
        format!("FROM '{}'", file("t.parquet")),
        format!("FROM '{}'", file("part*.csv")),
        format!("FROM '{}' WHERE i % 2 = 0", file("long.csv")),
    ];
    for source in &sources {
        session.set("threads", "1").unwrap();
        let expected = rows(&session, source);
        for (threads, batch_rows) in [("4", "16"), ("4", "1024")] {
            session.set("threads", threads).unwrap();
            session.set("batch_rows", batch_rows).unwrap();
            for table in ["made", "d.made"] {
                run(&session, &format!("CREATE TABLE {table} AS {source}"));
                run(&session, &format!("INSERT INTO {table} SELECT i, NULL FROM {table}"));
                session.set("threads", "1").unwrap();
                let found = rows(&session, &format!("FROM {table}"));
                session.set("threads", threads).unwrap();
                let (first, second) = found.split_at(expected.len());
                assert!(first == expected, "{table} {threads} {batch_rows} {source}");
                let same = second.iter().zip(&expected).all(|(a, b)| a[0] == b[0]);
                assert!(same && second.len() == expected.len(), "{table} {source}");
                run(&session, &format!("DROP TABLE {table}"));
            }
            let copy = file("copy.parquet");
            run(&session, &format!("COPY ({source}) TO '{copy}'"));
            session.set("threads", "1").unwrap();
            assert!(rows(&session, &format!("FROM '{copy}'")) == expected, "COPY {source}");
            fs::remove_file(copy).unwrap();
        }
    }
}

#[test]
fn the_order_is_kept_by_operators_that_aggregations_do_without() {
    let session = Session::new().unwrap();
    session.set("threads", "4").unwrap();
    make(&session, "t");
    let plan = |sql: &str| {
        let lines = rows(&session, &format!("EXPLAIN ANALYZE {sql}"));
        lines.iter().map(|it| it[0].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    };
    for sql in ["FROM t", "SELECT i FROM t LIMIT 4000", "SELECT sum(i) FROM (FROM t LIMIT 4000)"] {
        let text = plan(sql);
        assert!(text.contains("ordered exchange receiver"), "{sql}:\n{text}");
    }
    let sums = ["SELECT sum(i) FROM t", "SELECT i % 2, count(*) FROM t GROUP BY 1"];
    for sql in sums.into_iter().chain(["FROM t ORDER BY t"]) {
        let text = plan(sql);
        assert!(!text.contains("ordered exchange"), "{sql}:\n{text}");
    }
    session.set("preserve_insertion_order", "off").unwrap();
    let text = plan("SELECT i FROM t LIMIT 4000");
    assert!(!text.contains("ordered exchange"), "{text}");
}
