//! Queries with and without dynamic filters of scans.

mod joins;
mod keys;
mod top_n;

use volley::{Session, Value};

/// The rows of a query, and a counter of its scans.
fn run(session: &Session, sql: &str, counter: &str) -> (Vec<String>, u64) {
    let mut result = session.sql(sql).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = result.next().unwrap() {
        let columns: Vec<Vec<Value>> =
            batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        let row =
            |row: usize| format!("{:?}", columns.iter().map(|it| &it[row]).collect::<Vec<_>>());
        rows.extend((0..batch.rows()).map(row));
    }
    (rows, result.statistics().unwrap().total(counter))
}

/// Runs a query with and without dynamic filters, in several ways, and compares its rows, their
/// order too if it `is_ordered`; what `counter` counted with filters.
#[track_caller]
fn dropped_rows(session: &Session, sql: &str, counter: &str, is_ordered: bool) -> u64 {
    let run = || {
        let (mut rows, count) = run(session, sql, counter);
        if !is_ordered {
            rows.sort();
        }
        (rows, count)
    };
    let mut dropped = 0;
    for (threads, batch_rows) in [("1", "1024"), ("2", "1024"), ("4", "3"), ("2", "1")] {
        session.set("threads", threads).unwrap();
        session.set("batch_rows", batch_rows).unwrap();
        session.set("dynamic_filters", "off").unwrap();
        let (expected, none) = run();
        session.set("dynamic_filters", "on").unwrap();
        let (rows, with) = run();
        assert_eq!(rows, expected, "{sql} with {threads} threads and batches of {batch_rows}");
        assert_eq!(none, 0, "{sql}");
        dropped += with;
    }
    dropped
}
