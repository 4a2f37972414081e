//! Statements that change tables with several drivers: who writes, what is left after failures, and
//! what RETURNING holds.

use std::sync::{Arc, OnceLock, Weak};
use volley::{ErrorKind, Session, Settings, Value, function::FunctionDoc, function::simple};

/// Rows of the batches of a table in memory. None is merged with the one before, so that each is a
/// split of its own.
const BATCHES: [i64; 5] = [4000, 1500, 600, 250, 100];

/// The rows of the table.
const ROWS: i64 = 6450;

fn run(session: &Session, sql: &str) {
    session.sql(sql).unwrap().collect().unwrap();
}

fn values(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    session.sql(sql).unwrap().collect_values().unwrap()
}

fn numbers(session: &Session, sql: &str) -> Vec<i128> {
    values(session, sql)[0].iter().map(|it| it.as_i128().unwrap_or(-1)).collect()
}

fn error(session: &Session, sql: &str) -> volley::Error {
    match session.sql(sql).and_then(|it| it.collect()) {
        Ok(_) => panic!("no error: {sql}"),
        Err(error) => error,
    }
}

fn session(threads: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", threads).unwrap();
    session.set("batch_rows", "64").unwrap();
    session
}

/// Makes a table in memory with ids from 0 and a number and text in each row.
fn make(session: &Session, table: &str) {
    run(session, &format!("CREATE TABLE {table} (i BIGINT PRIMARY KEY, n BIGINT, t VARCHAR)"));
    let mut start = 0;
    for rows in BATCHES {
        let end = start + rows;
        let source =
            format!("SELECT range, range % 10, 'text ' || range FROM range({start}, {end})");
        run(session, &format!("INSERT INTO {table} {source}"));
        start = end;
    }
}

/// A table of two segments in a database of its own in `folder`.
fn make_native(session: &Session, folder: &std::path::Path) {
    run(session, &format!("ATTACH '{}' AS d", folder.join("d").display()));
    run(session, "CREATE TABLE d.t (i BIGINT, n BIGINT, t VARCHAR)");
    for (start, end) in [(0, 70_000), (70_000, 140_000)] {
        let source =
            format!("SELECT range, range % 10, 'text ' || range FROM range({start}, {end})");
        run(session, &format!("INSERT INTO d.t {source}"));
    }
}

/// How many drivers have an operator, as EXPLAIN ANALYZE of a statement says.
fn drivers_of(session: &Session, operator: &str, sql: &str) -> usize {
    let lines = values(session, &format!("EXPLAIN ANALYZE {sql}"));
    let text: Vec<&str> = lines.iter().filter_map(|it| it[0].as_str()).collect();
    let line = text.iter().find(|it| it.trim_start().starts_with(&format!("{operator}:")));
    let line = line.unwrap_or_else(|| panic!("no {operator}:\n{}", text.join("\n")));
    let count = line.split("drivers ").nth(1).and_then(|it| it.split(';').next());
    count.and_then(|it| it.trim().parse().ok()).unwrap()
}

#[test]
fn every_driver_writes_to_a_sink_of_its_own() {
    let session = session("4");
    make(&session, "t");
    run(&session, "CREATE TABLE copy (i BIGINT, n BIGINT CHECK (n < 1000), t VARCHAR NOT NULL)");
    let statements = [
        ("INSERT INTO copy FROM t", 4),
        ("UPDATE copy SET n = n + 1", 4),
        ("UPDATE t SET n = n + 1, t = upper(t) WHERE i % 2 = 0", 4),
        ("MERGE INTO t USING copy ON t.i = copy.i WHEN MATCHED THEN UPDATE SET n = copy.n", 4),
        ("DELETE FROM copy WHERE i % 2 = 0", 4),
    ];
    for (sql, expected) in statements {
        assert_eq!(drivers_of(&session, "table write", sql), expected, "{sql}");
    }
    // EXPLAIN ANALYZE ran them, EXPLAIN does not.
    let plan = values(&session, "EXPLAIN DELETE FROM copy");
    assert!(plan[0][0].as_str().unwrap().contains("TableWrite table 'copy'"), "{plan:?}");
    let plan = values(&session, "EXPLAIN UPDATE copy SET n = 1, t = 'x'");
    let first = plan[0][0].as_str().unwrap();
    let checks = "checks=[null in a column that is NOT NULL: t, \
                  CHECK constraint is not satisfied: n < 1000]";
    assert!(first.contains(checks), "{first}");
    assert_eq!(numbers(&session, "SELECT count(*), min(i % 2) FROM copy"), [3225, 1]);
    let sums = numbers(&session, "SELECT count(*), sum(n) - sum(i % 10 + 1) FROM t");
    assert_eq!(sums, [i128::from(ROWS), 0]);
    let folder = tempfile::tempdir().unwrap();
    make_native(&session, folder.path());
    for sql in ["UPDATE d.t SET n = n + 1 WHERE i % 8 = 0", "DELETE FROM d.t WHERE i % 8 = 1"] {
        assert!(drivers_of(&session, "table write", sql) >= 2, "{sql}");
    }
    let found = numbers(&session, "SELECT count(*), sum(n) FROM d.t");
    assert_eq!(found, [122_500, 560_000]);
}

#[test]
fn a_failure_in_the_middle_leaves_the_table_as_it_was() {
    let session = session("4");
    make(&session, "t");
    let folder = tempfile::tempdir().unwrap();
    make_native(&session, folder.path());
    let sum = "SELECT count(*), sum(n), min(i), max(i), count(DISTINCT t) FROM";
    for (table, row) in [("t", 5555), ("d.t", 111_111)] {
        let before = numbers(&session, &format!("{sum} {table}"));
        let misfit = format!("CAST(CASE WHEN i = {row} THEN 'x' ELSE '7' END AS BIGINT)");
        let failing = [
            format!("UPDATE {table} SET n = {misfit}"),
            format!("DELETE FROM {table} WHERE {misfit} = 7"),
            format!("INSERT INTO {table} SELECT i + 1000000, {misfit}, t FROM {table}"),
            format!("UPDATE {table} SET n = 0 RETURNING {misfit}"),
            format!("DELETE FROM {table} RETURNING {misfit}"),
            format!(
                "MERGE INTO {table} a USING {table} b ON a.i = b.i \
                 WHEN MATCHED AND b.i % 2 = 0 THEN DELETE \
                 WHEN MATCHED THEN UPDATE SET n = {}",
                misfit.replace(" i ", " b.i ")
            ),
        ];
        for sql in failing {
            assert_eq!(error(&session, &sql).kind(), ErrorKind::InvalidValue, "{sql}");
            assert_eq!(numbers(&session, &format!("{sum} {table}")), before, "{sql}");
        }
        // In a transaction, too, whose other changes are lost with it.
        run(&session, "BEGIN");
        run(&session, &format!("UPDATE {table} SET n = 1 WHERE i < 100"));
        error(&session, &format!("UPDATE {table} SET n = {misfit}"));
        run(&session, "ROLLBACK");
        assert_eq!(numbers(&session, &format!("{sum} {table}")), before);
    }
}

#[test]
fn statements_see_the_rows_as_they_were() {
    let session = session("4");
    make(&session, "t");
    let folder = tempfile::tempdir().unwrap();
    make_native(&session, folder.path());
    for (table, rows) in [("t", ROWS), ("d.t", 140_000)] {
        run(
            &session,
            &format!("DELETE FROM {table} WHERE i IN (SELECT i FROM {table} WHERE n = 3)"),
        );
        let left = i128::from(rows - rows / 10);
        assert_eq!(numbers(&session, &format!("SELECT count(*) FROM {table}")), [left]);
        run(&session, &format!("UPDATE {table} SET n = b.i FROM {table} b WHERE {table}.i = b.i"));
        run(&session, &format!("UPDATE {table} SET n = (SELECT max(n) FROM {table}) WHERE n < 9"));
        let found = numbers(&session, &format!("SELECT max(n), count(*) FROM {table} WHERE i < 9"));
        assert_eq!(found, [i128::from(rows - 1), 8]);
        run(&session, &format!("INSERT INTO {table} SELECT i + {rows}, n, t FROM {table}"));
        assert_eq!(numbers(&session, &format!("SELECT count(*) FROM {table}")), [left * 2]);
    }
}

#[test]
fn a_cancel_in_the_middle_leaves_the_table_as_it_was() {
    let owner: Arc<OnceLock<Weak<Session>>> = Arc::default();
    let cancelled = Arc::clone(&owner);
    let at = simple::scalar(move |row: i64| {
        if row == 5555
            && let Some(session) = cancelled.get().and_then(Weak::upgrade)
        {
            session.cancel();
        }
        row
    });
    let session = Session::builder()
        .settings(Settings { threads: 4, batch_rows: 64, ..Settings::default() })
        .extend(|it| {
            it.simple("cancel_at_5555", FunctionDoc::default(), at.nondeterministic());
        })
        .build()
        .unwrap();
    let session = Arc::new(session);
    owner.set(Arc::downgrade(&session)).unwrap();
    make(&session, "t");
    session.wait_released();
    let held = session.pool().stats().bytes;
    for sql in [
        "UPDATE t SET n = cancel_at_5555(i)",
        "DELETE FROM t WHERE cancel_at_5555(i) >= 0",
        "INSERT INTO t SELECT cancel_at_5555(i) + 1000000, n, t FROM t",
        "DELETE FROM t RETURNING cancel_at_5555(i)",
    ] {
        assert_eq!(error(&session, sql).kind(), ErrorKind::Cancelled, "{sql}");
        let found = numbers(&session, "SELECT count(*), sum(n) FROM t");
        assert_eq!(found, [i128::from(ROWS), 29_025], "{sql}");
        session.wait_released();
        assert_eq!(session.pool().stats().bytes, held, "{sql}");
    }
}

#[test]
fn a_memory_limit_in_the_middle_leaves_the_table_as_it_was() {
    let session = session("4");
    make(&session, "t");
    session.wait_released();
    let held = session.pool().stats().bytes;
    session.pool().set_limit(Some(held + (2 << 20)));
    for sql in [
        "UPDATE t SET t = repeat(t, 1000)",
        "INSERT INTO t SELECT i + 1000000, n, repeat(t, 1000) FROM t",
        "MERGE INTO t USING (SELECT i, repeat(t, 1000) AS l FROM t) s ON t.i = s.i \
         WHEN MATCHED THEN UPDATE SET t = s.l",
    ] {
        assert_eq!(error(&session, sql).kind(), ErrorKind::OutOfMemory, "{sql}");
        session.wait_released();
        assert_eq!(session.pool().stats().bytes, held, "{sql}");
    }
    session.pool().set_limit(None);
    let found = numbers(&session, "SELECT count(*), sum(n), max(length(t)) FROM t");
    assert_eq!(found, [i128::from(ROWS), 29_025, 9]);
}

#[test]
fn an_update_takes_the_new_column_and_what_changes() {
    let session = session("4");
    let rows = 1_000_000_i64;
    run(&session, "RESET batch_rows");
    run(&session, &format!("CREATE TABLE t AS SELECT range AS a, range AS b FROM range({rows})"));
    session.wait_released();
    let column = rows as usize * 8;
    // The old table is held. Ids, values, where they go, and the new column.
    session.pool().set_limit(Some(session.pool().stats().bytes + column * 7 + (16 << 20)));
    run(&session, "UPDATE t SET b = b + 1");
    run(&session, "DELETE FROM t WHERE a % 2 = 0");
    let found = numbers(&session, "SELECT count(*), sum(b - a) FROM t");
    assert_eq!(found, [i128::from(rows / 2), i128::from(rows / 2)]);
}

#[test]
fn rows_of_returning_are_held_on_disk_until_the_statement_has_succeeded() {
    let session = session("2");
    make(&session, "t");
    session.wait_released();
    let held = session.pool().stats().bytes;
    // Each row of RETURNING has 20,000 bytes: 129 MB.
    session.pool().set_limit(Some(held + (40 << 20)));
    let on_disk = || session.spill_space().stats().bytes;
    let mut result =
        session.sql("UPDATE t SET n = n + 1 RETURNING i, repeat('0123456789', 2000 + n)").unwrap();
    assert!(on_disk() > 0, "nothing was written to disk");
    assert!(session.pool().stats().bytes < held + (20 << 20), "rows are held in memory");
    // The statement is complete before its rows are read.
    assert_eq!(numbers(&session, "SELECT sum(n) FROM t"), [29_025 + i128::from(ROWS)]);
    let mut ids = Vec::new();
    while let Some(batch) = result.next().unwrap() {
        for row in 0..batch.rows() {
            ids.push(batch.column(0).value(row).unwrap().as_i128().unwrap());
            let text = batch.column(1).value(row).unwrap();
            assert_eq!(text.as_str().unwrap().len() / 10, 2001 + ids[ids.len() - 1] as usize % 10);
        }
    }
    assert_eq!(ids, (0..i128::from(ROWS)).collect::<Vec<_>>(), "in the order of the table");
    drop(result);
    assert_eq!(on_disk(), 0, "files are left");
    // Nothing is left of one that fails at its end, or is not read.
    let failing = "DELETE FROM t RETURNING repeat('0123456789', 2000), \
                   CAST(CASE WHEN i = 6449 THEN 'x' END AS BIGINT)";
    assert_eq!(error(&session, failing).kind(), ErrorKind::InvalidValue);
    assert_eq!(on_disk(), 0, "files are left of a failure");
    drop(session.sql("DELETE FROM t RETURNING repeat('0123456789', 2000)").unwrap());
    assert_eq!(on_disk(), 0, "files are left of a result that was not read");
    assert_eq!(numbers(&session, "SELECT count(*) FROM t"), [0]);
}
