//! Plans that use the order of rows, and range joins.

use crate::testing::plan_for;

/// The lowered plan for two drivers.
fn lowered(sql: &str) -> String {
    lowered_without(sql, &[])
}

fn lowered_without(sql: &str, disabled: &[&str]) -> String {
    plan_for(sql, disabled, 2).expect(sql).lowered.to_string()
}

#[test]
fn sorted_inputs_are_merged() {
    let sql = |kind: &str, left: &str, right: &str, condition: &str| {
        format!(
            "select * from (select * from t order by {left}) t {kind} join
             (select * from u order by {right}) u on {condition}"
        )
    };
    for kind in ["", "left", "right", "full"] {
        let plan = lowered(&sql(kind, "a, b", "a", "t.a = u.a"));
        assert!(plan.contains("MergeJoin"), "{plan}");
        let plan = lowered_without(&sql(kind, "a, b", "a", "t.a = u.a"), &["merge_joins"]);
        assert!(plan.contains("HashJoin"), "{plan}");
    }
    let both = "t.a = u.a and t.b = u.e";
    assert!(lowered(&sql("", "a, b", "a, e", both)).contains("MergeJoin"));
    assert!(lowered(&sql("", "b desc, a", "e desc, a", both)).contains("MergeJoin"));
    assert!(lowered(&sql("", "a", "a", "t.a = u.a and t.b < u.e")).contains("filter="));
    for (left, right, condition) in [
        ("a, b", "a", both),
        ("a, b", "e, a", both),
        ("a", "a desc", "t.a = u.a"),
        ("a", "a nulls first", "t.a = u.a"),
        ("b, a", "a", "t.a = u.a"),
        ("a", "a", "t.a + 1 = u.a"),
    ] {
        let plan = lowered(&sql("", left, right, condition));
        assert!(plan.contains("HashJoin"), "{left}; {right}; {condition}: {plan}");
    }
}

#[test]
fn windows_over_one_stream_are_spread_unless_they_are_sorted() {
    let over = |rows: &str| {
        lowered(&format!("select rank() over (partition by a order by b) from ({rows}) s"))
    };
    let plan = over("select * from t order by a, b");
    assert!(plan.contains(" sorted ") && !plan.contains("LocalExchange"), "{plan}");
    let plan = over("select * from t order by b, a");
    assert!(!plan.contains(" sorted ") && plan.contains("LocalExchange hash"), "{plan}");
    let plan = over("select * from t limit 500");
    assert!(!plan.contains(" sorted ") && plan.contains("LocalExchange hash"), "{plan}");
}

#[test]
fn comparisons_are_looked_up_where_that_finds_far_fewer_pairs() {
    let dates = "o_orderdate >= l_shipdate and o_orderdate <= l_receiptdate";
    let joined =
        |condition: &str| lowered(&format!("select l_tax from lineitem, orders where {condition}"));
    // One pair of seven has equal numbers, one of hundreds the dates.
    let plan = joined(&format!("l_linenumber = o_shippriority and {dates}"));
    assert!(plan.contains("RangeJoin") && plan.contains("filter=eq"), "{plan}");
    let plan = joined(&format!("l_orderkey = o_orderkey and {dates}"));
    assert!(plan.contains("HashJoin"), "{plan}");
    let plan = joined("l_linenumber = o_shippriority and o_orderdate >= l_shipdate");
    assert!(plan.contains("HashJoin"), "{plan}");
    // Nothing is known of these.
    let plan = joined("l_linenumber = o_shippriority and l_shipinstruct < o_clerk");
    assert!(plan.contains("HashJoin"), "{plan}");
}

#[test]
fn comparisons_that_most_pairs_satisfy_are_tested_with_the_rest() {
    let joined = |condition: &str| lowered(&format!("select t.c from t join u on {condition}"));
    assert!(joined("t.b > u.e").contains("RangeJoin"));
    let plan = joined("t.b > u.e and t.d * u.e > 3");
    assert!(plan.contains("NestedLoopJoin"), "{plan}");
    let plan = joined("t.b < u.e and t.d * u.e > 3");
    assert!(plan.contains("RangeJoin"), "{plan}");
}
