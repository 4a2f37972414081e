//! What EXPLAIN ANALYZE counts agrees: with itself, with the data, and with the clock.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};
use volley::{OperatorCounts, OperatorStatistics, Session, TaskStatistics};

/// Queries that read all of their input, and the total rows that scans of these tables return; L,
/// O, N and R are the rows of lineitem, orders, nation and region.
const QUERIES: [(&str, &str); 22] = [
    ("SELECT * FROM lineitem", "L"),
    ("SELECT l_orderkey + 1 FROM lineitem WHERE l_quantity + 0 >= 0", "L"),
    ("SELECT count(*), sum(l_quantity) FROM lineitem", "L"),
    ("SELECT l_returnflag, count(*) FROM lineitem GROUP BY 1", "L"),
    ("SELECT l_orderkey, l_partkey, max(l_comment) FROM lineitem GROUP BY 1, 2", "L"),
    ("SELECT l_suppkey, array_agg(l_comment), string_agg(l_comment) FROM lineitem GROUP BY 1", "L"),
    ("SELECT l_suppkey, count(DISTINCT l_partkey) FROM lineitem GROUP BY 1", "L"),
    ("SELECT DISTINCT l_shipmode, l_suppkey FROM lineitem", "L"),
    ("SELECT l_comment FROM lineitem ORDER BY l_comment", "L"),
    ("SELECT l_comment FROM lineitem ORDER BY l_comment, l_orderkey LIMIT 10", "L"),
    ("SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey", "LO"),
    ("SELECT count(*) FROM lineitem FULL JOIN orders ON l_comment = o_comment", "LO"),
    ("SELECT o_orderkey FROM orders LEFT JOIN lineitem ON l_orderkey = o_custkey", "LO"),
    ("SELECT o_orderkey FROM orders WHERE o_custkey NOT IN (SELECT l_partkey FROM lineitem)", "LO"),
    ("SELECT count(*) FROM orders JOIN nation ON o_custkey < n_nationkey", "ON"),
    ("SELECT count(*) FROM nation, region", "NR"),
    ("SELECT l_comment FROM lineitem UNION ALL SELECT o_comment FROM orders", "LO"),
    ("SELECT l_comment FROM lineitem UNION SELECT o_comment FROM orders", "LO"),
    ("SELECT l_orderkey FROM lineitem INTERSECT ALL SELECT o_custkey FROM orders", "LO"),
    ("SELECT l_orderkey FROM lineitem EXCEPT SELECT o_custkey FROM orders", "LO"),
    (
        "WITH t AS MATERIALIZED (SELECT l_suppkey AS k, count(*) AS c FROM lineitem GROUP BY 1) \
            SELECT count(*) FROM t a JOIN t b ON a.c = b.c",
        "L",
    ),
    (
        "SELECT n_name FROM nation WHERE n_regionkey = (SELECT min(r_regionkey + 0) FROM region)",
        "NR",
    ),
];

/// Queries that stop reading early.
const CUT: [&str; 3] = [
    "SELECT * FROM lineitem LIMIT 5",
    "SELECT * FROM (SELECT * FROM lineitem UNION ALL SELECT * FROM lineitem) t LIMIT 7 OFFSET 3",
    "SELECT * FROM lineitem WHERE EXISTS (SELECT 1 FROM orders) LIMIT 1",
];

fn session(data: &Path, threads: &str) -> Session {
    let session = Session::new().unwrap();
    session.set("threads", threads).unwrap();
    for table in ["lineitem", "orders", "nation", "region"] {
        let path = data.join(format!("{table}.parquet"));
        session.register_files(table, path.to_str().unwrap()).unwrap();
    }
    session
}

/// Runs a query; its rows, what was counted, and how long it took.
fn run(session: &Session, sql: &str) -> (u64, TaskStatistics, Duration) {
    let start = Instant::now();
    let mut result = session.sql(sql).unwrap();
    let mut rows = 0;
    while let Some(batch) = result.next().unwrap() {
        rows += batch.rows() as u64;
    }
    (rows, result.statistics().unwrap(), start.elapsed())
}

fn operators(statistics: &TaskStatistics) -> Vec<&OperatorStatistics> {
    statistics.nodes.iter().flat_map(|it| &it.operators).collect()
}

fn total(operators: &[&OperatorStatistics], name: &str) -> OperatorCounts {
    let mut total = OperatorCounts::default();
    operators.iter().filter(|it| it.name == name).for_each(|it| total += &it.total());
    total
}

/// The output of an operator is the input of the next one in its pipeline, driver by driver.
fn check_pipelines(operators: &[&OperatorStatistics], sql: &str) {
    let mut pipelines: BTreeMap<usize, BTreeMap<usize, &OperatorStatistics>> = BTreeMap::new();
    for operator in operators {
        let before = pipelines.entry(operator.pipeline).or_default();
        assert!(before.insert(operator.position, operator).is_none(), "{sql}: {operator:?}");
    }
    for (pipeline, stages) in pipelines {
        let stages: Vec<_> = stages.into_values().collect();
        assert!(stages.iter().enumerate().all(|(at, it)| it.position == at), "{sql}: {pipeline}");
        for pair in stages.windows(2) {
            for (from, to) in pair[0].drivers.iter().zip(&pair[1].drivers) {
                let out = (from.rows_out, from.batches_out);
                assert_eq!(out, (to.rows_in, to.batches_in), "{sql}: {pair:?}");
            }
            assert_eq!(pair[0].drivers.len(), pair[1].drivers.len(), "{sql}");
        }
        let source = stages[0].total();
        assert_eq!((source.rows_in, source.batches_in), (0, 0), "{sql}: {:?}", stages[0]);
    }
}

/// No driver works longer than the clock says, and all together not longer than the threads.
fn check_times(operators: &[&OperatorStatistics], threads: u32, took: Duration, sql: &str) {
    let mut busy: BTreeMap<(usize, usize), Duration> = BTreeMap::new();
    for operator in operators {
        for (driver, counts) in operator.drivers.iter().enumerate() {
            *busy.entry((operator.pipeline, driver)).or_default() += counts.busy;
        }
    }
    assert!(busy.values().all(|it| *it <= took), "{sql}: {busy:?} in {took:?}");
    let all: Duration = busy.values().sum();
    assert!(all <= took * threads && all > Duration::ZERO, "{sql}: {all:?} in {took:?}");
}

#[test]
fn rows_pass_from_operator_to_operator() {
    let dir = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.01, dir.path(), &|_| Ok(())).unwrap();
    for threads in [1, 2] {
        let session = session(dir.path(), &threads.to_string());
        let count = |table: &str| run(&session, &format!("SELECT * FROM {table}")).0;
        let rows = [("L", "lineitem"), ("O", "orders"), ("N", "nation"), ("R", "region")];
        let rows = rows.map(|(letter, table)| (letter, count(table)));
        for (sql, scanned) in QUERIES {
            let (result, statistics, took) = run(&session, sql);
            let operators = operators(&statistics);
            check_pipelines(&operators, sql);
            check_times(&operators, threads, took, sql);
            assert_eq!(total(&operators, "result").rows_in, result, "{sql}");
            let tables = rows.iter().filter(|it| scanned.contains(it.0));
            let scan = total(&operators, "table scan");
            let dropped = ["rows pruned", "rows dropped by joins", "rows dropped by bounds"];
            let dropped: u64 = dropped.iter().map(|it| statistics.total(it)).sum();
            let seen = scan.rows_out + dropped;
            assert_eq!(seen, tables.map(|it| it.1).sum::<u64>(), "{sql}");
            check_exchanges(&statistics, sql);
        }
    }
}

/// The input of the senders of a node is the output of its receivers; the input of a shared subplan
/// is the output of each of its readers.
fn check_exchanges(statistics: &TaskStatistics, sql: &str) {
    let mut shared = OperatorCounts::default();
    for node in &statistics.nodes {
        let operators: Vec<_> = node.operators.iter().collect();
        let sent = total(&operators, "local exchange sender").rows_in;
        assert_eq!(total(&operators, "local exchange receiver").rows_out, sent, "{sql}");
        shared += &total(&operators, "shared writer");
    }
    for node in &statistics.nodes {
        for reader in node.operators.iter().filter(|it| it.name == "shared reader") {
            assert_eq!(reader.total().rows_out, shared.rows_in, "{sql}");
        }
    }
}

#[test]
fn queries_that_stop_early_count_what_they_did() {
    let dir = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.01, dir.path(), &|_| Ok(())).unwrap();
    for threads in [1, 2] {
        let session = session(dir.path(), &threads.to_string());
        for sql in CUT {
            let (result, statistics, took) = run(&session, sql);
            let operators = operators(&statistics);
            check_pipelines(&operators, sql);
            check_times(&operators, threads, took, sql);
            assert_eq!(total(&operators, "result").rows_in, result, "{sql}");
        }
    }
}

#[test]
fn what_a_scan_skips_and_reads_is_the_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.1, dir.path(), &|_| Ok(())).unwrap();
    for threads in [1, 2] {
        let session = session(dir.path(), &threads.to_string());
        let all = run(&session, "SELECT * FROM lineitem").1;
        assert_eq!(all.total("groups skipped") + all.total("pages skipped"), 0);
        for key in [1, 100, 300_000, 600_000, 10_000_000] {
            let (_, some, _) =
                run(&session, &format!("SELECT * FROM lineitem WHERE l_orderkey < {key}"));
            let groups = some.total("groups read") + some.total("groups skipped");
            assert_eq!(groups, all.total("groups read"), "key {key}");
            // Page indexes may be read in vain.
            let bytes = all.total("bytes read") * 101 / 100;
            assert!(some.total("bytes read") <= bytes, "key {key}");
            assert!(some.total("rows read") <= all.total("rows read"), "key {key}");
        }
    }
}

#[test]
fn what_footers_answer_is_not_scanned() {
    let dir = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.01, dir.path(), &|_| Ok(())).unwrap();
    let session = session(dir.path(), "2");
    let rows_read = |sql: &str| run(&session, sql).1.total("rows read");
    for sql in [
        "SELECT count(*), count(l_comment), min(l_orderkey), max(l_shipdate) FROM lineitem",
        "SELECT min(k), max(k) FROM (SELECT l_suppkey AS k, l_tax FROM lineitem) t",
    ] {
        assert_eq!(rows_read(sql), 0, "{sql}");
    }
    for sql in [
        "SELECT max(l_comment) FROM lineitem",
        "SELECT max(l_orderkey) FROM lineitem WHERE l_tax < 0.05",
        "SELECT max(l_orderkey), sum(l_tax) FROM lineitem",
        "SELECT max(-l_orderkey) FROM lineitem",
    ] {
        assert_ne!(rows_read(sql), 0, "{sql}");
    }
}
