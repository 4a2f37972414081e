use super::*;
use crate::{JoinKind, LimitNode, PlanBuilder};
use volley_function::Registry;
use volley_types::{Type, Value};

fn numbers() -> PlanBuilder {
    let rows = (0..3).map(|it| vec![Value::BigInt(it)]).collect();
    PlanBuilder::new(&Arc::new(Registry::new())).values(&[("n", Type::BigInt)], rows)
}

fn ids(plan: &PlanNode) -> Vec<u32> {
    plan.walk().iter().map(|it| it.node.id().number()).collect()
}

#[test]
fn builders_number_nodes_in_the_order_of_the_walk() {
    let side = || numbers().limit(0, 5);
    let plan = side().hash_join(JoinKind::Inner, side(), &[("n", "n")]).build().unwrap();
    assert_eq!(ids(&plan), [0, 1, 2, 3, 4]);
    assert!(plan.check_ids().is_ok());
}

#[test]
fn readers_of_a_shared_subplan_have_one_id() {
    let shared = numbers().limit(0, 5).shared(7);
    let plan = shared.clone().limit(0, 1).union(vec![shared.clone(), shared]).build().unwrap();
    assert_eq!(ids(&plan), [0, 1, 2, 3, 4, 2, 2]);
    assert!(plan.check_ids().is_ok());
    assert_eq!(ids(&PlanNode::numbered(plan)), [0, 1, 2, 3, 4, 2, 2]);
}

#[test]
fn a_subplan_in_two_places_becomes_two() {
    let twice = numbers().limit(0, 5);
    let plan = twice.clone().union(vec![twice]).build().unwrap();
    assert_eq!(ids(&plan), [0, 1, 2, 3, 4]);
    let inputs = plan.inputs();
    assert!(!Arc::ptr_eq(inputs[0], inputs[1]));
}

#[test]
fn nodes_without_ids_and_with_the_same_are_refused() {
    let input = numbers().build().unwrap();
    let limit = |node_id, input: &Arc<PlanNode>| {
        let input = Arc::clone(input);
        Arc::new(PlanNode::Limit(LimitNode { node_id, input, offset: 0, limit: None }))
    };
    let none = limit(PlanNodeId::UNASSIGNED, &input);
    let error = none.check_ids().unwrap_err();
    assert_eq!(error.message(), "a plan node has no id");
    assert!(error.hint_text().unwrap().contains("PlanNode::numbered"));
    let same = limit(PlanNodeId::new(0), &input);
    assert_eq!(same.check_ids().unwrap_err().message(), "several plan nodes have the id 0");
    assert!(limit(PlanNodeId::new(9), &input).check_ids().is_ok());
    assert_eq!(ids(&PlanNode::numbered(none)), [0, 1]);
    let text = [PlanNodeId::new(9), PlanNodeId::UNASSIGNED].map(|it| it.to_string());
    assert_eq!(text, ["9", "none"]);
}

#[test]
fn rows_of_a_plan_with_one_reader_are_not_copied() {
    let plan = numbers().limit(0, 5).unnumbered().unwrap();
    let values = |plan: &PlanNode| match &**plan.inputs()[0] {
        PlanNode::Values(node) => node.rows.as_ptr(),
        _ => std::ptr::null(),
    };
    let before = values(&plan);
    assert_eq!(values(&PlanNode::numbered(plan)), before);
}

#[test]
fn deep_plans_take_no_stack() {
    let mut plan = numbers();
    for _ in 0..100_000 {
        plan = plan.limit(0, 5);
    }
    assert_eq!(ids(&plan.build().unwrap()).last(), Some(&100_000));
}
