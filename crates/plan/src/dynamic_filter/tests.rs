use super::*;
use crate::{JoinKind, PlanBuilder, TableHandle};
use std::sync::Arc;
use volley_function::Registry;
use volley_types::{Field, Schema, Type};

fn scan(table: &str) -> PlanBuilder {
    let handle = TableHandle { connector: "test".to_owned(), table: table.to_owned() };
    let fields = ["x", "a", "b"].map(|it| Field::new(it, Type::BigInt));
    let schema = Schema::new(fields.into());
    PlanBuilder::new(&Arc::new(Registry::new())).scan(handle, &schema, &["a", "b"])
}

/// What is made, as `node: filter(key)`, and what is applied, as `table: filter(column)`.
fn filters(plan: &PlanNode) -> Vec<String> {
    let mut found = Vec::new();
    for visit in plan.walk() {
        match visit.node {
            PlanNode::HashJoin(node) => {
                let made = node.dynamic_filters.iter();
                found.extend(made.map(|it| format!("join: {}({})", it.id, it.key)));
            }
            PlanNode::TopN(node) => {
                found.extend(node.dynamic_filter.iter().map(|it| format!("top: {it}")));
            }
            PlanNode::TableScan(node) => {
                let applied = node.dynamic_filters.iter();
                let table = &node.table.table;
                found.extend(applied.map(|it| format!("{table}: {}({})", it.id, it.column)));
            }
            _ => {}
        }
    }
    found
}

#[track_caller]
fn check(plan: PlanBuilder, expected: &[&str]) -> Arc<PlanNode> {
    let plan = plan.build().unwrap();
    assert_eq!(filters(&plan), expected);
    plan.check_dynamic_filters().unwrap();
    // They are found anew, and are the same.
    assert_eq!(filters(&PlanNode::numbered(Arc::clone(&plan))), expected);
    plan
}

#[test]
fn joins_and_top_n_nodes_filter_the_scans_below_them() {
    let keys: &[(&str, &str)] = &[("a", "a"), ("b", "b")];
    let join = |kind| scan("probe").hash_join(kind, scan("build"), keys);
    let both = ["join: 0(0)", "join: 1(1)", "probe: 0(1)", "probe: 1(2)"];
    check(join(JoinKind::Inner), &both);
    check(join(JoinKind::LeftSemi), &both);
    check(join(JoinKind::Left), &[]);
    check(scan("t").top_n(&["b desc"], 0, 5), &["top: 0", "t: 0(2)"]);
    check(scan("t").top_n(&["b"], 0, 1 << 20), &[]);
    check(scan("t").limit(0, 9).top_n(&["b"], 0, 5), &[]);
    let shared = scan("t").shared(1);
    let readers = shared.clone().hash_join(JoinKind::Inner, shared, &[("a", "a")]);
    check(readers, &[]);
    let two = scan("one").union(vec![scan("two")]).top_n(&["a"], 0, 1);
    check(two, &["top: 0", "one: 0(1)", "two: 0(1)"]);
}

#[test]
fn filters_survive_saving_and_loading() {
    let keys: &[(&str, &str)] = &[("a", "a")];
    let plan = scan("probe").hash_join(JoinKind::Inner, scan("build"), keys).top_n(&["b"], 0, 2);
    let plan = plan.build().unwrap();
    let expected = ["top: 0", "join: 1(0)", "probe: 0(2)", "probe: 1(1)"];
    assert_eq!(filters(&plan), expected);
    let again = PlanNode::from_bytes(&plan.to_bytes().unwrap(), &Registry::new()).unwrap();
    assert_eq!(filters(&again), expected);
}

/// The plan of a join with other filters noted.
fn with_filters(made: Vec<MadeFilter>, applied: Vec<AppliedFilter>) -> Result<()> {
    let join = scan("probe").hash_join(JoinKind::Inner, scan("build"), &[("a", "a")]);
    let plan = join.build().unwrap();
    let mut plan = (*plan).clone();
    let PlanNode::HashJoin(join) = &mut plan else { panic!("another node") };
    let mut probe = (*join.probe).clone();
    if let PlanNode::TableScan(scan) = &mut probe {
        scan.dynamic_filters = applied;
    }
    join.probe = Arc::new(probe);
    join.dynamic_filters = made;
    plan.check(&Registry::new())
}

#[test]
fn filters_that_would_drop_rows_that_are_needed_are_refused() {
    let id = DynamicFilterId::new;
    let made = |number, key| MadeFilter { id: id(number), key };
    let applied = |number, column| AppliedFilter { id: id(number), column };
    assert!(with_filters(vec![made(7, 0)], vec![applied(7, 1)]).is_ok());
    assert!(with_filters(vec![], vec![]).is_ok());
    // Made by another task, or for scans of another task.
    assert!(with_filters(vec![], vec![applied(7, 1)]).is_ok());
    assert!(with_filters(vec![made(7, 0)], vec![]).is_ok());
    let message = |made, applied| with_filters(made, applied).unwrap_err().message().to_owned();
    let dropped = "a dynamic filter drops rows that are needed";
    assert_eq!(message(vec![made(7, 0)], vec![applied(7, 2)]), dropped);
    assert_eq!(message(vec![made(7, 1)], vec![]), dropped);
    let twice = message(vec![made(7, 0), made(7, 0)], vec![]);
    assert_eq!(twice, "several nodes make the dynamic filter 7");
}
