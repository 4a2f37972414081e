//! How windows are computed: shared sorts, frames, and rows that are dropped early.

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
    session.set("disabled_rules", "aggregate_partitions").unwrap();
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
fn whole_partitions_are_grouped_instead() {
    let session = session("2");
    let calls = "sum(i) OVER (PARTITION BY g), count(*) OVER (), avg(i) OVER (PARTITION BY g)";
    let sql = format!("SELECT i, {calls} FROM t ORDER BY i");
    let (grouped, statistics) = run(&session, &sql);
    assert_eq!(rows_in(&statistics), 0);
    session.set("disabled_rules", "aggregate_partitions").unwrap();
    let (rows, statistics) = run(&session, &sql);
    assert!(rows_in(&statistics) > 0);
    assert_eq!(grouped, rows);
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

/// The plan of a query.
fn explain(session: &Session, sql: &str) -> String {
    let mut result = session.sql(&format!("EXPLAIN {sql}")).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = result.next().unwrap() {
        rows.extend(batch.columns().iter().map(|it| it.to_values().unwrap()));
    }
    rows.iter().flatten().map(|it| format!("{it:?}\n")).collect()
}

/// Calls over one window that look at rows in every way.
const CALLS: [&str; 14] = [
    "row_number() OVER w",
    "rank() OVER w, dense_rank() OVER w",
    "percent_rank() OVER w, cume_dist() OVER w, ntile(7) OVER w",
    "lag(i) OVER w, lead(i, 3, -1) OVER w, lag(i, -2) OVER w",
    "lag(n, 2) IGNORE NULLS OVER w",
    "lag(i, i % 3) OVER w",
    "first_value(i) OVER w, last_value(i) OVER w, nth_value(i, 4) OVER w",
    "sum(i) OVER w, count(n) OVER w, min(t) OVER w",
    "sum(i) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "max(i) OVER (w ROWS BETWEEN 5 PRECEDING AND 2 FOLLOWING)",
    "sum(i) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "count(*) OVER (w GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES)",
    "sum(n) FILTER (WHERE i % 2 = 0) OVER w, count(DISTINCT n) OVER w",
    "array_agg(n) OVER (w ROWS 3 PRECEDING)",
];

/// Sorted rows of `t`, some with nulls, and windows over them that need no sort of their own.
const SORTED: [(&str, &str); 5] = [
    ("SELECT * FROM u ORDER BY g, i", "PARTITION BY g ORDER BY i"),
    (
        "SELECT * FROM u ORDER BY g DESC NULLS FIRST, n DESC NULLS LAST, i",
        "PARTITION BY g ORDER BY n DESC NULLS LAST, i",
    ),
    ("SELECT * FROM u ORDER BY n NULLS FIRST, i", "ORDER BY n NULLS FIRST, i"),
    ("SELECT * FROM u ORDER BY t, g, i LIMIT 390", "PARTITION BY g, t ORDER BY i"),
    (
        "SELECT s AS i, s // 100 AS g, nullif(s % 3, 0) AS n, 'x' || s AS t \
      FROM generate_series(1, 390) AS x(s)",
        "ORDER BY i",
    ),
];

#[test]
fn sorted_rows_are_not_sorted_again_and_answers_are_the_same() {
    for (threads, batch_rows, spills) in
        [("1", "1", "off"), ("3", "3", "on"), ("2", "1024", "off"), ("2", "1024", "on")]
    {
        let session = session(threads);
        let made = "CREATE TABLE u AS SELECT i, nullif(g, 9) AS g, nullif(i % 7, 3) AS n, \
                    'text of ' || (i % 11) AS t FROM t WHERE i % 25 = 0";
        while session.sql(made).unwrap().next().unwrap().is_some() {}
        session.set("batch_rows", batch_rows).unwrap();
        session.set("debug_spill_always", spills).unwrap();
        for (rows, window) in SORTED {
            for calls in CALLS {
                let sql = format!(
                    "SELECT i, {calls} FROM ({rows}) s WINDOW w AS ({window}) ORDER BY i, 2"
                );
                session.set("disabled_rules", "").unwrap();
                let (found, statistics) = run(&session, &sql);
                assert!(statistics.total("rows sorted before") >= 390, "{sql}");
                assert_eq!(statistics.total("sorts"), 0, "{sql}");
                session.set("disabled_rules", "keep_orders,share_sorts").unwrap();
                let (twin, statistics) = run(&session, &sql);
                assert_eq!(statistics.total("rows sorted before"), 0, "{sql}");
                assert!(found == twin, "{sql}, threads {threads}, batches of {batch_rows}");
            }
        }
    }
}

#[test]
fn one_sort_serves_windows_of_fewer_keys() {
    let calls = "rank() OVER (PARTITION BY g ORDER BY j), \
                 sum(i) OVER (PARTITION BY j, g ORDER BY i), \
                 count(*) OVER (PARTITION BY g)";
    let sql = format!("SELECT i, {calls} FROM (SELECT i, g, i % 50 AS j FROM t) s ORDER BY i");
    for threads in ["1", "3"] {
        let session = session(threads);
        let plan = explain(&session, &sql);
        assert_eq!(plan.matches("Window").count(), 2, "{plan}");
        assert_eq!(plan.matches(" sorted calls").count(), 1, "{plan}");
        assert_eq!(
            plan.matches("LocalExchange hash").count(),
            usize::from(threads != "1"),
            "{plan}"
        );
        let (found, _) = run(&session, &sql);
        session.set("disabled_rules", "keep_orders,share_sorts").unwrap();
        assert_eq!(explain(&session, &sql).matches(" sorted calls").count(), 0);
        assert!(run(&session, &sql).0 == found);
    }
}

#[test]
fn sorts_of_sorted_rows_are_left_out() {
    let session = session("2");
    let sorts = |sql: &str| explain(&session, sql).matches("OrderBy").count();
    assert_eq!(sorts("SELECT i, row_number() OVER (ORDER BY i) FROM t ORDER BY i"), 0);
    assert_eq!(sorts("SELECT i, row_number() OVER (ORDER BY i) FROM t ORDER BY i DESC"), 1);
    assert_eq!(sorts("SELECT i, row_number() OVER (ORDER BY i) FROM t ORDER BY i NULLS FIRST"), 1);
    assert_eq!(sorts("SELECT * FROM generate_series(1, 10) AS x(s) ORDER BY s"), 0);
    assert_eq!(sorts("SELECT * FROM generate_series(10, 1, -1) AS x(s) ORDER BY s DESC"), 0);
    assert_eq!(sorts("SELECT * FROM generate_series(10, 1, -1) AS x(s) ORDER BY s"), 1);
    // Several rows make a series each.
    assert_eq!(sorts("SELECT s FROM t, generate_series(1, g) AS x(s) ORDER BY s"), 1);
    assert_eq!(sorts("SELECT * FROM (SELECT i FROM t ORDER BY i) s WHERE i > 3 ORDER BY i"), 1);
    let both = "(SELECT i FROM t ORDER BY i) UNION ALL (SELECT i FROM t ORDER BY i)";
    assert_eq!(sorts(&format!("SELECT * FROM ({both}) s ORDER BY i")), 3);
    let plan = explain(&session, "SELECT row_number() OVER () FROM generate_series(1, 9) LIMIT 3");
    assert!(plan.contains("Window sorted"), "{plan}");
}

#[test]
fn windows_over_series_hold_few_rows() {
    let session = session("2");
    session.set("memory_limit", "24MiB").unwrap();
    session.set("max_spill_size", "0B").unwrap();
    let sql = "SELECT max(a), max(b), sum(c), max(d) FROM (SELECT row_number() OVER w AS a, \
               sum(s) OVER w AS b, lag(s, 3) OVER w AS c, \
               max(s) OVER (ORDER BY s ROWS 100 PRECEDING) AS d \
               FROM generate_series(1, 3000000) AS x(s) \
               WINDOW w AS (ORDER BY s ROWS UNBOUNDED PRECEDING)) q";
    let (rows, statistics) = run(&session, sql);
    assert_eq!(statistics.total("rows sorted before"), 3_000_000);
    assert!(statistics.total("window pieces") > 10);
    let n = 3_000_000i64;
    let sum = n * (n + 1) / 2;
    let text: Vec<String> = rows[0].iter().map(|it| format!("{it:?}")).collect();
    for (text, number) in text.iter().zip([n, sum, sum - (3 * n - 3), n]) {
        assert!(text.contains(&format!("({number})")), "{text} is not {number}");
    }
}
