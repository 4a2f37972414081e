//! Aggregates that become windows, and those that must not.

use crate::testing::{optimized, optimized_without};
use volley_tpch::QUERIES;

const RULE: &str = "window_aggregates";

/// Whether a query has a window with the rule, and reads as many tables less.
fn becomes_window(sql: &str) -> bool {
    let (with, without) = (optimized(sql), optimized_without(sql, &[RULE]));
    let scans = |plan: &str| plan.matches("Scan ").count() + plan.matches("CteRef ").count();
    assert!(!without.contains("Window"), "{without}");
    let is_window = with.contains("Window ");
    assert_eq!(is_window, scans(&with) < scans(&without), "{with}\n{without}");
    is_window
}

/// Parts of a size with lines of less than some aggregate of all lines of the part.
fn lines_of_parts(aggregate: &str, outer: &str, inner: &str) -> String {
    format!(
        "select sum(l_extendedprice) from lineitem, part
         where p_partkey = l_partkey and p_size = 5 {outer} and l_quantity <
           (select {aggregate} from lineitem where l_partkey = p_partkey {inner})"
    )
}

#[track_caller]
fn check_lines(aggregate: &str, outer: &str, inner: &str, expected: bool) {
    let sql = lines_of_parts(aggregate, outer, inner);
    assert_eq!(becomes_window(&sql), expected, "{}", optimized(&sql));
}

#[test]
fn tpch_2_and_17_read_tables_once() {
    for (number, table) in [(2, "Scan partsupp"), (17, "Scan lineitem")] {
        let plan = optimized(QUERIES[number - 1]);
        assert_eq!(plan.matches(table).count(), 1, "query {number}:\n{plan}");
        assert!(becomes_window(QUERIES[number - 1]), "query {number}:\n{plan}");
    }
    let others = QUERIES.iter().enumerate().filter(|it| ![1, 16].contains(&it.0));
    for (number, sql) in others {
        assert!(!becomes_window(sql), "query {}", number + 1);
    }
}

#[test]
fn the_window_is_over_what_is_joined_and_below_what_uses_it() {
    super::check(
        &lines_of_parts("0.2 * avg(l_quantity)", "", ""),
        expect_test::expect![[r#"
            Aggregate [] [sum = sum(l_extendedprice)]
              Project l_extendedprice
                Filter lt(cast(l_quantity as DOUBLE), multiply(0.2, avg))
                  Window [l_partkey] order [] [avg = avg(l_quantity) range unbounded preceding to unbounded following]
                    Join inner on eq(l_partkey, p_partkey)
                      Scan lineitem [l_partkey, l_quantity, l_extendedprice]
                      Scan part [p_partkey, p_size] where eq(p_size, 5)
        "#]],
    );
}

#[test]
fn aggregates_that_mind_repetitions_stay() {
    for aggregate in ["min(l_tax)", "max(l_discount + l_tax)", "avg(l_quantity)", "avg(l_partkey)"]
    {
        check_lines(aggregate, "", "", true);
    }
    check_lines("min(l_tax) filter (where l_discount > 0)", "", "", true);
    // Nothing says that a part has one row.
    for aggregate in ["sum(l_tax)", "count(*)", "count(l_tax)", "avg(cast(l_tax as double))"] {
        check_lines(aggregate, "", "", false);
    }
    for aggregate in ["min(distinct l_tax)", "any_value(l_tax)", "max(l_tax + random())"] {
        check_lines(aggregate, "", "", false);
    }
    check_lines("arg_min(l_tax, l_quantity)", "", "", false);
}

#[test]
fn one_partner_lets_sums_become_windows() {
    let sql = |distinct: &str| {
        format!(
            "select x.b from s x, (select {distinct} e from u where e < 3) y
             where x.b = y.e and x.a < (select sum(a) from s where s.b = x.b)"
        )
    };
    assert!(becomes_window(&sql("distinct")), "{}", optimized(&sql("distinct")));
    assert!(!becomes_window(&sql("")), "{}", optimized(&sql("")));
}

#[test]
fn predicates_of_the_subquery_must_hold_outside() {
    check_lines("min(l_tax)", "", "and l_linenumber = 1", false);
    check_lines("min(l_tax)", "and l_linenumber = 1", "and l_linenumber = 1", true);
    check_lines("min(l_tax)", "and l_linenumber = 2", "and l_linenumber = 1", false);
    check_lines("min(l_tax)", "", "and l_tax < l_discount", false);
    check_lines("min(l_tax)", "", "and l_suppkey = l_orderkey", false);
    check_lines("min(l_tax)", "and l_tax < l_discount", "and l_tax < l_discount", true);
    check_lines("min(l_tax)", "and l_discount < l_tax", "and l_tax < l_discount", false);
}

#[test]
fn predicates_outside_are_applied_above_the_window() {
    for outer in ["and l_linenumber = 1", "and l_tax < p_retailprice", "and l_suppkey = l_orderkey"]
    {
        check_lines("min(l_tax)", outer, "", true);
        let plan = optimized(&lines_of_parts("min(l_tax)", outer, ""));
        let (above, below) = plan.split_once("Window").expect("it is a window");
        let column = outer.split(' ').nth(1).expect("a column");
        assert!(above.contains(&format!("({column}")), "{plan}");
        let is_below = below.lines().any(|it| it.contains("on ") && it.contains(outer));
        assert!(!is_below && !below.contains("where eq(l_"), "{plan}");
    }
    // These decide for whole partitions.
    let plan = optimized(&lines_of_parts("min(l_tax)", "and l_partkey % 7 = p_size", ""));
    assert!(!plan.split_once("Window").expect("a window").0.contains("modulo"), "{plan}");
}

#[test]
fn relations_that_pick_rows_are_joined_above_the_window() {
    let sql = "select o_orderdate from lineitem, part, orders
        where p_partkey = l_partkey and p_size = 5 and o_orderkey = l_orderkey
          and l_quantity < (select min(l_quantity) + 1 from lineitem where l_partkey = p_partkey)";
    assert!(becomes_window(sql));
    let plan = optimized(sql);
    let (_, below) = plan.split_once("Window").expect("it is a window");
    let (orders, part) = (plan.find("Scan orders"), plan.find("Scan part"));
    assert!(below.contains("Scan part") && orders.is_some() && part.is_some(), "{plan}");
    let depth = |what: &str| {
        let line = plan.lines().find(|it| it.trim_start().starts_with(what)).expect("a line");
        line.len() - line.trim_start().len()
    };
    assert!(depth("Scan orders") <= depth("Window"), "{plan}");
}

#[test]
fn correlations_that_are_no_equality_of_the_same_column_stay() {
    let sql = |condition: &str| {
        format!(
            "select l_tax from lineitem l, part where p_partkey = l_partkey and p_size = 5
             and l_quantity < (select min(l_quantity) from lineitem i where {condition})"
        )
    };
    assert!(becomes_window(&sql("i.l_partkey = l.l_partkey")));
    assert!(becomes_window(&sql("i.l_partkey = p_partkey")));
    for condition in [
        "i.l_suppkey = l.l_partkey",
        "i.l_suppkey = p_partkey",
        "i.l_partkey = l.l_partkey and i.l_suppkey = l.l_orderkey",
        "i.l_partkey + 1 = l.l_partkey",
        "i.l_partkey is not distinct from l.l_partkey",
    ] {
        assert!(!becomes_window(&sql(condition)), "{condition}:\n{}", optimized(&sql(condition)));
    }
    // Two keys are one that divides more.
    assert!(becomes_window(&sql("i.l_partkey = l.l_partkey and i.l_suppkey = l.l_suppkey")));
}

#[test]
fn subqueries_of_other_shapes_stay() {
    let sql = |from: &str| {
        format!(
            "select l_tax from lineitem l, part where p_partkey = l_partkey and p_size = 5
             and l_quantity < (select min(l_quantity) from {from} i where i.l_partkey = p_partkey)"
        )
    };
    assert!(becomes_window(&sql("(select * from lineitem)")));
    for from in [
        "(select distinct l_partkey, l_quantity from lineitem)",
        "(select * from lineitem limit 10)",
        "(select l_partkey, l_quantity from lineitem union all select 1, 2)",
        "(select * from lineitem where random() < 0.5)",
        "(select lineitem.* from lineitem, orders where l_orderkey = o_orderkey)",
        "(select lineitem.* from lineitem left join orders on l_orderkey = o_orderkey)",
    ] {
        assert!(!becomes_window(&sql(from)), "{from}:\n{}", optimized(&sql(from)));
    }
}

#[test]
fn a_derived_table_that_one_joins_is_the_same_as_a_subquery() {
    assert!(becomes_window(
        "select l_tax, few from lineitem l, part,
           (select l_partkey k, avg(l_quantity) / 5 few from lineitem group by 1
            having min(l_tax) > 0) g
         where p_partkey = l.l_partkey and k = p_partkey and p_size = 5 and l_quantity < few"
    ));
    // All keys must be equal to something.
    assert!(!becomes_window(
        "select l_tax from lineitem l, part,
           (select l_partkey k, l_suppkey, min(l_quantity) few from lineitem group by 1, 2) g
         where p_partkey = l.l_partkey and k = p_partkey and p_size = 5 and l_quantity < few"
    ));
}

#[test]
fn keys_that_may_be_null_are_tested() {
    let sql = |condition: &str| {
        format!(
            "select d from s where {condition} and d < (select max(d) from s x where x.a = s.a)"
        )
    };
    let plan = optimized(&sql("(a = 7 or a is null)"));
    let (_, below) = plan.split_once("Window").expect("it is a window");
    assert!(below.contains("not(is_null(a))"), "{plan}");
    // All of the table: a window would read as much as the aggregation.
    assert!(!becomes_window(&sql("a > 0")));
}

#[test]
fn a_large_block_stays_as_it_is() {
    // All lines are larger than a window pays for.
    let sql = lines_of_parts("min(l_tax)", "", "").replace("p_size = 5", "p_size < 40");
    assert!(!becomes_window(&sql));
    // Few nations, each with all their customers and orders.
    assert!(!becomes_window(
        "select o_orderdate from nation, customer, orders
         where n_nationkey = c_nationkey and c_custkey = o_custkey and n_regionkey =
           (select max(n_regionkey) from nation n where n.n_nationkey = nation.n_nationkey)"
    ));
}

#[test]
fn two_subqueries_become_two_windows() {
    let sql = "select l_tax from lineitem, part where p_partkey = l_partkey and p_size = 5
        and l_quantity < (select avg(l_quantity) from lineitem where l_partkey = p_partkey)
        and l_tax < (select max(l_tax) from lineitem where l_partkey = p_partkey)";
    let plan = optimized(sql);
    assert_eq!(plan.matches("Window").count(), 2, "{plan}");
    assert_eq!(plan.matches("Scan lineitem").count(), 1, "{plan}");
}

/// Whether the windows of a query over large tables become groups that are joined.
fn becomes_groups(calls: &str, from: &str) -> bool {
    let plan = optimized(&format!("select l_orderkey, {calls} from {from}"));
    let (windows, groups) = (plan.contains("Window "), plan.contains("Aggregate "));
    assert!(windows != groups, "{plan}");
    groups
}

#[test]
fn aggregates_of_large_partitions_are_groups() {
    let groups = [
        ("sum(l_quantity) over (partition by l_suppkey)", "lineitem"),
        ("count(*) over (), max(l_shipdate) over ()", "lineitem"),
        ("count(distinct l_partkey) over (partition by l_returnflag)", "lineitem"),
        ("sum(l_quantity) over (partition by l_suppkey % 5)", "lineitem where l_tax > 0.01"),
    ];
    for (calls, from) in groups {
        assert!(becomes_groups(calls, from), "{calls}");
    }
    let windows = [
        // Small partitions, and few rows.
        ("sum(l_quantity) over (partition by l_orderkey, l_linenumber)", "lineitem"),
        ("sum(d) over (partition by a)", "(select *, a as l_orderkey from t) t"),
        // Orders, frames, large results, and no aggregates.
        ("sum(l_quantity) over (partition by l_suppkey order by l_tax)", "lineitem"),
        (
            "sum(l_quantity) over (partition by l_suppkey rows between unbounded preceding \
             and unbounded following exclude current row)",
            "lineitem",
        ),
        ("array_agg(l_quantity) over (partition by l_suppkey)", "lineitem"),
        ("max(l_comment) over (partition by l_suppkey)", "lineitem"),
        ("row_number() over (partition by l_suppkey)", "lineitem"),
        // What differs from call to call, and what is dear to make twice.
        ("sum(l_quantity) over (partition by l_suppkey + cast(random() as bigint))", "lineitem"),
        ("count(*) over (partition by l_suppkey)", "lineitem join part on l_partkey = p_partkey"),
        ("count(*) over (partition by l_suppkey)", "(select * from lineitem limit 50000) l"),
    ];
    for (calls, from) in windows {
        assert!(!becomes_groups(calls, from), "{calls}");
    }
}

#[test]
fn windows_between_do_not_matter() {
    super::check(
        "select sum(l_tax) over (partition by l_suppkey), rank() over (order by l_orderkey),
           count(*) over () from lineitem",
        expect_test::expect![[r#"
            Project sum#16, rank#17, count#18
              Join inner on is_not_distinct_from(l_suppkey#2, key0)
                Window [] order [l_orderkey] [rank#17 = rank(), count#18 = count() order keys 0]
                  Scan lineitem [l_orderkey, l_suppkey#2]
                Aggregate [key0 = l_suppkey#21] [sum#16 = sum(l_tax)]
                  Scan lineitem [l_suppkey#21, l_tax]
        "#]],
    );
}
