use crate::{JoinKind, PlanBuilder};
use std::sync::Arc;
use volley_function::Registry;
use volley_types::{Type, Value};

fn numbers() -> PlanBuilder {
    let rows = (1..=2).map(|it| vec![Value::BigInt(it), Value::Null]).collect();
    PlanBuilder::new(&Arc::new(Registry::new()))
        .values(&[("a", Type::BigInt), ("b", Type::Varchar)], rows)
}

#[track_caller]
fn check(plan: PlanBuilder, expected: &str) {
    assert_eq!(plan.build().unwrap().to_string(), expected);
}

#[test]
fn a_plan_prints_as_a_tree() {
    check(
        numbers()
            .nested_loop_join(JoinKind::LeftMark, numbers().limit(3, 4))
            .join_condition(|c| Ok(c.is_null(c.column("#3")?)))
            .top_n(&["mark desc"], 1, 2),
        "\
TopN #2 desc limit=2 offset=1
  NestedLoopJoin left mark on is_null(#3) output=[#0 as a, #1 as b, #2 as mark]
    Values (1, NULL), (2, NULL)
    Limit 4 offset=3
      Values (1, NULL), (2, NULL)
",
    );
}

#[test]
fn a_shared_subplan_prints_once() {
    let shared = numbers().shared(1);
    check(
        shared.clone().union(vec![shared]),
        "\
Union inputs=2
  Shared 1
    Values (1, NULL), (2, NULL)
  Shared 1 (above)
",
    );
}

#[test]
fn the_first_error_is_kept() {
    let error = numbers().order_by(&["aa"]).limit(0, 1).order_by(&["zz"]).build().unwrap_err();
    assert_eq!(error.message(), "no such column: aa");
    assert_eq!(error.hint_text(), Some("did you mean a?"));
}

#[test]
fn very_deep_plans_print_and_drop_without_recursion() {
    let mut plan = numbers();
    for _ in 0..200_000 {
        plan = plan.limit(0, 1);
    }
    let plan = plan.build().unwrap();
    assert_eq!(plan.walk().len(), 200_001);
    drop(plan);
}
