//! Which pipelines plans are cut into.

use crate::test_kit::{A, InputEncoding, SETUPS, Setup, TestTables, config, plan};

use volley_exec::{Executor, OperatorStatistics, Task};
use volley_plan::{JoinKind, PlanBuilder};
use volley_testkit::integers;

/// The pipelines of a plan with up to three drivers: `drivers x source, operator, ..., sink`.
fn pipelines(plan: PlanBuilder, tables: &TestTables) -> Vec<String> {
    let setup = Setup { drivers: 3, ..SETUPS[0] };
    let executor = Executor::new(1).unwrap();
    let task = Task::start(config(plan.build().unwrap(), tables, setup), &executor).unwrap();
    let mut operators: Vec<OperatorStatistics> =
        task.statistics().nodes.into_iter().flat_map(|it| it.operators).collect();
    operators.sort_by_key(|it| (it.pipeline, it.position));
    let line = |it: &[OperatorStatistics]| {
        let names: Vec<_> = it.iter().map(|it| it.name).collect();
        format!("{} x {}", it[0].drivers.len(), names.join(", "))
    };
    operators.chunk_by(|a, b| a.pipeline == b.pipeline).map(line).collect()
}

#[track_caller]
fn check(plan: PlanBuilder, expected: &[&str]) {
    assert_eq!(pipelines(plan, &tables()), expected);
}

fn tables() -> TestTables {
    TestTables::one(&A, integers(0..10), InputEncoding::Flat)
}

fn scan() -> PlanBuilder {
    tables().scan("t")
}

fn filtered() -> PlanBuilder {
    scan().filter(|c| c.call("gt", [c.column("a")?, c.integer(0)]))
}

#[test]
fn a_filter_and_the_projection_above_it_are_one_operator() {
    let plan = filtered().project(|c| Ok(vec![("b", c.column("a")?)]));
    check(plan.clone(), &["3 x table scan, filter project, result"]);
    let again = plan.filter(|c| Ok(c.is_null(c.column("b")?)));
    check(again, &["3 x table scan, filter project, filter, result"]);
}

#[test]
fn what_needs_one_stream_gets_a_gather() {
    check(
        scan().order_by(&["a"]),
        &["3 x table scan, order by, local merge sender", "1 x local merge receiver, result"],
    );
    check(
        scan().top_n(&["a"], 0, 1),
        &[
            "3 x table scan, top n, local exchange sender",
            "1 x local exchange receiver, top n, result",
        ],
    );
    check(
        scan().limit(0, 1),
        &[
            "3 x table scan, limit, local exchange sender",
            "1 x local exchange receiver, limit, result",
        ],
    );
}

#[test]
fn what_is_one_stream_gets_no_gather() {
    let values = || plan().values(&A, integers(0..3));
    check(values().order_by(&["a"]).limit(0, 1), &["1 x values, order by, limit, result"]);
    check(
        values().gather().partition(&["a"]),
        &["1 x values, local exchange sender", "3 x local exchange receiver, result"],
    );
}

#[test]
fn rows_of_a_group_are_brought_together_once() {
    let exchange = "3 x table scan, local exchange sender";
    check(scan().distinct(), &[exchange, "3 x local exchange receiver, aggregation, result"]);
    check(
        scan().partition(&["a"]).filter(|c| Ok(c.is_null(c.column("a")?))).distinct(),
        &[exchange, "3 x local exchange receiver, filter, aggregation, result"],
    );
    check(
        scan().aggregate(&[], &[("n", "count", &[])]),
        &[exchange, "1 x local exchange receiver, aggregation, result"],
    );
}

#[test]
fn a_join_is_two_pipelines() {
    check(
        scan().hash_join(JoinKind::Inner, filtered(), &[("a", "a")]),
        &["3 x table scan, filter, hash join build", "3 x table scan, hash join probe, result"],
    );
}

#[test]
fn a_shared_subplan_runs_once() {
    let shared = scan().shared(1);
    check(
        shared.clone().nested_loop_join(JoinKind::Inner, shared),
        &[
            "3 x table scan, shared writer",
            "3 x shared reader, nested loop join build",
            "3 x shared reader, nested loop join probe, result",
        ],
    );
}
