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
            Aggregate [c_custkey] [count#17 = final count(count#19), max#18 = final max(max#20)]
              Join inner on eq(c_custkey, o_custkey)
                Aggregate [o_custkey] [count#19 = partial count(), max#20 = partial max(o_comment)]
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
    check_customers("avg(o_totalprice), mean(o_orderkey)", "inner", true);
    check_customers("avg(o_totalprice)", "left", false);
    for aggregate in [
        "avg(cast(o_totalprice as double))",
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

#[test]
fn counts_of_joins_that_multiply_rows_are_early() {
    // Each of 100,000 rows has 1,000 partners, of 1,000 keys.
    super::check(
        "select count(*), count(s.c) from s join t on s.a = t.a join u on t.a = u.a",
        expect_test::expect![[r#"
            Aggregate [] [count#10 = final count(count#12), count#11 = final count(count#13)]
              Join inner on eq(a#4, a#0)
                Scan t [a#4]
                Join inner on eq(a#0, a#8)
                  Aggregate [a#0] [count#12 = partial count(), count#13 = partial count(c)]
                    Scan s [a#0, c]
                  Scan u [a#8]
        "#]],
    );
    super::check(
        "select count(*) from s join t on s.a = t.a",
        expect_test::expect![[r#"
        Aggregate [] [count#8 = final count(count#9)]
          Join inner on eq(a#4, a#0)
            Scan t [a#4]
            Aggregate [a#0] [count#9 = partial count()]
              Scan s [a#0]
    "#]],
    );
    assert!(is_early("select t.a, count(*), max(s.b) from s join t on s.a = t.a group by t.a"));
    // No row multiplies another.
    assert!(!is_early("select count(*) from s join k on s.b = k.id"));
    // Sums of counts would be null without rows.
    assert!(!is_early("select count(*), count(s.c) from t left join s on s.a = t.a"));
}

#[test]
fn joined_relations_are_aggregated_together() {
    super::check(
        "select s_name, s_address, s_phone, s_comment, p_size, avg(l_linenumber), max(l_comment)
         from lineitem, part, supplier where l_partkey = p_partkey and l_suppkey = s_suppkey
         group by all",
        expect_test::expect![[r#"
            Aggregate [s_name, s_address, s_phone, s_comment, p_size] [avg#32 = final avg(avg#34), max#33 = final max(max#35)]
              Join inner on eq(l_suppkey, s_suppkey)
                Aggregate [l_suppkey, p_size] [avg#34 = partial avg(l_linenumber), max#35 = partial max(l_comment)]
                  Join inner on eq(l_partkey, p_partkey)
                    Scan lineitem [l_partkey, l_suppkey, l_linenumber, l_comment]
                    Scan part [p_partkey, p_size]
                Scan supplier [s_suppkey, s_name, s_address, s_phone, s_comment]
        "#]],
    );
}

#[test]
fn grouping_sets_stay_above_the_join() {
    super::check(
        "select s_name, s_address, s_phone, s_comment, avg(l_linenumber), count(*)
         from lineitem, supplier where l_suppkey = s_suppkey
         group by rollup(s_name, s_address, s_phone, s_comment)",
        expect_test::expect![[r#"
            Project s_name#25, s_address#26, s_phone#27, s_comment#28, avg#23, count#24
              Aggregate [s_name#25, s_address#26, s_phone#27, s_comment#28, group_id] [avg#23 = final avg(avg#31) filter present, count#24 = final count(count#32) filter present]
                GroupId group_id [s_name#25 = s_name#17, s_address#26 = s_address#18, s_phone#27 = s_phone#20, s_comment#28 = s_comment#22] sets [(s_name#25, s_address#26, s_phone#27, s_comment#28), (s_name#25, s_address#26, s_phone#27), (s_name#25, s_address#26), (s_name#25), ()]
                  Join inner on eq(s_suppkey, l_suppkey)
                    Scan supplier [s_suppkey, s_name#17, s_address#18, s_phone#20, s_comment#22]
                    Aggregate [l_suppkey] [avg#31 = partial avg(l_linenumber), count#32 = partial count()]
                      Scan lineitem [l_suppkey, l_linenumber]
        "#]],
    );
}
