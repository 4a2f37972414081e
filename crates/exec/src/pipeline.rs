//! Building pipelines: what lowering functions work with.
//!
//! A pipeline is a source, operators and a sink; it runs as a number of drivers, each with its own
//! instances. A lowering function gets its inputs as open pipelines (no sink yet) and gives one
//! back:
//!
//! ```text
//! one input      cx.add(&mut input, "my operator", |cx| Ok(Box::new(MyOperator::new(cx))));
//!                Ok(input)
//!
//! a join         let shared = Arc::new(Shared::new(build.drivers(), probe.drivers()));
//!                cx.add(&mut build, "my build", ...shared.clone()...);   the sink of `build`
//!                cx.seal(build);                                         complete, will run
//!                cx.add(&mut probe, "my probe", ...shared...);
//!                Ok(probe)
//! ```
//!
//! The factory given to [`Lowering::add`] is called once per driver when the task starts. All
//! pipelines run at once; a probe whose build is not ready answers `Blocked`, with its waker stored
//! in the shared state ([`volley_state::Promise`], [`volley_state::Barrier`]).

use crate::{
    LoweringRegistry, Operator, OperatorMetrics, kept_exprs::KeptExprs,
    lowering::FilterProjectSpec, recursion::StepRecords,
};
use std::sync::Arc;
use volley_connector::{SinkFactory, TableProvider};
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};

/// Makes one driver's instance of an operator.
pub type OperatorFactory = Box<dyn FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send>;

/// What an operator is made with.
#[derive(Clone)]
pub struct OperatorContext {
    /// Which driver of the pipeline: `0..drivers`.
    pub driver: usize,
    /// How many drivers the pipeline has.
    pub drivers: usize,
    /// The operator's pool, shared by its instances in all drivers.
    pub pool: Pool,
    /// Counters of this instance; rows, batches and times are counted by the driver.
    pub metrics: Arc<OperatorMetrics>,
    /// What is the same for all operators of the task.
    pub task: Arc<TaskContext>,
}

/// What is the same for all operators of a task.
#[derive(Clone)]
pub struct TaskContext {
    /// The tables that scans read.
    pub tables: Arc<dyn TableProvider>,
    /// The sinks that table writes open.
    pub sinks: Arc<dyn SinkFactory>,
    /// For compiling expressions and finding aggregates.
    pub registry: Arc<Registry>,
    /// How plan nodes of other crates run.
    pub lowerings: Arc<LoweringRegistry>,
    /// For compiling expressions.
    pub query: Arc<QueryConstants>,
    /// The query's pool.
    pub pool: Pool,
    /// Where rows go that do not fit.
    pub spill: SpillSpace,
    /// How many drivers a parallel pipeline has.
    pub drivers: usize,
    /// The most rows of a batch.
    pub batch_rows: usize,
    /// Whether joins, and TopN nodes, filter the scans below them.
    pub dynamic_filters: bool,
    /// Whether operators that can spill do so before every step: for tests.
    pub spill_always: bool,
    /// What operators have done that were made anew in each iteration of a recursion.
    pub(crate) steps: Arc<StepRecords>,
    /// Where operators that are made anew in each iteration find their expressions compiled.
    pub(crate) exprs: Option<Arc<KeptExprs>>,
}

impl TaskContext {
    /// Compiles expressions for an operator.
    ///
    /// # Errors
    ///
    /// As [`ExprSet::compile`].
    pub(crate) fn compile(&self, exprs: &[Expr]) -> Result<ExprSet> {
        match &self.exprs {
            Some(kept) => kept.compile(exprs, &self.registry, &self.query),
            None => ExprSet::compile(exprs, &self.registry, Arc::clone(&self.query)),
        }
    }
}

/// An operator of a pipeline, not yet made.
pub(crate) struct OperatorSpec {
    /// The plan node it belongs to, by its position in [`volley_plan::PlanNode::walk`].
    pub node: usize,
    pub name: &'static str,
    pub pool: Pool,
    pub factory: OperatorFactory,
}

/// A pipeline that is being built: it has no sink yet.
pub struct PipelineBuilder {
    pub(crate) operators: Vec<OperatorSpec>,
    pub(crate) drivers: usize,
    /// The columns by which rows are spread over drivers, when they are: rows that are equal in all
    /// of them are in the same driver.
    pub(crate) partitioned_by: Option<Vec<usize>>,
    /// A filter and projection at the end of the pipeline that may still grow.
    pub(crate) fused: Option<FilterProjectSpec>,
}

impl PipelineBuilder {
    /// How many drivers run the pipeline. It does not change any more: what drivers share can be
    /// made for this number.
    pub fn drivers(&self) -> usize {
        self.drivers
    }

    /// Whether rows that are equal in all of `keys` are in the same driver.
    pub(crate) fn is_partitioned(&self, keys: &[usize]) -> bool {
        let by = self.partitioned_by.as_ref();
        self.drivers == 1 || by.is_some_and(|by| by.iter().all(|column| keys.contains(column)))
    }
}
