//! Very large queries are planned quickly and without overflowing the stack.

use crate::testing::plan_without;
use std::fmt::Write;

#[test]
fn ten_thousand_terms_of_or_become_a_list() {
    let mut sql = "select a from t where a = 0".to_owned();
    for number in 1..10_000 {
        write!(sql, " or a = {number}").expect("strings grow");
    }
    let planned = plan_without(&sql, &[]).expect("it plans");
    assert!(planned.logical.to_string().contains("in(a, 0, 1, 2, "));
}

#[test]
fn ten_thousand_different_terms_of_or_plan() {
    let mut sql = "select a from t where a = 0".to_owned();
    for number in 1..10_000 {
        write!(sql, " or a = b + {number}").expect("strings grow");
    }
    assert!(plan_without(&sql, &[]).is_ok());
}

#[test]
fn two_thousand_inputs_of_a_union_plan() {
    let sql = vec!["select a from t"; 2_000].join(" union all ");
    let planned = plan_without(&sql, &[]).expect("it plans");
    assert_eq!(planned.logical.to_string().matches("Scan t").count(), 2_000);
}

#[test]
fn three_hundred_inputs_of_a_join_plan() {
    let mut sql = "select count(*) from t t0".to_owned();
    for number in 1..300 {
        write!(sql, " join t t{number} on t{number}.a = t{}.b", number - 1).expect("strings grow");
    }
    assert!(plan_without(&sql, &[]).is_ok());
}

#[test]
fn a_hundred_levels_of_subqueries_plan() {
    let mut sql = "select a from t".to_owned();
    for level in 0..100 {
        sql = format!("select a from ({sql}) x{level}");
    }
    assert!(plan_without(&sql, &[]).is_ok());
}
