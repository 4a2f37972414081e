//! How windows are computed: what is sorted once, what answers for frames, what is left out early.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use volley::{Session, TaskStatistics, Value};

/// 10,000 rows: `i` counts from 0, `g` has 10 values.
fn session(threads: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", threads).unwrap();
    let folder = Path::new("../../tests/data");
    let numbers = folder.join("numbers.parquet");
    let sql = format!(
        "CREATE TABLE t AS SELECT a.r * 100 + b.r AS i, b.r % 10 AS g \
         FROM '{0}' a, '{0}' b WHERE a.r < 100 AND b.r < 100",
        numbers.display(),
    );
    while session.sql(&sql).unwrap().next().unwrap().is_some() {}
    session
}

/// Runs a query; its rows, and what was counted.
fn run(session: &Session, sql: &str) -> (Vec<Vec<Value>>, TaskStatistics) {
    let mut result = session.sql(sql).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = result.next().unwrap() {
        let columns: Vec<Vec<Value>> =
            batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        rows.extend(
            (0..batch.rows())
                .map(|row| columns.iter().map(|it| it[row].clone()).collect::<Vec<Value>>()),
        );
    }
    (rows, result.statistics().unwrap())
}

/// The rows that window operators take.
fn rows_in(statistics: &TaskStatistics) -> u64 {
    let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
    operators.filter(|it| it.name == "window").map(|it| it.total().rows_in).sum()
}

#[test]
fn windows_whose_orders_begin_alike_are_sorted_once() {
    let session = session("1");
    let sorts = |sql: &str| run(&session, sql).1.total("sorts");
    let calls = "sum(i) OVER (PARTITION BY g ORDER BY i), \
                 rank() OVER (PARTITION BY g ORDER BY i, -i), \
                 count(*) OVER (PARTITION BY g)";
    assert_eq!(sorts(&format!("SELECT {calls} FROM t")), 1);
    let other = "row_number() OVER (PARTITION BY g ORDER BY i DESC)";
    assert_eq!(sorts(&format!("SELECT {calls}, {other} FROM t")), 2);
    assert_eq!(sorts("SELECT row_number() OVER () FROM t"), 0);
}

#[test]
fn frames_are_answered_in_the_cheapest_way() {
    let session = session("2");
    let counted = |call: &str, name: &str| {
        let statistics = run(&session, &format!("SELECT {call} FROM t")).1;
        let all = ["running frames", "tree frames", "listed frames"];
        let others: u64 = all.iter().filter(|it| **it != name).map(|it| statistics.total(it)).sum();
        assert_eq!(others, 0, "{call}");
        statistics.total(name)
    };
    assert_eq!(counted("sum(i) OVER (PARTITION BY g ORDER BY i)", "running frames"), 10_000);
    // One frame per partition.
    assert_eq!(counted("sum(i) OVER (PARTITION BY g)", "running frames"), 10);
    assert_eq!(counted("count(DISTINCT i) OVER (PARTITION BY g)", "running frames"), 10);
    let sliding = "OVER (PARTITION BY g ORDER BY i ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING)";
    assert_eq!(counted(&format!("max(i) {sliding}"), "tree frames"), 10_000);
    assert_eq!(counted(&format!("array_agg(i) {sliding}"), "listed frames"), 10_000);
    assert_eq!(counted(&format!("count(DISTINCT i) {sliding}"), "listed frames"), 10_000);
    assert_eq!(counted(&format!("first_value(i) {sliding}"), "tree frames"), 0);
}

#[test]
fn limits_of_ranks_and_filters_of_partitions_go_below_windows() {
    let session = session("1");
    let numbered = "SELECT i, g, row_number() OVER (PARTITION BY g ORDER BY i) AS n FROM t";
    let (rows, statistics) = run(&session, &format!("SELECT i FROM ({numbered}) s WHERE n <= 3"));
    assert_eq!(rows.len(), 30);
    assert_eq!(statistics.total("rows cut"), 10_000 - 30);
    session.set("disabled_rules", "limit_windows").unwrap();
    let (same, statistics) = run(&session, &format!("SELECT i FROM ({numbered}) s WHERE n <= 3"));
    assert_eq!((same, statistics.total("rows cut")), (rows, 0));
    let (rows, statistics) = run(&session, &format!("SELECT i, n FROM ({numbered}) s WHERE g = 4"));
    assert_eq!((rows.len(), rows_in(&statistics)), (1000, 1000));
    let summed = "SELECT i, g, sum(i) OVER (ORDER BY i) AS n FROM t";
    let (rows, statistics) = run(&session, &format!("SELECT n FROM ({summed}) s WHERE g = 4"));
    assert_eq!((rows.len(), rows_in(&statistics)), (1000, 10_000));
}
