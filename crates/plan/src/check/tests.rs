use crate::{
    Aggregate, AggregateStep, AggregationNode, Columns, HashJoinNode, JoinKind, LimitNode,
    PlanBuilder, PlanNode, PlanNodeId, ProjectNode, RecursiveUnionNode, SampleMethod, SampleNode,
    SortKey, SpoolNode, UnionNode, WorkingTableNode,
};
use std::sync::Arc;
use volley_error::{ErrorKind, Result};
use volley_expression::{Expr, SourceSpan};
use volley_function::Registry;
use volley_types::{Field, Schema, Type, Value, custom::HyperLogLog};

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new())
}

fn numbers() -> PlanBuilder {
    let columns = [("n", Type::BigInt), ("t", Type::Varchar), ("h", HyperLogLog::data_type())];
    PlanBuilder::new(&registry()).values(&columns, Vec::new())
}

fn input() -> Arc<PlanNode> {
    numbers().build().unwrap()
}

fn schema(types: &[Type]) -> Schema {
    types.iter().map(|it| Field::new("c", it.clone())).collect()
}

#[track_caller]
fn refused(plan: PlanNode, message: &str) {
    let error = plan.check(&registry()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidQuery, message));
}

#[track_caller]
fn refused_build(plan: PlanBuilder, message: &str) {
    let error = plan.build().and_then(|it| it.check(&registry())).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidQuery, message));
}

#[test]
fn columns_are_there_and_of_their_types() {
    let project = |expr: Expr, types: &[Type]| {
        PlanNode::Project(ProjectNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input(),
            exprs: vec![expr],
            schema: schema(types),
        })
    };
    refused(project(Expr::column(3, Type::BigInt), &[Type::BigInt]), "column #3 of 3");
    let message = "column #1 is VARCHAR, and not BIGINT";
    refused(project(Expr::column(1, Type::BigInt), &[Type::BigInt]), message);
    let column = || Expr::column(1, Type::Varchar);
    refused(project(column(), &[Type::BigInt]), "output column c is BIGINT, and not VARCHAR");
    refused(project(column(), &[]), "0 output columns, and not 1");
    refused(project(column(), &[Type::Varchar, Type::Varchar]), "2 output columns, and not 1");
    project(column(), &[Type::Varchar]).check(&registry()).unwrap();
}

#[test]
fn conditions_are_boolean() {
    let number = |c: &Columns| -> Result<Expr> { c.column("n") };
    let message = "the condition is BIGINT, and not BOOLEAN";
    refused_build(numbers().filter(number), message);
    let join = numbers().nested_loop_join(JoinKind::Inner, numbers());
    refused_build(join.join_condition(number), message);
}

#[test]
fn keys_can_be_compared() {
    let sketch = HyperLogLog::data_type().to_string();
    let message = format!("values of {sketch} as keys");
    refused_build(numbers().order_by(&["h"]), &message);
    refused_build(numbers().aggregate(&["h"], &[]), &message);
    refused_build(numbers().partition(&["h"]), &message);
    refused_build(numbers().hash_join(JoinKind::Inner, numbers(), &[("h", "h")]), &message);
}

#[test]
fn sides_of_joins_agree() {
    let message = "the build side's key is VARCHAR, and not BIGINT";
    refused_build(numbers().hash_join(JoinKind::Inner, numbers(), &[("n", "t")]), message);
    let message = "a hash join without keys";
    refused_build(numbers().hash_join(JoinKind::Inner, numbers(), &[]), message);
    let join = |output: Vec<usize>, nulls_equal: Vec<bool>| {
        PlanNode::HashJoin(HashJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            dynamic_filters: Vec::new(),
            probe: input(),
            build: input(),
            kind: JoinKind::LeftMark,
            probe_keys: vec![0],
            build_keys: vec![0],
            nulls_equal,
            filter: None,
            null_aware: false,
            output,
            schema: schema(&[Type::Boolean]),
        })
    };
    join(vec![3], vec![true]).check(&registry()).unwrap();
    refused(join(vec![4], vec![true]), "column #4 of 4");
    refused(join(vec![0], vec![true]), "output column c is BOOLEAN, and not BIGINT");
    refused(join(vec![3], vec![]), "another number of keys on the other side");
}

#[test]
fn functions_are_known() {
    let aggregate = Aggregate {
        function: "nonesuch".to_owned(),
        args: vec![0],
        arg_types: vec![Type::BigInt],
        distinct: false,
        merges: false,
        filter: None,
        order_by: Vec::new(),
        place: SourceSpan::default(),
    };
    let plan = PlanNode::Aggregation(AggregationNode {
        node_id: PlanNodeId::UNASSIGNED,
        input: input(),
        step: AggregateStep::Single,
        keys: Vec::new(),
        aggregates: vec![aggregate],
        schema: schema(&[Type::BigInt]),
    });
    let error = plan.check(&registry()).unwrap_err();
    assert!(error.message().contains("nonesuch"), "{error}");
    assert!(error.to_string().contains("Aggregation"), "{error}");
}

#[test]
fn only_shared_nodes_have_several_readers() {
    let union = |inputs: Vec<Arc<PlanNode>>| {
        let schema = input().schema().clone();
        PlanNode::Union(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs, schema })
    };
    let node = input();
    let message = "a node that is not shared has several readers";
    refused(union(vec![Arc::clone(&node), Arc::clone(&node)]), message);
    let shared = |id, input: &Arc<PlanNode>| {
        Arc::new(PlanNode::Spool(SpoolNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            input: Arc::clone(input),
        }))
    };
    union(vec![shared(1, &node), shared(1, &node)]).check(&registry()).unwrap();
    let message = "shared nodes 1 of several inputs";
    refused(union(vec![shared(1, &node), shared(1, &input())]), message);
    refused(union(Vec::new()), "a union of nothing");
    let within = Arc::new(union(vec![shared(1, &node)]));
    let limited = PlanNode::Limit(LimitNode {
        node_id: PlanNodeId::UNASSIGNED,
        input: within,
        offset: 0,
        limit: None,
    });
    limited.check(&registry()).unwrap();
}

#[test]
fn working_tables_stand_in_their_recursions() {
    let table = |id: u32, types: &[Type]| {
        let node = WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            name: "r".to_owned(),
            schema: schema(types),
        };
        Arc::new(PlanNode::WorkingTable(node))
    };
    let types: Vec<Type> = input().schema().types().cloned().collect();
    let recursion = |anchor: Arc<PlanNode>, step: Arc<PlanNode>| {
        let (kept, distinct, schema) = (Vec::new(), false, schema(&types));
        let node = RecursiveUnionNode {
            node_id: PlanNodeId::UNASSIGNED,
            id: 1,
            anchor,
            step,
            kept,
            distinct,
            keys: Vec::new(),
            reads_all: false,
            schema,
        };
        PlanNode::RecursiveUnion(node)
    };
    recursion(input(), table(1, &types)).check(&registry()).unwrap();
    refused(recursion(input(), table(2, &types)), "working table r of no recursion");
    refused(recursion(table(1, &types), input()), "working table r of no recursion");
    let short = table(1, &types[..1]);
    refused(recursion(input(), short), "1 output columns, and not 3");
    refused(recursion(input(), table(1, &[Type::Date])), "1 output columns, and not 3");
}

#[test]
fn shares_are_probabilities() {
    for share in [-0.1, 1.1, f64::NAN] {
        let sample = SampleNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input(),
            method: SampleMethod::Rows(share),
            seed: None,
            schema: input().schema().clone(),
        };
        refused(PlanNode::Sample(sample), &format!("probability {share}"));
    }
}

#[test]
fn rows_have_a_value_for_each_column() {
    let plan = PlanBuilder::new(&registry())
        .values(&[("n", Type::BigInt)], vec![vec![Value::Null, Value::Null]]);
    refused_build(plan, "a row of another number of values");
}

#[test]
fn keys_of_orders_are_columns() {
    let keys = vec![SortKey { column: 9, descending: false, nulls_first: false }];
    refused(
        PlanNode::OrderBy(crate::OrderByNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input(),
            keys,
        }),
        "column #9 of 3",
    );
}
