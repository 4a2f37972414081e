//! Aggregations with several lists of DISTINCT arguments.

use crate::testing::plan_for;

fn logical(sql: &str) -> String {
    plan_for(sql, &[], 2).expect("it plans").logical.to_string()
}

/// Checks how often these texts are in the plan of a query.
fn check(sql: &str, expected: &[(&str, usize)]) {
    let text = logical(sql);
    for (part, count) in expected {
        assert_eq!(text.matches(part).count(), *count, "{part}\n{text}");
    }
}

#[test]
fn each_list_of_distinct_arguments_reads_its_own_columns() {
    check(
        "select count(distinct a), sum(d), count(distinct b), sum(distinct a) from s",
        &[
            ("Aggregate", 3),
            ("Join inner", 2),
            ("Scan s [a", 1),
            ("Scan s [b", 1),
            ("Scan s [d", 1),
        ],
    );
    check(
        "select count(distinct a) + count(distinct b) as n from s where c = 'x' \
         having count(*) > 5",
        &[("Aggregate", 3), ("Scan s", 3), ("Filter", 1)],
    );
}

#[test]
fn calls_that_nobody_reads_are_not_made() {
    check(
        "select n from (select count(distinct a) as n, count(distinct b) as m from s) t",
        &[("Aggregate", 1), ("Join", 0), ("Scan s", 1)],
    );
}

#[test]
fn filters_of_all_calls_are_those_of_rows_without_keys() {
    check(
        "select count(distinct a) filter (where b > 3), count(distinct a), sum(b) from s",
        &[("Aggregate", 3), (" where gt(b", 1), ("Scan s", 3)],
    );
}

#[test]
fn few_groups_are_joined_by_their_keys() {
    check(
        "select a + 1, count(distinct b) filter (where d > 0), count(distinct c) from s \
         group by a + 1",
        &[("Aggregate", 2), ("Join inner on is_not_distinct_from", 1), ("Scan s", 2)],
    );
}

#[test]
fn rows_that_cost_much_or_differ_from_run_to_run_are_made_once() {
    // Definitions are printed below each reference.
    check(
        "select count(distinct s.b), count(distinct u.e) from s join u on s.a = u.a",
        &[("CteRef shared", 2), ("Aggregate", 2)],
    );
    check(
        "select count(distinct a), count(distinct r) from (select a, random() as r from s) t",
        &[("CteRef shared", 2), ("Aggregate", 2)],
    );
    check(
        "with x as materialized (select b, c from s where b > 3) \
         select count(distinct b), count(distinct c), count(*) from x",
        &[("CteRef x", 3), ("CteRef shared", 0), ("Aggregate", 3)],
    );
}

#[test]
fn calls_in_one_step_do_not_hold_back_the_others() {
    check(
        "select count(distinct a), sum(distinct d order by b), array_agg(b), sum(d) from s",
        &[("Aggregate", 3), ("Scan s", 3)],
    );
}

#[test]
fn other_aggregations_are_not_split() {
    for sql in [
        "select count(distinct a), sum(distinct a), sum(b), count(*) from s",
        "select b, c, count(distinct a), count(distinct d) from s group by b, c",
        "select array_agg(a), sum(distinct b order by b), count(*) from s",
        "select count(distinct a), count(distinct b + random()) from s",
    ] {
        check(sql, &[("Aggregate", 1), ("Join", 0)]);
    }
}

#[test]
fn one_driver_finds_distinct_arguments_in_one_step() {
    for (sql, count) in [
        ("select a, count(distinct b), sum(d) from s group by a", 1),
        ("select count(distinct a), count(distinct b) from s", 2),
        ("select count(distinct a order by b) from s", 0),
    ] {
        let text = plan_for(sql, &[], 1).expect("it plans").lowered.to_string();
        assert_eq!(text.matches("Aggregation PartialOnce").count(), count, "{text}");
        assert!(!text.contains("Intermediate") && !text.contains("Exchange"), "{text}");
    }
}

#[test]
fn distinct_arguments_that_pass_a_filter_are_found_by_all_drivers() {
    let sql = "select a, count(distinct b) filter (where d > 0) from s group by a";
    let text = plan_for(sql, &[], 2).expect("it plans").lowered.to_string();
    assert!(text.contains("Aggregation Intermediate keys=[#0, #1, #2]"), "{text}");
    assert!(text.contains("aggregates=[count(#1) filter #2]"), "{text}");
}
