//! A profile with figures of our own, for tests.

use crate::QueryProfile;
use std::{sync::Arc, time::Duration};
use volley_exec::{
    BlockedOn, DriverState, DriverTimeline, FilterCounts, MemorySample, NodeStatistics,
    OperatorCounts, OperatorStatistics, TaskStatistics, TaskTimeline, TimeSegment,
};
use volley_function::Registry;
use volley_plan::{JoinKind, PlanBuilder, PlanNode, PlanNodeId};
use volley_types::{Type, Value};

/// Limit (0) of a join (1) of two tables of literals (2 and 3).
pub(crate) fn plan() -> Arc<PlanNode> {
    let rows = |count: i64| (0..count).map(|it| vec![Value::BigInt(it)]).collect::<Vec<_>>();
    let values = |count| {
        PlanBuilder::new(&Arc::new(Registry::new())).values(&[("n", Type::BigInt)], rows(count))
    };
    let join = values(3).hash_join(JoinKind::Inner, values(2), &[("n", "n")]);
    join.limit(0, 5).build().expect("a plan")
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn operator(
    name: &'static str,
    (pipeline, position): (usize, usize),
    rows: &[(u64, u64)],
    busy: u64,
) -> OperatorStatistics {
    let counts = |(rows_in, rows_out): &(u64, u64)| OperatorCounts {
        rows_in: *rows_in,
        batches_in: rows_in.div_ceil(1000),
        rows_out: *rows_out,
        batches_out: rows_out.div_ceil(1000),
        busy: ms(busy),
        ..OperatorCounts::default()
    };
    let drivers = rows.iter().map(counts).collect();
    OperatorStatistics { name, pipeline, position, peak_bytes: 1 << 20, drivers }
}

/// A query of 100 ms on two drivers: a join that takes 120 of 160 ms on threads, spills, is skewed,
/// and makes 50 times the rows that were expected.
pub(crate) fn profile() -> QueryProfile {
    let (statistics, timeline) = run();
    let estimates = [(PlanNodeId::new(0), 5.0), (PlanNodeId::new(1), 1000.0)];
    let profile = QueryProfile {
        statement: "SELECT '<b>' FROM \"a\" & b".to_owned(),
        version: "1.2.3".to_owned(),
        settings: vec![("threads".to_owned(), "2".to_owned())],
        ..QueryProfile::of_plan(&plan(), &estimates)
    };
    profile.with_run(statistics, timeline, None)
}

/// What this number of tasks did that run the same plan.
pub(crate) fn runs(tasks: usize) -> Vec<(TaskStatistics, TaskTimeline)> {
    vec![run(); tasks]
}

fn run() -> (TaskStatistics, TaskTimeline) {
    let mut build = operator("hash join build", (0, 1), &[(2, 0)], 20);
    build.drivers[0].named = vec![("spilled bytes", 3 << 20), ("groups", 0), ("runs", 2)];
    build.drivers[0].encodings = vec![("dictionary", 1), ("flat", 3)];
    let kept = FilterCounts { text: "lt(#0, 3)".to_owned(), rows_in: 1000, rows_out: 250 };
    build.drivers[0].filters = vec![kept];
    let mut probe = operator("hash join probe", (1, 1), &[(9000, 45_000), (1000, 5000)], 50);
    probe.drivers[1].blocked = vec![(BlockedOn::Io, ms(45))];
    let nodes = vec![
        (
            0,
            vec![
                operator("limit", (1, 2), &[(45_000, 5), (5000, 0)], 0),
                operator("result", (1, 3), &[(5, 0), (0, 0)], 0),
            ],
        ),
        (1, vec![build, probe]),
        (2, vec![operator("values", (1, 0), &[(0, 9000), (0, 1000)], 15)]),
        (3, vec![operator("values", (0, 0), &[(0, 2)], 10)]),
    ];
    let node = |(id, operators)| NodeStatistics { id: PlanNodeId::new(id), operators };
    let statistics = TaskStatistics { nodes: nodes.into_iter().map(node).collect() };
    let segment = |state, position, start, end| TimeSegment {
        state,
        position,
        start: ms(start),
        end: ms(end),
    };
    let line = |pipeline, driver, segments| DriverTimeline { pipeline, driver, segments };
    let blocked = DriverState::Blocked(BlockedOn::Io);
    let timeline = TaskTimeline {
        elapsed: ms(100),
        drivers: vec![
            line(
                0,
                0,
                vec![
                    segment(DriverState::Running, 0, 0, 20),
                    segment(DriverState::Spilling, 1, 20, 30),
                ],
            ),
            line(1, 0, vec![segment(DriverState::Running, 1, 30, 100)]),
            line(
                1,
                1,
                vec![segment(blocked, 0, 30, 75), segment(DriverState::Running, 1, 75, 100)],
            ),
        ],
        memory: [(0, 0), (20, 5 << 20), (100, 1 << 20)]
            .map(|(at, bytes)| MemorySample { at: ms(at), bytes })
            .to_vec(),
    };
    (statistics, timeline)
}
