//! Runs plans and operators in tests: tables in every encoding, setups, a harness for one operator.
//!
//! ```text
//! TestTables ── scan ──> PlanBuilder ── Runner::run(setup) ──> RowValues   whole plans, by a task
//! batches ── Harness::feed ──> RowValues                                   one operator, by hand
//! ```
//!
//! Only `[dev-dependencies]` name this crate. It does not know how nodes run: a [`Runner`] is told.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod drive;
mod harness;
mod table;

pub use drive::{drive, operator_context};
pub use harness::{CountingWaker, Harness, Nothing};
pub use table::{InputEncoding, TestTables, test_split};

use std::{
    sync::{Arc, LazyLock},
    thread,
    time::{Duration, Instant},
};
use volley_error::Result;
use volley_exec::{Executor, LoweringRegistry, Priority, Task, TaskConfig, TaskPorts};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{PlanBuilder, PlanNode};
use volley_state::StateSizes;
use volley_testkit::{RowValues, rows_of};
use volley_types::Type;

/// One way to run a plan.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Threads of the executor.
    pub threads: usize,
    /// Drivers of a parallel pipeline.
    pub drivers: usize,
    /// The most rows of a batch.
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
pub const SETUPS: [Setup; 10] = [
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

/// The functions of tests: all that there are.
pub fn registry() -> Arc<Registry> {
    static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let mut registry = Registry::new();
        volley_functions::register(&mut registry);
        Arc::new(registry)
    });
    Arc::clone(&REGISTRY)
}

/// Starts a plan.
pub fn plan() -> PlanBuilder {
    PlanBuilder::new(&registry())
}

/// Runs plans whose nodes run as a registry says.
#[derive(Clone, Debug)]
pub struct Runner {
    /// How plan nodes run.
    pub lowerings: Arc<LoweringRegistry>,
}

impl Runner {
    /// A task configuration for tests.
    pub fn config(&self, plan: Arc<PlanNode>, tables: &TestTables, setup: Setup) -> TaskConfig {
        TaskConfig {
            plan,
            tables: Arc::new(tables.clone()),
            sinks: Arc::new(Nothing),
            registry: registry(),
            lowerings: Arc::clone(&self.lowerings),
            query: Arc::new(QueryConstants::default()),
            pool: Pool::root("query", None),
            spill: SpillSpace::new(std::env::temp_dir(), None),
            drivers: setup.drivers,
            batch_rows: setup.batch_rows,
            dynamic_filters: true,
            row_order: volley_exec::RowOrder::Any,
            spill_always: setup.spill_always,
            sizes: StateSizes::SMALL,
            ports: TaskPorts::default(),
            priority: Priority::Normal,
        }
    }

    /// Runs a plan to its end; checks that no batch is empty or too large and that all memory is
    /// released.
    pub fn run(&self, plan: PlanBuilder, tables: &TestTables, setup: Setup) -> Result<RowValues> {
        let executor = Executor::new(setup.threads)?;
        let config = self.config(plan.build()?, tables, setup);
        let pool = config.pool.clone();
        let task = Task::start(config, &executor)?;
        let rows = drain(&task);
        drop_whole(task, executor);
        assert_eq!(pool.stats().bytes, 0, "memory still held after the task");
        rows
    }

    /// Runs a plan with at most `limit` bytes of memory and `disk` bytes of spilled rows; checks
    /// that it kept to its limit and that nothing is left.
    pub fn run_limited(
        &self,
        plan: &Arc<PlanNode>,
        tables: &TestTables,
        setup: Setup,
        limit: Option<usize>,
        disk: Option<u64>,
    ) -> LimitedRun {
        let mut config = self.config(Arc::clone(plan), tables, setup);
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
}

/// How a task under limits went.
pub struct LimitedRun {
    /// The rows of its result.
    pub rows: Result<RowValues>,
    /// By operators, without what was written of results that wait: how much that is depends on
    /// when they are read.
    pub spilled_bytes: u64,
}

/// Drops a task and the threads that it ran on; checks that this leaves nothing of it.
pub fn drop_whole(task: Task, executor: Executor) {
    let (handle, begin) = (task.handle(), Instant::now());
    drop(task);
    drop(executor);
    // Threads of some tables hold wakers until they have woken them.
    while !handle.is_dead() {
        assert!(begin.elapsed() < Duration::from_secs(10), "something holds drivers of the task");
        thread::yield_now();
    }
}

/// All rows of a task.
pub fn drain(task: &Task) -> Result<RowValues> {
    let mut rows = Vec::new();
    while let Some(batch) = task.next()? {
        assert!(batch.rows() > 0, "an empty batch");
        rows.extend(rows_of(&batch));
    }
    Ok(rows)
}

/// A BIGINT column `a`.
pub const A: [(&str, Type); 1] = [("a", Type::BigInt)];
