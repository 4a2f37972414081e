//! Queries whose rows do not fit in memory: the answers are those of queries whose rows do.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod wide_rows;

use volley::Session;

/// Runs a query that returns one row without a memory limit and with one; checks that the rows are
/// the same, and that `operator` has spilled with the limit only.
#[track_caller]
fn check(sql: &str, limit: &str, threads: &str, operator: &str) {
    check_counter(sql, limit, threads, (operator, "spilled bytes"));
}

/// As [`check`], of another counter of `operator`.
#[track_caller]
fn check_counter(sql: &str, limit: &str, threads: &str, (operator, counter): (&str, &str)) {
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
        let named = spilled.flat_map(|it| &it.named).filter(|it| it.0 == counter);
        (rows, named.map(|it| it.1).sum::<u64>())
    };
    let (expected, unspilled) = run("8GiB");
    let (rows, spilled) = run(limit);
    assert_eq!(rows, expected, "{sql}");
    assert_eq!(unspilled, 0, "{sql}");
    assert!(spilled > 0, "no {counter}: {sql}");
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
fn groups_that_hold_values_spill() {
    let sql = "SELECT count(*), sum(m), sum(q), sum(d) FROM (SELECT l_orderkey, \
        median(l_extendedprice) AS m, quantile_disc(l_partkey, 0.3) AS q, mad(l_suppkey) AS d \
        FROM lineitem GROUP BY 1) t";
    for threads in ["1", "2"] {
        check(sql, "40MiB", threads, "aggregation");
    }
}

#[test]
fn quantiles_hold_each_value_once() {
    const VALUES: usize = 12_000_000;
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    let sql = format!("SELECT median(x), quantile_disc(x, 0.25) FROM range({VALUES}) t(x)");
    let row = session.sql(&sql).unwrap().collect_values().unwrap();
    assert_eq!(format!("{row:?}"), "[[Double(5999999.5), BigInt(2999999)]]");
    // The batches that drivers are about to pass on add up to that.
    let (held, peak) = (2 * VALUES * size_of::<f64>(), session.pool().stats().peak_bytes);
    assert!((held..held + (100 << 20)).contains(&peak), "{} MiB", peak >> 20);
}

#[test]
fn lists_of_distinct_arguments_spill() {
    let calls = "count(DISTINCT l_comment), count(DISTINCT l_orderkey * 10 + l_linenumber), \
        count(DISTINCT l_comment) FILTER (WHERE l_tax < 0.05), sum(l_quantity)";
    let rescanned = format!("SELECT {calls} FROM lineitem");
    let grouped =
        format!("SELECT l_linestatus, {calls} FROM lineitem GROUP BY 1 ORDER BY l_linestatus");
    let filtered = "SELECT l_returnflag, count(DISTINCT l_comment) FILTER (WHERE l_tax < 0.07), \
        sum(l_quantity), max(l_shipdate) FROM lineitem GROUP BY 1 ORDER BY 1";
    for sql in [&rescanned, &grouped, filtered] {
        check(sql, "64MiB", "2", "aggregation");
        check(sql, "40MiB", "1", "aggregation");
    }
    let shared = "SELECT count(DISTINCT l_comment), count(DISTINCT o_comment), sum(l_quantity) \
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey";
    check(shared, "64MiB", "2", "aggregation");
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
fn joins_without_equal_keys_spill() {
    for (comparison, build) in [("<>", "nested loop join build"), (">", "range join build")] {
        let sql = format!(
            "SELECT count(*), sum(b.l_extendedprice), max(b.l_comment) \
             FROM (SELECT DISTINCT l_quantity + 1000 AS q FROM lineitem WHERE l_quantity < 20) a \
             LEFT JOIN lineitem b ON a.q {comparison} b.l_partkey + b.l_suppkey"
        );
        for threads in ["1", "2"] {
            check(&sql, "40MiB", threads, build);
        }
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

/// Sums of what calls return over all of lineitem, as one partition.
fn one_partition(calls: &[&str], results: &[&str]) -> String {
    let columns = calls.iter().enumerate().map(|it| format!("{} AS c{}", it.1, it.0));
    let columns: Vec<String> = columns.collect();
    let sums = results.iter().enumerate().map(|it| it.1.replace('$', &format!("c{}", it.0)));
    let sums: Vec<String> = sums.collect();
    let (columns, sums) = (columns.join(", "), sums.join(", "));
    format!(
        "SELECT count(*), {sums} FROM (SELECT l_orderkey, l_linenumber, {columns}, l_comment \
         FROM lineitem) t"
    )
}

#[test]
fn window_partitions_that_do_not_fit_come_in_pieces() {
    let order = "(ORDER BY l_orderkey, l_linenumber";
    let weighed = "sum($ * l_linenumber)";
    let once = one_partition(
        &[
            &format!("row_number() OVER {order})"),
            "dense_rank() OVER (ORDER BY l_orderkey)",
            &format!("lag(l_extendedprice, 3) OVER {order})"),
            &format!("sum(l_quantity) OVER {order} ROWS 10 PRECEDING)"),
            &format!("sum(l_quantity) OVER {order} ROWS UNBOUNDED PRECEDING)"),
        ],
        &[weighed; 5],
    );
    let twice = one_partition(
        &[
            "count(*) OVER ()",
            &format!("sum(l_quantity) OVER {order})"),
            "sum(l_tax) OVER (PARTITION BY l_linestatus)",
            &format!("ntile(100) OVER {order})"),
            "CAST(1e6 * cume_dist() OVER (ORDER BY l_quantity) AS BIGINT)",
            "rank() OVER (ORDER BY l_quantity)",
            "last_value(l_linenumber) OVER (ORDER BY l_linenumber)",
        ],
        &[weighed; 7],
    );
    let by_date = "OVER (ORDER BY l_shipdate";
    let by_value = one_partition(
        &[
            &format!("sum(l_quantity) {by_date} RANGE INTERVAL 7 DAY PRECEDING)"),
            &format!("count(*) {by_date} GROUPS BETWEEN 5 PRECEDING AND 5 FOLLOWING EXCLUDE TIES)"),
            &format!(
                "sum(l_tax) {by_date} \
                 RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 MONTH PRECEDING)"
            ),
            "max(l_quantity) OVER (PARTITION BY l_linestatus ORDER BY l_extendedprice DESC \
             RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING)",
        ],
        &[weighed; 4],
    );
    for sql in [once, twice, by_value] {
        for threads in ["1", "2"] {
            check_counter(&sql, "48MiB", threads, ("window", "window pieces"));
        }
    }
}
