//! What operator tests share: tables in every encoding, ways to run, a harness for one operator.

mod harness;
mod table;

pub(crate) use harness::Harness;
pub(crate) use table::{Manners, TestTables};
pub(crate) use volley_testkit::{Random, RowValues, integers, rows_of, sorted};

use crate::{Executor, Priority, Task, TaskConfig};
use std::{
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};
use volley_connector::{RowSink, SinkFactory};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{PlanBuilder, PlanNode, TableWriteNode};
use volley_types::Type;

/// One way to run a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub threads: usize,
    pub drivers: usize,
    pub batch_rows: usize,
    /// Whether operators that can spill do so before every step.
    pub spill_always: bool,
}

impl Setup {
    const fn new(threads: usize, drivers: usize, batch_rows: usize) -> Setup {
        Setup { threads, drivers, batch_rows, spill_always: false }
    }
}

/// One thread and several, one driver and several, tiny and large batches, in memory and spilled.
pub(crate) const SETUPS: [Setup; 10] = [
    Setup::new(1, 1, 1024),
    Setup::new(1, 4, 1),
    Setup::new(1, 4, 1024),
    Setup::new(2, 1, 3),
    Setup::new(2, 4, 3),
    Setup::new(2, 4, 1024),
    Setup::new(3, 12, 3),
    Setup { spill_always: true, ..Setup::new(1, 1, 1024) },
    Setup { spill_always: true, ..Setup::new(2, 4, 3) },
    Setup { spill_always: true, ..Setup::new(1, 4, 1) },
];

/// A task configuration for tests.
pub(crate) fn config(plan: Arc<PlanNode>, tables: &TestTables, setup: Setup) -> TaskConfig {
    TaskConfig {
        plan,
        tables: Arc::new(tables.clone()),
        sinks: Arc::new(NoSinks),
        registry: registry(),
        lowerings: Arc::default(),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("query", None),
        spill: SpillSpace::new(std::env::temp_dir(), None),
        drivers: setup.drivers,
        batch_rows: setup.batch_rows,
        dynamic_filters: true,
        spill_always: setup.spill_always,
        priority: Priority::Normal,
    }
}

/// The functions of tests: all that there are.
pub(crate) fn registry() -> Arc<Registry> {
    static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        Arc::new(registry)
    });
    Arc::clone(&REGISTRY)
}

/// Starts a plan.
pub(crate) fn plan() -> PlanBuilder {
    PlanBuilder::new(&registry())
}

/// Runs a plan to its end; checks that no batch is empty or too large and that all memory is given
/// back.
pub(crate) fn run(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> Result<RowValues> {
    let executor = Executor::new(setup.threads)?;
    let config = config(plan.build()?, tables, setup);
    let pool = config.pool.clone();
    let task = Task::start(config, &executor)?;
    let rows = drain(&task);
    drop_whole(task, executor);
    assert_eq!(pool.stats().bytes, 0, "memory still held after the task");
    rows
}

/// How a task under limits went.
pub(crate) struct LimitedRun {
    pub rows: Result<RowValues>,
    /// By operators, without what was written of results that wait: how much that is depends on
    /// when they are read.
    pub spilled_bytes: u64,
}

/// Runs a plan with at most `limit` bytes of memory and `disk` bytes of spilled rows; checks that
/// it kept to its limit and that nothing is left.
pub(crate) fn run_limited(
    plan: &Arc<PlanNode>,
    tables: &TestTables,
    setup: Setup,
    limit: Option<usize>,
    disk: Option<u64>,
) -> LimitedRun {
    let mut config = config(Arc::clone(plan), tables, setup);
    config.pool = Pool::root("query", limit);
    config.spill = SpillSpace::new(std::env::temp_dir(), disk);
    let (pool, space) = (config.pool.clone(), config.spill.clone());
    let executor = Executor::new(setup.threads).unwrap();
    let task = Task::start(config, &executor).unwrap();
    let rows = drain(&task);
    let statistics = task.statistics();
    let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
    let operators = operators.filter(|it| it.name != "result");
    let spilled_bytes = operators.map(|it| it.counted("spilled bytes")).sum();
    drop_whole(task, executor);
    let may_spill = limit.is_some() || setup.spill_always;
    assert!(may_spill || space.stats().bytes_written == 0, "something was spilled");
    assert_eq!((pool.stats().bytes, space.stats().bytes), (0, 0), "something is left");
    assert!(pool.stats().peak_bytes <= limit.unwrap_or(usize::MAX));
    LimitedRun { rows, spilled_bytes }
}

/// Drops a task and the threads that it ran on; checks that this leaves nothing of it. How long the
/// task itself took.
pub(crate) fn drop_whole(task: Task, executor: Executor) -> Duration {
    let (handle, begin) = (task.handle(), Instant::now());
    drop(task);
    let took = begin.elapsed();
    drop(executor);
    // Threads of some tables hold wakers until they have woken them.
    while !handle.is_dead() {
        assert!(begin.elapsed() < Duration::from_secs(10), "something holds drivers of the task");
        thread::yield_now();
    }
    took
}

/// All rows of a task.
pub(crate) fn drain(task: &Task) -> Result<RowValues> {
    let mut rows = Vec::new();
    while let Some(batch) = task.next()? {
        assert!(batch.rows() > 0, "an empty batch");
        rows.extend(rows_of(&batch));
    }
    Ok(rows)
}

/// A BIGINT column `a`.
pub(crate) const A: [(&str, Type); 1] = [("a", Type::BigInt)];

struct NoSinks;

impl SinkFactory for NoSinks {
    fn open(&self, _node: &TableWriteNode, _types: &[Type]) -> Result<Box<dyn RowSink>> {
        Err(Error::unsupported("sinks"))
    }
}
