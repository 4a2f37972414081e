//! Builds pipelines: the interface of lowering functions.
//!
//! A pipeline is a source, operators and a sink; it runs as a number of drivers, each with its own
//! instances. A lowering function gets its inputs as open pipelines (no sink yet) and returns one:
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
//! in the shared state ([`volley_state::OnceValue`], [`volley_state::Barrier`]).

use crate::{ExprCache, Operator, OperatorMetrics, SourceOrder, StepRecords, TaskPorts};
use std::{any::Any, sync::Arc};
use volley_connector::{SinkFactory, TableProvider};
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::PlanNodeId;
use volley_state::StateSizes;

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
    /// Whether rows keep the order of their source.
    pub row_order: RowOrder,
    /// Whether operators that can spill do so before every step: for tests.
    pub spill_always: bool,
    /// Where state works in another way.
    pub sizes: StateSizes,
    /// What of the task is connected with the outside.
    pub ports: Arc<TaskPorts>,
    /// What operators have done that were made anew in each iteration of a recursion.
    pub steps: Arc<StepRecords>,
    /// Where operators that are made anew in each iteration find their expressions compiled.
    pub exprs: Option<Arc<ExprCache>>,
}

impl TaskContext {
    /// Compiles expressions for an operator.
    ///
    /// # Errors
    ///
    /// As [`ExprSet::compile`].
    pub fn compile(&self, exprs: &[Expr]) -> Result<ExprSet> {
        match &self.exprs {
            Some(kept) => kept.compile(exprs, &self.registry, &self.query),
            None => ExprSet::compile(exprs, &self.registry, Arc::clone(&self.query)),
        }
    }
}

/// The order of rows where a plan says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Any.
    Any,
    /// That of the source, through nodes that work on rows one by one: result, LIMIT and table
    /// writes get them as one driver would read them.
    OfSource,
}

/// An operator of a pipeline, not yet made.
pub(crate) struct OperatorSpec {
    /// The plan node it belongs to.
    pub node: PlanNodeId,
    pub name: &'static str,
    pub pool: Pool,
    pub factory: OperatorFactory,
}

/// A pipeline that is being built: it has no sink yet.
pub struct PipelineBuilder {
    pub(crate) operators: Vec<OperatorSpec>,
    pub(crate) drivers: usize,
    /// The columns by which rows are spread over drivers, when they are: rows that are equal in all
    /// of them are in the same driver. An operator that is added clears it; a lowering function
    /// that knows where the columns are afterwards sets it again.
    pub partitioned_by: Option<Vec<usize>>,
    /// Which part of the source each driver works on, if rows are to keep the order of the source
    /// and there are several drivers. An operator that is added clears it; a lowering function sets
    /// it again if the operator outputs rows in the order of its input, and holds none over
    /// [`Operator::end_split`].
    pub order: Option<Arc<SourceOrder>>,
    /// An operator at the end of the pipeline that may still grow.
    pub(crate) fused: Option<Box<dyn FusedOperator>>,
}

/// An operator that does the work of several plan nodes, not yet made: the lowering functions of
/// further nodes may change it as long as nothing else is added to the pipeline.
pub trait FusedOperator: Any {
    /// The plan node whose output the operator returns, by [`crate::Lowering::node`].
    fn node(&self) -> PlanNodeId;

    /// The operator's name.
    fn name(&self) -> &'static str;

    /// By which of its output columns rows are spread, when its input is spread by `input`.
    fn partitioned_by(&self, input: Option<Vec<usize>>) -> Option<Vec<usize>>;

    /// Whether rows keep the order of the source, as [`PipelineBuilder::order`] says.
    fn keeps_order(&self) -> bool {
        false
    }

    /// What makes the operator.
    fn into_factory(self: Box<Self>) -> OperatorFactory;
}

impl PipelineBuilder {
    /// How many drivers run the pipeline. It does not change any more: what drivers share can be
    /// made for this number.
    pub fn drivers(&self) -> usize {
        self.drivers
    }

    /// Whether rows that are equal in all of `keys` are in the same driver.
    pub fn is_partitioned(&self, keys: &[usize]) -> bool {
        let by = self.partitioned_by.as_ref();
        self.drivers == 1 || by.is_some_and(|by| by.iter().all(|column| keys.contains(column)))
    }

    /// The operator at the end of the pipeline that may still grow, if it is a `T`.
    pub fn fused_mut<T: FusedOperator>(&mut self) -> Option<&mut T> {
        let fused: &mut dyn Any = &mut **self.fused.as_mut()?;
        fused.downcast_mut()
    }
}
