//! Queries that run as several tasks: the same answers, the true cause of a failure, nothing left.

use std::fs;
use volley::{ErrorKind, Session, Value};

const ROWS: usize = 20_000;

/// A session whose table `t` has several splits, and `u` a few rows.
pub(crate) fn session(tasks: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.set("batch_rows", "256").unwrap();
    let make = format!(
        "CREATE TABLE t AS SELECT i AS n, i % 97 AS k, 'v' || (i % 13) AS s \
         FROM range({ROWS}) r(i)"
    );
    session.sql(&make).unwrap();
    for part in 0..5 {
        let insert = format!(
            "INSERT INTO t SELECT {ROWS} + {part} * 1000 + i, i % 89, NULL FROM range(1000) r(i)"
        );
        session.sql(&insert).unwrap();
    }
    session.sql("CREATE TABLE u AS SELECT i AS k, i * 10 AS w FROM range(50) r(i)").unwrap();
    session.set("tasks", tasks).unwrap();
    session
}

pub(crate) fn values(session: &Session, sql: &str) -> Vec<Vec<Value>> {
    let result = session.sql(sql).and_then(|it| it.collect_values());
    result.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn text(session: &Session, sql: &str) -> String {
    let rows = values(session, sql).into_iter().flatten();
    rows.map(|it| format!("{it:?}\n")).collect()
}

/// Queries with one order of rows.
pub(crate) const QUERIES: &[&str] = &[
    "SELECT count(*), sum(n), min(s), avg(k) FROM t",
    "SELECT k, count(*), sum(n) FROM t GROUP BY k ORDER BY k",
    "SELECT k, count(DISTINCT s), string_agg(s, ',' ORDER BY n) FROM t WHERE n < 900 GROUP BY k \
     ORDER BY 1",
    "SELECT n, s FROM t ORDER BY n DESC LIMIT 7 OFFSET 3",
    "SELECT n FROM t ORDER BY s NULLS FIRST, n",
    "SELECT count(*) FROM (SELECT n FROM t LIMIT 100)",
    "SELECT t.n, u.w FROM t JOIN u ON t.k = u.k ORDER BY n LIMIT 50",
    "SELECT t.k, max(u.w) FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k ORDER BY 1",
    "SELECT u.k, count(t.n) FROM t RIGHT JOIN u ON t.k = u.k AND t.n < 100 GROUP BY u.k ORDER BY 1",
    "SELECT count(*) FROM t FULL JOIN u ON t.n = u.w",
    "SELECT count(*) FROM t a JOIN t b ON a.n = b.n JOIN t c ON b.n = c.n",
    "SELECT count(*) FROM t WHERE k NOT IN (SELECT k FROM u)",
    "SELECT count(*) FROM t WHERE s NOT IN (SELECT s FROM t WHERE n > 20500)",
    "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.w > t.n)",
    "SELECT count(*) FROM t, u WHERE t.n < u.w",
    "SELECT k, n FROM (SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n) r FROM t) \
     WHERE r = 2 ORDER BY k",
    "SELECT max(total) FROM (SELECT sum(n) OVER (ORDER BY n) total FROM t)",
    "SELECT DISTINCT s FROM t ORDER BY s",
    "SELECT k FROM t INTERSECT SELECT w FROM u ORDER BY 1",
    "SELECT n FROM t EXCEPT ALL SELECT k FROM u ORDER BY 1 LIMIT 10",
    "SELECT k, sum(n) FROM (SELECT k, n FROM t UNION ALL SELECT k, w FROM u) GROUP BY k ORDER BY k",
    "WITH c AS (SELECT k, sum(n) AS total FROM t GROUP BY k) \
     SELECT a.k, a.total FROM c a JOIN c b ON a.total = b.total \
     WHERE a.total > (SELECT avg(total) FROM c) ORDER BY 1",
    "WITH RECURSIVE r(i) AS (SELECT min(n) FROM t UNION ALL SELECT i + 1 FROM r WHERE i < 20) \
     SELECT count(*), sum(i) FROM r JOIN t ON r.i = t.n",
    "SELECT k, s, count(*) FROM t GROUP BY GROUPING SETS ((k), (s), ()) ORDER BY 1, 2, 3",
    "SELECT (SELECT max(w) FROM u WHERE u.k = t.k), count(*) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT count(*), sum(x) FROM t, UNNEST([n, k]) v(x)",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v ORDER BY 1",
    "SELECT count(*) FROM t WHERE false",
    "SELECT sum(n) FROM t WHERE n < 0",
];

#[test]
fn answers_are_those_of_one_task() {
    let expected = session("1");
    for (tasks, pages, page_size) in [
        ("4", "batches", "1MiB"),
        ("3", "bytes", "100B"),
        ("4", "packed", "4KiB"),
        ("2", "arrow", "1KiB"),
        ("64", "batches", "64KiB"),
    ] {
        let session = session(tasks);
        session.set("exchange_pages", pages).unwrap();
        session.set("exchange_page_size", page_size).unwrap();
        for sql in QUERIES {
            assert_eq!(values(&session, sql), values(&expected, sql), "{tasks} tasks: {sql}");
        }
    }
}

#[test]
fn answers_hold_with_any_of_the_expansions() {
    for tasks in ["1", "3"] {
        let (expected, expanded) = (session(tasks), session(tasks));
        let all = "radix_joins,join_sequences,partitioned_groups";
        for expansions in ["radix_joins", "partitioned_groups", "build_probe", all] {
            expanded.set("expansions", expansions).unwrap();
            for sql in QUERIES {
                let found = values(&expanded, sql);
                assert_eq!(found, values(&expected, sql), "{tasks} tasks, {expansions}: {sql}");
            }
        }
        let groups = "SELECT k, sum(n) FROM t GROUP BY k";
        let plan = text(&expanded, &format!("EXPLAIN (DISTRIBUTED) {groups}"));
        assert!(plan.contains("NestedMap") && plan.contains("Partition radix(#0"), "{plan}");
    }
    let error = session("1").set("expansions", "radix_join").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

/// Rows that cross the exchanges of a query, by what EXPLAIN ANALYZE says.
fn sent_rows(plan: &str) -> usize {
    let counts = plan.split("exchange: ").skip(1).filter_map(|it| it.split(' ').next());
    counts.map(|it| it.parse::<usize>().unwrap()).sum()
}

#[test]
fn keys_of_joins_filter_scans_of_other_tasks() {
    let session = session("3");
    session.set("disabled_rules", "broadcast_joins,replicated_builds").unwrap();
    let sql = "SELECT count(*) FROM t a JOIN t b ON a.n = b.n WHERE b.k = 5";
    let expected = values(&session, "SELECT count(*) FROM t WHERE k = 5");
    let plan = |filters: &str| {
        session.set("dynamic_filters", filters).unwrap();
        assert_eq!(values(&session, sql), expected);
        text(&session, &format!("EXPLAIN ANALYZE {sql}"))
    };
    let (with, without) = (plan("true"), plan("false"));
    assert!(with.contains("dynamic filter of fragment "), "{with}");
    assert!(!without.contains("dynamic filter of fragment "), "{without}");
    assert!(sent_rows(&with) + 10_000 < sent_rows(&without), "{with}\n{without}");
}

#[test]
fn answers_hold_without_any_of_the_rules() {
    let (one, several) = (session("1"), session("3"));
    let rules = [
        "local_joins",
        "broadcast_joins",
        "replicated_builds",
        "distribution_search",
        "groups_below_exchanges",
        "sort_below_exchanges",
        "limit_below_exchanges",
    ];
    let all = rules.join(",");
    for disabled in rules.iter().copied().chain([all.as_str()]) {
        several.set("disabled_rules", disabled).unwrap();
        for sql in QUERIES {
            assert_eq!(values(&several, sql), values(&one, sql), "without {disabled}: {sql}");
        }
    }
}

#[test]
fn fragments_are_shown() {
    let session = session("4");
    let plan = text(&session, "EXPLAIN (DISTRIBUTED) SELECT k, sum(n) FROM t GROUP BY k");
    assert!(plan.contains("fragment 2 tasks=one"), "{plan}");
    assert!(plan.contains("fragment 1 tasks=all -> fragment 2 gather"), "{plan}");
    assert!(plan.contains("fragment 0 tasks=all -> fragment 1 hash [#0]"), "{plan}");
    assert!(plan.contains("PageSource fragment 0"), "{plan}");
    assert_eq!(
        plan,
        text(&session, "EXPLAIN (TYPE DISTRIBUTED) SELECT k, sum(n) FROM t GROUP BY k")
    );
    session.set("tasks", "1").unwrap();
    let plan = text(&session, "EXPLAIN (DISTRIBUTED) SELECT k, sum(n) FROM t GROUP BY k");
    assert!(plan.contains("fragment 0 tasks=one") && !plan.contains("PageSource"), "{plan}");
}

#[test]
fn diagrams_and_profiles_have_the_nodes_and_rows_of_all_tasks() {
    let session = session("4");
    let explain = |options: &str| {
        let sql = format!("EXPLAIN ({options}) SELECT k, sum(n) FROM t GROUP BY k");
        let lines = values(&session, &sql).into_iter().flatten();
        let line = |it| match it {
            Value::Varchar(line) => format!("{line}\n"),
            other => panic!("{other:?}"),
        };
        lines.map(line).collect::<String>()
    };
    let dot = explain("DISTRIBUTED, FORMAT dot");
    for part in ["subgraph cluster_0 {", "label = \"fragment 1 tasks=all", "subgraph cluster_2 {"] {
        assert!(dot.contains(part), "{dot}");
    }
    let svg = explain("DISTRIBUTED, FORMAT svg");
    assert!(svg.contains(">fragment 0</text>") && svg.contains("<path class=\"edge"), "{svg}");
    // Each page source reads the root of another fragment: the plan is one graph.
    let (nodes, edges) = (dot.matches("fillcolor").count(), dot.matches(" -> n").count());
    assert_eq!(edges + 1, nodes, "{dot}");
    let json = explain("ANALYZE, FORMAT json");
    for part in ["\"fragments\":[\"tasks=all -> fragment 1 hash", "\"tasks\":4", "SELECT k, sum(n)"]
    {
        assert!(json.contains(part), "{json}");
    }
    let page = explain("ANALYZE, FORMAT html");
    assert!(page.contains("<td>task 3, driver 0</td>"), "{page}");
    let mut rows = session.sql("SELECT k, sum(n) FROM t GROUP BY k").unwrap();
    while rows.next().unwrap().is_some() {}
    let profile = rows.profile().unwrap();
    let scan = profile.nodes.iter().find(|it| it.kind == "TableScan").unwrap();
    assert_eq!((scan.rows(), scan.tasks), (Some(ROWS as u64 + 5000), 4));
    assert!(profile.run.as_ref().is_some_and(|it| !it.drivers.is_empty()));
}

#[test]
fn every_row_of_the_table_crosses_an_exchange_once() {
    let session = session("4");
    session.set("disabled_rules", "groups_below_exchanges").unwrap();
    let plan = text(&session, "EXPLAIN ANALYZE SELECT k, count(*) FROM t GROUP BY k");
    let rows = ROWS + 5000;
    assert!(plan.contains(&format!("exchange: {rows} rows")), "{plan}");
    assert!(plan.contains(&format!("page source: out {rows} rows")), "{plan}");
    // Splits were distributed: the scan ran in all tasks.
    assert!(plan.contains("skew"), "{plan}");
}

#[test]
fn the_cause_of_a_failure_is_that_of_the_task_where_it_began() {
    let session = session("4");
    let before = session.pool().stats().bytes;
    for pages in ["batches", "bytes"] {
        session.set("exchange_pages", pages).unwrap();
        for sql in [
            "SELECT sum(CAST(s AS INTEGER)) FROM t WHERE n > 12345",
            "SELECT k, sum(CAST(s AS INTEGER)) FROM t GROUP BY k",
            "SELECT a.k FROM t a JOIN t b ON a.n = CAST(b.s AS BIGINT) ORDER BY 1",
            "SELECT (SELECT n FROM t) FROM u",
        ] {
            let error = session.sql(sql).and_then(|it| it.collect().map(drop)).unwrap_err();
            assert!(
                !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Internal),
                "{sql}: {error}"
            );
            session.wait_released();
            assert_eq!(session.pool().stats().bytes, before, "{sql}");
        }
    }
}

#[test]
fn cancelled_and_dropped_queries_leave_nothing() {
    let session = session("4");
    let spilled = tempfile::tempdir().unwrap();
    session.set("spill_directory", spilled.path().to_str().unwrap()).unwrap();
    let before = session.pool().stats().bytes;
    let endless = "SELECT count(*) FROM t a, t b, t c WHERE a.n + b.n > c.n";
    let mut running = session.sql(endless).unwrap();
    running.cancel();
    assert_eq!(running.next().unwrap_err().kind(), ErrorKind::Cancelled);
    drop(running);
    drop(session.sql(endless).unwrap());
    // The exchanges are full when the query is dropped.
    let mut unread = session.sql("SELECT a.n, b.s FROM t a JOIN t b ON a.k = b.k").unwrap();
    assert!(unread.next().unwrap().is_some());
    drop(unread);
    session.wait_released();
    assert_eq!(session.pool().stats().bytes, before);
    session.set("statement_timeout", "20ms").unwrap();
    let error = session.sql(endless).and_then(|it| it.collect().map(drop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    session.set("statement_timeout", "0").unwrap();
    session.wait_released();
    assert_eq!(session.pool().stats().bytes, before);
    assert_eq!(fs::read_dir(spilled.path()).unwrap().count(), 0);
}

#[test]
fn a_join_of_two_readers_of_one_subplan_needs_little_memory() {
    let session = session("4");
    let sql = "WITH c AS MATERIALIZED (SELECT n, s, repeat('x', 100) AS long FROM t) \
               SELECT count(*), sum(length(a.long)) FROM c a JOIN c b ON a.n = b.n";
    let expected = vec![vec![Value::BigInt(25_000), Value::BigInt(2_500_000)]];
    let counted = |session: &Session| {
        let row = values(session, sql);
        format!("{row:?}")
    };
    let plain = counted(&session);
    assert!(plain.contains("25000"), "{plain} {expected:?}");
    // The lane that is not read yet overflows to disk.
    session.set("memory_limit", "24MiB").unwrap();
    assert_eq!(counted(&session), plain);
}

#[test]
fn statements_that_write_run_in_tasks() {
    let session = session("4");
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("t.parquet");
    session.sql(&format!("COPY (SELECT * FROM t) TO '{}'", path.display())).unwrap();
    let count = format!("SELECT count(*), sum(n) FROM '{}'", path.display());
    assert_eq!(values(&session, &count), values(&session, "SELECT count(*), sum(n) FROM t"));
    session.sql("CREATE TABLE copy AS SELECT k, count(*) AS c FROM t GROUP BY k").unwrap();
    assert_eq!(values(&session, "SELECT count(*) FROM copy"), [[Value::BigInt(97)]]);
    session.sql("INSERT INTO u SELECT k, n FROM t WHERE n < 10").unwrap();
    assert_eq!(values(&session, "SELECT count(*) FROM u"), [[Value::BigInt(60)]]);
}

#[test]
fn paused_queries_go_on() {
    let session = session("3");
    let mut result = session.sql("SELECT k, count(*) FROM t GROUP BY k").unwrap();
    result.pause();
    session.sql("SELECT 1").unwrap().collect().unwrap();
    result.resume();
    let mut rows = 0;
    while let Some(batch) = result.next().unwrap() {
        rows += batch.rows();
    }
    assert_eq!(rows, 97);
}
