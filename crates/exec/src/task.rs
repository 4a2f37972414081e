//! A task: a plan that runs.

mod batch_rows;
mod control;
mod ports;
mod shared;

pub use control::TaskHandle;
pub(crate) use ports::OpenPorts;
pub use ports::{
    SplitReceiver, TaskFilterId, TaskFilterListener, TaskFilters, TaskOutput, TaskPorts, TaskSource,
};
use shared::Ending;
pub(crate) use shared::{Output, TaskDriver, TaskShared};

use crate::{
    Executor, LoweringRegistry, Priority, RowOrder, StepRecords, TaskContext, TaskInput,
    TaskMonitor, TaskProgress, TaskStatistics, TaskTimeline, driver::Driver, lowering::lower,
    make_chains::make_chains, progress::TaskRecords, timeline::TimelineRecorder,
};
use batch_rows::batch_rows;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};
use volley_connector::{SinkFactory, Split, TableProvider};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{PlanNode, PlanNodeId};
use volley_state::StateSizes;
use volley_vector::Batch;

/// What to run, and with what.
#[derive(Clone)]
pub struct TaskConfig {
    /// The plan.
    pub plan: Arc<PlanNode>,
    /// The tables that it scans.
    pub tables: Arc<dyn TableProvider>,
    /// The sinks that it writes to.
    pub sinks: Arc<dyn SinkFactory>,
    /// The functions that it calls.
    pub registry: Arc<Registry>,
    /// How plan nodes run.
    pub lowerings: Arc<LoweringRegistry>,
    /// What is the same for every row of the query; also its cancellation token, of which the task
    /// makes a child.
    pub query: Arc<QueryConstants>,
    /// The query's pool; operators get children of it.
    pub pool: Pool,
    /// Where rows go that do not fit.
    pub spill: SpillSpace,
    /// How many drivers a parallel pipeline has; at least one.
    pub drivers: usize,
    /// The most rows of a batch; at least one. Batches of very many columns have fewer.
    pub batch_rows: usize,
    /// Whether joins, and TopN nodes, filter the scans below them.
    pub dynamic_filters: bool,
    /// Whether rows keep the order of their source.
    pub row_order: RowOrder,
    /// Whether operators that can spill do so before every step, short of memory or not: for tests.
    pub spill_always: bool,
    /// Where state works in another way: [`StateSizes::NORMAL`], but in tests.
    pub sizes: StateSizes,
    /// Where splits and rows come from and go to outside of the task.
    pub ports: TaskPorts,
    /// How much of the threads' time it gets beside other tasks.
    pub priority: Priority,
}

/// A running plan. Dropping it cancels what still runs and waits until no driver does.
///
/// Tasks of one executor share its threads by their priorities, however many drivers each has. A
/// task that has not ended at the deadline of its query does so with the timed-out error, in
/// whatever state it is, and whether anybody waits for it or not.
///
/// The threads of the executor free the memory of a cancelled task, maybe only after its end (see
/// [`Executor::wait_released`]); until then it stays charged. The next task waits for that.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
/// use volley_error::{Error, Result};
/// use volley_exec::{Executor, Priority, RowOrder, Task, TaskConfig, TaskPorts};
/// use volley_function::{QueryConstants, Registry};
/// use volley_memory::{Pool, spill::SpillSpace};
/// use volley_plan::{PlanBuilder, TableHandle, WriteTarget};
/// use volley_state::StateSizes;
/// use volley_types::{Schema, Type, Value};
///
/// struct Nothing;
///
/// impl TableProvider for Nothing {
///     fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
///         Err(Error::invalid_query(format!("no such table: {}", handle.table)))
///     }
/// }
///
/// impl SinkFactory for Nothing {
///     fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
///         Err(Error::unsupported("writing"))
///     }
/// }
///
/// let registry = Arc::new(Registry::new());
/// let rows = [3, 1, 2].map(|it| vec![Value::BigInt(it)]).to_vec();
/// let plan = PlanBuilder::new(&registry)
///     .values(&[("n", Type::BigInt)], rows)
///     .top_n(&["n desc"], 0, 2)
///     .build()?;
/// let config = TaskConfig {
///     plan,
///     tables: Arc::new(Nothing),
///     sinks: Arc::new(Nothing),
///     registry,
///     lowerings: Arc::new(volley_operators::registry()),
///     query: Arc::new(QueryConstants::default()),
///     pool: Pool::root("query", Some(1 << 20)),
///     spill: SpillSpace::new(std::env::temp_dir(), None),
///     drivers: 2,
///     batch_rows: 1024,
///     dynamic_filters: true,
///     row_order: RowOrder::Any,
///     spill_always: false,
///     sizes: StateSizes::NORMAL,
///     ports: TaskPorts::default(),
///     priority: Priority::Normal,
/// };
/// let executor = Executor::new(2)?;
/// let task = Task::start(config, &executor)?;
/// let batch = task.next()?.expect("two rows");
/// assert_eq!(batch.column(0).to_values()?, [Value::BigInt(3), Value::BigInt(2)]);
/// assert!(task.next()?.is_none());
/// # Ok::<(), Error>(())
/// ```
pub struct Task {
    shared: Arc<TaskShared>,
    records: Arc<TaskRecords>,
    /// Of operators that run again and again.
    steps: Arc<StepRecords>,
    ports: OpenPorts,
    plan: Arc<PlanNode>,
    _ending: Ending,
    /// Keeps the threads alive.
    _executor: Executor,
}

impl Task {
    /// Lowers the plan and starts its drivers.
    ///
    /// # Errors
    ///
    /// A table or function that does not exist, an unsupported construct, I/O; the query was
    /// cancelled, or is out of time, already.
    pub fn start(config: TaskConfig, executor: &Executor) -> Result<Task> {
        let plan = Arc::clone(&config.plan);
        plan.check_ids()?;
        let of_query = config.query.cancellation.clone();
        // A token of its own, as the task also ends alone.
        let cancellation = of_query.child();
        let query = QueryConstants {
            cancellation: cancellation.clone(),
            ..QueryConstants::clone(&config.query)
        };
        let context = Arc::new(TaskContext {
            tables: config.tables,
            sinks: config.sinks,
            registry: config.registry,
            query: Arc::new(query),
            pool: config.pool,
            spill: config.spill,
            drivers: config.drivers.max(1),
            batch_rows: batch_rows(&plan, config.batch_rows),
            dynamic_filters: config.dynamic_filters,
            row_order: config.row_order,
            spill_always: config.spill_always,
            sizes: config.sizes,
            ports: Arc::new(config.ports),
            steps: Arc::default(),
            exprs: None,
        });
        let lowered = lower(&plan, &context, &config.lowerings)?;
        // The memory limit must not refuse what is free in a moment.
        executor.wait_released_for(&of_query)?;
        let mut records = Vec::new();
        let timeline = TimelineRecorder::new(context.pool.clone());
        let share = executor.join(config.priority);
        let shared = TaskShared::new(&lowered.output, &plan, cancellation, share);
        let last = lowered.pipelines.len().saturating_sub(1);
        let mut drivers = Vec::new();
        for (pipeline, builder) in lowered.pipelines.into_iter().enumerate() {
            let made = AssertUnwindSafe(|| make_chains(builder, pipeline, &context, &mut records));
            let panicked = |it: Box<dyn Any + Send>| Err(shared.panic_error("start", &*it));
            let chains = catch_unwind(made).unwrap_or_else(panicked)?;
            for (number, mut chain) in chains.into_iter().enumerate() {
                chain.record_to(timeline.driver(pipeline, number));
                let driver: Arc<dyn TaskDriver> =
                    Arc::new(Driver::new(chain, Arc::clone(&shared), pipeline));
                drivers.push(driver);
            }
        }
        of_query.check()?;
        let ending = shared.end_with(&of_query, executor.timer())?;
        shared.launch(drivers, last);
        let records =
            TaskRecords::new(records, timeline, Arc::clone(&plan), Arc::clone(&config.lowerings));
        let records = Arc::new(records);
        let steps = Arc::clone(&context.steps);
        let executor = executor.clone();
        let ports = lowered.ports;
        Ok(Task { shared, records, steps, ports, plan, _ending: ending, _executor: executor })
    }

    /// The next batch of the result; waits for it. `None` at the end, when no driver runs any more.
    ///
    /// # Errors
    ///
    /// What went wrong first, also on every later call.
    pub fn next(&self) -> Result<Option<Batch>> {
        let Some(results) = self.shared.results() else { return Err(no_results()) };
        self.settle(results.next(None).unwrap_or(Ok(None)))
    }

    /// As [`Task::next`], but waits no longer than `timeout`: the outer `None`.
    pub fn next_timeout(&self, timeout: Duration) -> Option<Result<Option<Batch>>> {
        let Some(results) = self.shared.results() else { return Some(Err(no_results())) };
        results.next(Some(timeout)).map(|it| self.settle(it))
    }

    /// As [`Task::next`] without waiting; when pending, `waker` is woken once there is more.
    pub fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        let Some(results) = self.shared.results() else { return Poll::Ready(Err(no_results())) };
        results.poll_next(waker).map(|it| self.settle(it))
    }

    /// Waits until the task has ended and no driver runs any more. For tasks with a [`TaskOutput`]:
    /// others end when their result was read.
    ///
    /// # Errors
    ///
    /// What went wrong first.
    pub fn wait(&self) -> Result<()> {
        self.shared.wait_idle();
        self.outcome().unwrap_or(Ok(()))
    }

    /// How the task ended; `None` while it runs.
    pub fn outcome(&self) -> Option<Result<()>> {
        self.shared.outcome()
    }

    /// Adds splits for a table scan that gets them from outside ([`TaskPorts::added_splits`]). Its
    /// drivers check them when they read them.
    ///
    /// # Errors
    ///
    /// Invalid query: no such scan; after [`Task::no_more_splits`].
    pub fn add_splits(&self, scan: PlanNodeId, splits: Vec<Split>) -> Result<()> {
        self.ports.add_splits(scan, splits)
    }

    /// What takes the splits of a table scan that gets them from outside; it does not keep the task
    /// alive.
    ///
    /// # Errors
    ///
    /// Invalid query: no such scan.
    pub fn split_receiver(&self, scan: PlanNodeId) -> Result<Arc<dyn SplitReceiver>> {
        self.ports.split_receiver(scan)
    }

    /// Tells that a table scan gets no more splits: it ends with those that it has.
    ///
    /// # Errors
    ///
    /// Invalid query: no such scan.
    pub fn no_more_splits(&self, scan: PlanNodeId) -> Result<()> {
        self.ports.no_more_splits(scan)
    }

    /// The writing end of a [`volley_plan::TaskInputNode`] of the plan.
    ///
    /// # Errors
    ///
    /// Invalid query: no such node.
    pub fn input(&self, node: PlanNodeId) -> Result<TaskInput> {
        self.ports.input(node)
    }

    /// Stops the task; [`Task::next`] answers the cancelled error from now on, unless the task had
    /// ended before.
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    /// What stops, pauses and resumes the task from another thread.
    pub fn handle(&self) -> TaskHandle {
        TaskHandle::new(&self.shared)
    }

    /// Whether the task has ended: its result is complete, it failed or it was cancelled. Drivers
    /// may still take their last step.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// What every operator did so far.
    pub fn statistics(&self) -> TaskStatistics {
        TaskStatistics::collect(&self.plan, &self.records.operators, &self.steps.all())
    }

    /// What the drivers did when, and what the query held meanwhile.
    pub fn timeline(&self) -> TaskTimeline {
        self.records.timeline.timeline()
    }

    /// Tells how many rows plan nodes are expected to make, for [`Task::progress`]. Once; later
    /// calls do nothing.
    pub fn expect_rows(&self, rows: &[(PlanNodeId, f64)]) {
        self.records.expect_rows(rows);
    }

    /// How far the task is.
    pub fn progress(&self) -> TaskProgress {
        self.records.progress()
    }

    /// What answers how far the task is from another thread, without the task.
    pub fn monitor(&self) -> TaskMonitor {
        TaskMonitor::new(&self.records)
    }

    /// Waits until no driver runs. Does not return while the result is larger than what its queue
    /// takes in memory and on disk: another thread has to read it.
    pub fn wait_idle(&self) {
        self.shared.wait_idle();
    }

    /// At the end of the result, waits for the remaining drivers.
    fn settle(&self, result: Result<Option<Batch>>) -> Result<Option<Batch>> {
        if let Err(error) = &result {
            // Drivers know of all errors but that a result on disk cannot be read.
            self.shared.fail(error.clone());
        }
        if !matches!(result, Ok(Some(_))) {
            self.shared.wait_idle();
        }
        result
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.cancel();
        self.shared.wait_idle();
        self.shared.forget_drivers();
        // The thread of the last driver may hold what is shared a moment longer.
        if let Some(results) = self.shared.results() {
            results.forget();
        }
    }
}

fn no_results() -> Error {
    Error::invalid_query("the rows of this task go to its output, not to its owner")
}
