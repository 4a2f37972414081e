use crate::test_kit::{
    A, InputEncoding, SETUPS, Setup, TestTables, config, drain, drop_whole, registry, run,
    run_limited,
};
use std::{collections::BTreeSet, sync::Arc};
use volley_exec::{Executor, Task};
use volley_plan::{
    HashJoinNode, JoinKind, LoopInvariant, PlanBuilder, PlanNode, PlanNodeId, RecursiveUnionNode,
    WorkingTableNode,
};
use volley_testkit::{RowValues, integers, sorted};
use volley_types::{Schema, Type, Value};

/// All that can be reached from the first row of `starts` by `edges`.
fn reach(tables: &TestTables, distinct: bool) -> PlanBuilder {
    let anchor = tables.scan("starts").build().unwrap();
    let edges = tables.scan("edges").build().unwrap();
    let schema: Schema = anchor.schema().clone();
    let working = |id, name: &str, schema: &Schema| {
        let (name, schema) = (name.to_owned(), schema.clone());
        Arc::new(PlanNode::WorkingTable(WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            name,
            schema,
        }))
    };
    let join = HashJoinNode {
        node_id: PlanNodeId::UNASSIGNED,
        dynamic_filters: Vec::new(),
        kind: JoinKind::Inner,
        probe: working(0, "t", &schema),
        build: working(1, "edges", edges.schema()),
        probe_keys: vec![0],
        build_keys: vec![0],
        nulls_equal: vec![false],
        filter: None,
        null_aware: false,
        output: vec![2],
        schema: schema.clone(),
    };
    let node = RecursiveUnionNode {
        node_id: PlanNodeId::UNASSIGNED,
        id: 0,
        anchor,
        step: Arc::new(PlanNode::HashJoin(join)),
        kept: vec![LoopInvariant { id: 1, input: edges }],
        distinct,
        keys: Vec::new(),
        reads_all: false,
        schema,
    };
    PlanBuilder::from_plan(&registry(), Arc::new(PlanNode::RecursiveUnion(node)))
}

fn tables(starts: &[i64], edges: &[(i64, i64)], manners: InputEncoding) -> TestTables {
    let columns = [("a", Type::BigInt), ("b", Type::BigInt)];
    let rows = edges.iter().map(|(a, b)| vec![Value::BigInt(*a), Value::BigInt(*b)]);
    TestTables::default().with("starts", &A, integers(starts.iter().copied()), manners).with(
        "edges",
        &columns,
        rows.collect(),
        manners,
    )
}

/// By definition: with every way to a node, or each node once.
fn expected(starts: &[i64], edges: &[(i64, i64)], distinct: bool) -> RowValues {
    let (mut seen, mut all, mut last) = (BTreeSet::new(), Vec::new(), starts.to_vec());
    while !last.is_empty() {
        if distinct {
            last.retain(|it| seen.insert(*it));
        }
        all.extend(&last);
        let next = |from: &i64| {
            let from = *from;
            edges.iter().filter(move |it| it.0 == from).map(|it| it.1)
        };
        last = last.iter().flat_map(next).collect();
    }
    sorted(integers(all))
}

#[test]
fn rows_come_until_an_iteration_makes_none() {
    let edges: Vec<(i64, i64)> = (0..60).flat_map(|it| [(it, it * 3 % 61), (it, it + 7)]).collect();
    let acyclic: Vec<(i64, i64)> = (0..40).flat_map(|it| [(it, it + 9), (it, it + 13)]).collect();
    for manners in InputEncoding::WHOLE {
        for (starts, edges, distinct) in [
            (&[0, 5, 5][..], &edges, true),
            (&[][..], &edges, true),
            (&[1000][..], &edges, true),
            (&[0, 5, 5][..], &acyclic, true),
            (&[0, 5, 5][..], &acyclic, false),
            (&[][..], &acyclic, false),
        ] {
            let tables = tables(starts, edges, manners);
            let expected = expected(starts, edges, distinct);
            for setup in SETUPS {
                let rows = run(reach(&tables, distinct), &tables, setup).unwrap();
                assert_eq!(sorted(rows), expected, "{manners:?} {setup:?} {distinct}");
            }
        }
    }
}

#[test]
fn rows_that_came_before_are_found_on_disk() {
    let nodes = 60_000;
    let edges: Vec<(i64, i64)> =
        (0..nodes).flat_map(|it| [(it, it * 2 % nodes), (it, (it * 2 + 1) % nodes)]).collect();
    let tables = tables(&[0], &edges, InputEncoding::Flat);
    let plan = reach(&tables, true).build().unwrap();
    let whole = run_limited(&plan, &tables, SETUPS[5], None, None);
    let all = sorted(whole.rows.unwrap());
    assert_eq!(all.len(), nodes as usize);
    let run = run_limited(&plan, &tables, SETUPS[2], Some(10 << 20), None);
    assert!(sorted(run.rows.unwrap()) == all);
    assert!(run.spilled_bytes > 0 && whole.spilled_bytes == 0);
}

/// Counts from each row of `starts` up to `end`, by a step that filters and computes.
#[derive(Clone, Copy)]
enum Counting {
    /// One filter and one projection.
    Direct,
    /// The twin: with a second projection above.
    Lowered,
}

fn count(tables: &TestTables, end: i64, counting: Counting) -> PlanBuilder {
    let anchor = tables.scan("starts").build().unwrap();
    let working = PlanNode::WorkingTable(WorkingTableNode {
        node_id: PlanNodeId::UNASSIGNED,
        id: 0,
        name: "t".to_owned(),
        schema: anchor.schema().clone(),
    });
    let step = PlanBuilder::from_plan(&registry(), Arc::new(working))
        .filter(|c| c.call("lt", [c.column("a")?, c.integer(end)]))
        .project(|c| Ok(vec![("a", c.call("plus", [c.column("a")?, c.integer(1)])?)]));
    let step = match counting {
        Counting::Direct => step,
        Counting::Lowered => step.project(|c| Ok(vec![("a", c.column("a")?)])),
    };
    let node = RecursiveUnionNode {
        node_id: PlanNodeId::UNASSIGNED,
        id: 0,
        schema: anchor.schema().clone(),
        anchor,
        step: step.build().unwrap(),
        kept: Vec::new(),
        distinct: false,
        keys: Vec::new(),
        reads_all: false,
    };
    PlanBuilder::from_plan(&registry(), Arc::new(PlanNode::RecursiveUnion(node)))
}

/// How many iterations ran without lowering.
fn direct_iterations(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> u64 {
    let executor = Executor::new(setup.threads).unwrap();
    let task = Task::start(config(plan.build().unwrap(), tables, setup), &executor).unwrap();
    let rows = drain(&task);
    let statistics = task.statistics();
    let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
    let counted = operators.map(|it| it.counted("direct iterations")).sum();
    rows.unwrap();
    drop_whole(task, executor);
    counted
}

#[test]
fn steps_that_filter_and_compute_run_without_lowering() {
    let many: Vec<i64> = (0..1100).collect();
    for manners in [InputEncoding::Flat, InputEncoding::Lazy] {
        for (starts, end) in [(&[0][..], 20), (&[], 9), (&[9], 9), (&[1, 5, 5, -3], 8), (&many, 10)]
        {
            let columns = [("a", Type::BigInt)];
            let rows = integers(starts.iter().copied());
            let tables = TestTables::default().with("starts", &columns, rows, manners);
            let expected: Vec<i64> = starts.iter().flat_map(|it| *it..=end.max(*it)).collect();
            let expected = sorted(integers(expected));
            for setup in SETUPS {
                for counting in [Counting::Direct, Counting::Lowered] {
                    let rows = run(count(&tables, end, counting), &tables, setup);
                    assert_eq!(sorted(rows.unwrap()), expected, "{manners:?} {setup:?} {end}");
                }
            }
        }
    }
}

#[test]
fn only_iterations_of_few_rows_run_without_lowering() {
    let few = TestTables::default().with("starts", &A, integers([0, 3]), InputEncoding::Flat);
    let many = TestTables::default().with("starts", &A, integers(0..1100), InputEncoding::Flat);
    for setup in SETUPS {
        let direct =
            |tables, end, counting| direct_iterations(count(tables, end, counting), tables, setup);
        assert_eq!(direct(&few, 50, Counting::Direct), 51, "{setup:?}");
        assert_eq!(direct(&few, 50, Counting::Lowered), 0, "{setup:?}");
        // The first iteration is over more than 1,024 rows.
        assert_eq!(direct(&many, 30, Counting::Direct), 30, "{setup:?}");
    }
}

#[test]
fn a_limit_ends_a_recursion_without_an_end() {
    let tables = tables(&[0], &[(0, 1), (1, 0)], InputEncoding::Flat);
    for setup in SETUPS {
        let rows = run(reach(&tables, false).limit(2, 4), &tables, setup).unwrap();
        assert_eq!(rows, integers([0, 1, 0, 1]), "{setup:?}");
    }
}
