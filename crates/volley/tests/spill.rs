//! Queries whose rows do not fit in memory: the answers are those of queries whose rows do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use volley::Session;

/// Runs a query that returns one row without a memory limit and with one; checks that the rows are
/// the same, and that `operator` has spilled with the limit only.
#[track_caller]
fn check(sql: &str, limit: &str, threads: &str, operator: &str) {
    let dir = tempfile::tempdir().unwrap();
    volley_tpch::generate(0.1, dir.path(), &|_| Ok(())).unwrap();
    let run = |limit: &str| {
        let session = Session::new().unwrap();
        session.set("threads", threads).unwrap();
        session.set("memory_limit", limit).unwrap();
        for table in ["lineitem", "orders"] {
            let path = dir.path().join(format!("{table}.parquet"));
            session.register_files(table, path.to_str().unwrap()).unwrap();
        }
        let mut result = session.sql(sql).unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = result.next().unwrap() {
            rows.extend((0..batch.rows()).map(|row| {
                let values = batch.columns().iter().map(|it| it.value(row).unwrap());
                format!("{:?}", values.collect::<Vec<_>>())
            }));
        }
        let statistics = result.statistics().unwrap();
        let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
        let spilled = operators.filter(|it| it.name.contains(operator)).flat_map(|it| &it.drivers);
        let named = spilled.flat_map(|it| &it.named).filter(|it| it.0 == "spilled bytes");
        (rows, named.map(|it| it.1).sum::<u64>())
    };
    let (expected, unspilled) = run("8GiB");
    let (rows, spilled) = run(limit);
    assert_eq!(rows, expected, "{sql}");
    assert_eq!(unspilled, 0, "{sql}");
    assert!(spilled > 0, "nothing was spilled: {sql}");
}

#[test]
fn aggregations_spill() {
    let sql = "SELECT count(*), sum(c), sum(p), max(d) FROM (SELECT l_orderkey, l_linenumber, \
        count(*) AS c, sum(l_extendedprice) AS p, max(l_shipdate) AS d \
        FROM lineitem GROUP BY 1, 2) t";
    for threads in ["1", "2"] {
        check(sql, "40MiB", threads, "aggregation");
    }
}

#[test]
fn aggregations_with_rows_of_their_own_spill() {
    let sql = "SELECT count(*), sum(c), sum(s), sum(length(a)), min(a) FROM (SELECT l_orderkey, \
        count(DISTINCT l_suppkey) AS c, sum(DISTINCT l_linenumber) AS s, \
        string_agg(CAST(l_partkey AS VARCHAR), ',' ORDER BY l_partkey, l_linenumber) AS a \
        FROM lineitem GROUP BY 1) t";
    for threads in ["1", "2"] {
        check(sql, "64MiB", threads, "aggregation");
    }
}

#[test]
fn joins_spill() {
    let sql = "SELECT count(*), sum(a.l_extendedprice), max(b.l_comment) \
        FROM lineitem a JOIN lineitem b \
        ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber";
    for threads in ["1", "2"] {
        check(sql, "40MiB", threads, "hash join build");
    }
}

#[test]
fn nested_loop_joins_spill() {
    let sql = "SELECT count(*), sum(b.l_extendedprice), max(b.l_comment) \
        FROM (SELECT DISTINCT l_quantity + 1000 AS q FROM lineitem WHERE l_quantity < 20) a \
        LEFT JOIN lineitem b ON a.q > b.l_partkey + b.l_suppkey";
    for threads in ["1", "2"] {
        check(sql, "40MiB", threads, "nested loop join build");
    }
}

#[test]
fn shared_subplans_spill() {
    let sql = "WITH t AS (SELECT l_orderkey, l_linenumber, max(l_comment) AS c, sum(l_tax) AS n \
            FROM lineitem GROUP BY 1, 2) \
        SELECT count(*), min(c), max(c), sum(n) FROM t WHERE n > (SELECT avg(n) FROM t)";
    for threads in ["1", "2"] {
        check(sql, "40MiB", threads, "shared");
    }
}
