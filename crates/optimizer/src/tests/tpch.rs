//! The shapes of the plans of TPC-H.

use crate::testing::{optimized, plan_for};
use volley_tpch::QUERIES;

/// Lines of a plan that start with `what`.
fn count(plan: &str, what: &str) -> usize {
    plan.lines().filter(|it| it.trim_start().starts_with(what)).count()
}

#[test]
fn no_query_needs_a_domain_or_a_cross_product() {
    for (number, sql) in QUERIES.iter().enumerate() {
        let plan = optimized(sql);
        assert_eq!(plan.matches("CteRef outer").count(), 0, "query {}:\n{plan}", number + 1);
        let products = plan.lines().filter(|it| it.trim() == "Join inner").count();
        // Scalar subqueries of one row are joined without a condition.
        let single = plan.matches("SingleRow").count() + plan.matches("Aggregate []").count();
        assert!(products <= single, "query {}:\n{plan}", number + 1);
    }
}

#[test]
fn correlated_subqueries_become_the_joins_that_one_would_write() {
    let joins = |number: usize, kind: &str| {
        let plan = optimized(QUERIES[number - 1]);
        count(&plan, &format!("Join left {kind}")) + count(&plan, &format!("Join right {kind}"))
    };
    assert_eq!(joins(4, "semi"), 1);
    assert_eq!(joins(16, "anti"), 1);
    assert_eq!(joins(18, "semi"), 1);
    assert_eq!(joins(20, "semi"), 2);
    assert_eq!((joins(21, "semi"), joins(21, "anti")), (1, 1));
    assert_eq!(joins(22, "anti"), 1);
    for number in [2, 17, 20] {
        let plan = optimized(QUERIES[number - 1]);
        assert_eq!(count(&plan, "Join left on"), 0, "outer joins became inner:\n{plan}");
    }
}

#[test]
fn the_order_of_tables_does_not_move_semi_joins() {
    // Statistics of the test's tables say that few orders have a certain status: take the others.
    let sql = QUERIES[20].replace("o_orderstatus = 'F'", "o_orderstatus <> 'F'");
    let written = ["supplier", "lineitem l1", "orders", "nation"];
    let from = |tables: &[&str]| format!("from\n    {}\nwhere", tables.join(",\n    "));
    assert!(sql.contains(&from(&written)), "{sql}");
    let kinds = |plan: &str| {
        let lines = plan.lines().map(str::trim_start).filter(|it| it.starts_with("Join "));
        lines.map(|it| it.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let expected = kinds(&optimized(&sql));
    for first in 0..written.len() {
        for second in 1..written.len() {
            let mut tables = written;
            tables.swap(0, first);
            tables.swap(1, second);
            let plan = optimized(&sql.replace(&from(&written), &from(&tables)));
            assert_eq!(kinds(&plan), expected, "{tables:?}:\n{plan}");
        }
    }
}

#[test]
fn comparing_with_a_scalar_comes_before_an_anti_join() {
    let plan = optimized(QUERIES[21]);
    let at = |what: &str| plan.find(what).unwrap_or_else(|| panic!("no {what}:\n{plan}"));
    assert!(at("anti") < at("SingleRow"), "{plan}");
}

#[test]
fn filters_and_columns_reach_the_scans() {
    for (number, sql) in QUERIES.iter().enumerate() {
        let plan = optimized(sql);
        // What is left is HAVING, and what joins and other inputs decide.
        let filters = plan.lines().zip(plan.lines().skip(1));
        let late = filters.filter(|(filter, input)| {
            filter.trim_start().starts_with("Filter ") && input.trim_start().starts_with("Scan ")
        });
        assert_eq!(late.count(), 0, "query {}:\n{plan}", number + 1);
        assert!(!plan.contains("_comment") || [2, 10, 13, 16].contains(&(number + 1)), "{plan}");
    }
}

#[test]
fn aggregations_are_split_among_drivers() {
    let planned = plan_for(QUERIES[0], &[], 4).expect("it plans");
    let text = planned.lowered.to_string();
    assert!(text.to_lowercase().contains("partial"), "{text}");
    assert!(text.to_lowercase().contains("final"), "{text}");
}
