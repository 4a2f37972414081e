//! Aggregates that are computed before a join, and those that must not.

use crate::testing::{optimized, optimized_without};
use volley_tpch::QUERIES;

const RULE: &str = "aggregate_early";

/// Whether a query aggregates once more with the rule.
fn is_early(sql: &str) -> bool {
    let (with, without) = (optimized(sql), optimized_without(sql, &[RULE]));
    let count = |plan: &str| plan.matches("Aggregate ").count();
    assert!(count(&with) <= count(&without) + 1, "{with}");
    count(&with) > count(&without)
}

fn of_customers(aggregate: &str, join: &str, condition: &str) -> String {
    format!(
        "select c_custkey, {aggregate} from customer {join} join orders
         on c_custkey = o_custkey {condition} group by c_custkey"
    )
}

#[track_caller]
fn check_customers(aggregate: &str, join: &str, expected: bool) {
    let sql = of_customers(aggregate, join, "");
    assert_eq!(is_early(&sql), expected, "{}", optimized(&sql));
}

#[test]
fn tpch_13_counts_orders_before_the_join_and_no_other_query_does() {
    for (number, sql) in QUERIES.iter().enumerate() {
        assert_eq!(is_early(sql), number == 12, "query {}:\n{}", number + 1, optimized(sql));
    }
}

#[test]
fn counts_become_sums_of_counts_and_rows_of_nulls_count() {
    super::check(
        &of_customers("count(o_orderkey) n, count(*) m, sum(o_shippriority) s", "left", ""),
        expect_test::expect![[r#"
            Project c_custkey, count#17 = cast(count#21 as BIGINT), count#18 = cast(count#23 as BIGINT), sum#19
              Aggregate [c_custkey] [count#21 = sum(coalesce(count#20, 0)), count#23 = sum(coalesce(count#22, 1)), sum#19 = sum(sum#24)]
                Join left on eq(c_custkey, o_custkey)
                  Scan customer [c_custkey]
                  Aggregate [o_custkey] [count#20 = count(o_orderkey), count#22 = count(), sum#24 = sum(o_shippriority)]
                    Scan orders [o_orderkey, o_custkey, o_shippriority]
        "#]],
    );
    super::check(
        &of_customers("count(*), max(o_comment)", "inner", ""),
        expect_test::expect![[r#"
            Project c_custkey, count#17 = cast(count#20 as BIGINT), max#18
              Aggregate [c_custkey] [count#20 = sum(count#19), max#18 = max(max#21)]
                Join inner on eq(c_custkey, o_custkey)
                  Aggregate [o_custkey] [count#19 = count(), max#21 = max(o_comment)]
                    Scan orders [o_custkey, o_comment]
                  Scan customer [c_custkey]
        "#]],
    );
}

#[test]
fn aggregates_that_can_be_put_together_go() {
    for aggregate in ["count(*)", "count(o_orderkey)", "sum(o_totalprice)", "min(o_comment)"] {
        check_customers(aggregate, "left", true);
    }
    check_customers("max(o_orderdate), sum(o_orderkey)", "inner", true);
    check_customers("count(o_orderkey)", "right", false);
    for aggregate in [
        "avg(o_totalprice)",
        "count(distinct o_clerk)",
        "count(o_orderkey) filter (where o_orderkey > 7)",
        "sum(cast(o_totalprice as double))",
        "sum(cast(o_totalprice as decimal(38, 2)))",
        "string_agg(o_comment, ',')",
        "max(o_comment), count(c_name)",
        "max(o_orderkey + c_custkey)",
        "max(random() + o_orderkey)",
        "max(cast(o_comment as integer))",
    ] {
        check_customers(aggregate, "left", false);
        check_customers(aggregate, "inner", false);
    }
    // Of a row of nulls, these are not null.
    check_customers("max(coalesce(o_comment, 'none'))", "left", false);
    check_customers("max(coalesce(o_comment, 'none'))", "inner", true);
    check_customers("count(1)", "left", false);
}

#[test]
fn conditions_and_keys_divide_groups() {
    let sql = of_customers("count(o_orderkey)", "left", "") + ", o_shippriority";
    assert!(is_early(&sql));
    assert!(
        optimized(&sql).contains("Aggregate [o_custkey, o_shippriority]"),
        "{}",
        optimized(&sql)
    );
    let sql = of_customers("count(o_orderkey)", "left", "and o_shippriority < random()");
    assert!(!is_early(&sql));
    // A filter above the join sees rows.
    let sql = of_customers("count(o_orderkey)", "left", "")
        .replace("group by", "where o_orderkey is null or o_orderkey > 5 group by");
    assert!(!is_early(&sql), "{}", optimized(&sql));
    let doubles = "select s.b, count(*) from s, t where s.d = t.d and s.b = t.b group by s.b";
    assert!(!is_early(doubles));
}

#[test]
fn it_must_pay() {
    // Orders have about one row per key.
    assert!(!is_early(
        "select o_orderkey, count(l_linenumber) from orders left join lineitem
         on l_orderkey = o_orderkey group by 1"
    ));
    // Few customers: the join drops most orders.
    assert!(!is_early(&of_customers("count(*)", "inner", "and c_nationkey = 3")));
    let few = of_customers("count(o_orderkey)", "left", "")
        .replace("group by", "where c_nationkey = 3 group by");
    assert!(!is_early(&few), "{}", optimized(&few));
    // Few groups in the end.
    assert!(!is_early(
        "select c_nationkey, count(*) from customer, orders where c_custkey = o_custkey group by 1"
    ));
    assert!(!is_early("select count(*) from customer, orders where c_custkey = o_custkey"));
}
