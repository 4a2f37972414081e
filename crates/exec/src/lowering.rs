//! Lowers plan nodes to pipelines: calls the lowering function of each node, and owns the
//! connections of pipelines.
//!
//! Nodes are lowered inputs first, without recursion, however deep the plan is. A node that needs
//! all rows in one stream, or rows with equal keys in the same driver, gets an exchange put before
//! it unless its input is so already: a plan without exchanges is executed correctly, too. This
//! module does not know what nodes do: [`LoweringRegistry`] finds their functions.

mod custom;
mod registry;

pub use registry::{BeforePlan, Fusion, LowerNode, LoweringRegistry, SkipInput};

use crate::{
    Operator, OperatorContext, PipelineBuilder, TaskContext,
    local_exchange::{Partitioning, exchange},
    local_merge::{MergeReceiver, merge_queues},
    ordered_exchange::OrderedExchange,
    pipeline::{FusedOperator, OperatorSpec},
    queue_ends::QueueSink,
    result_queue::ResultQueue,
    source_order::SourceOrder,
    task::{OpenPorts, Output, SplitReceiver},
    task_input::{InputQueue, TaskInputReader},
};
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, check_cancelled};
use volley_plan::{PageSourceNode, PlanNode, PlanNodeId, PlanWalk};
use volley_types::{SortKey, Type};

/// What lowering functions work with: the pipelines that are complete, the node being lowered, and
/// what other functions have left.
pub struct Lowering {
    task: Arc<TaskContext>,
    registry: Arc<LoweringRegistry>,
    /// The plan node being lowered.
    node: PlanNodeId,
    complete: Vec<PipelineBuilder>,
    /// What is connected with the outside of the task.
    ports: OpenPorts,
    /// What lowering functions share, by its type.
    state: HashMap<TypeId, Box<dyn Any>>,
}

/// The pipelines of a task; the last one makes the result.
pub(crate) struct LoweredPlan {
    pub pipelines: Vec<PipelineBuilder>,
    pub output: Output,
    pub ports: OpenPorts,
}

/// Cuts `plan` into pipelines.
pub(crate) fn lower(
    plan: &PlanNode,
    task: &Arc<TaskContext>,
    registry: &Arc<LoweringRegistry>,
) -> Result<LoweredPlan> {
    let mut cx = Lowering::new(task, registry);
    let mut last = cx.lower_plan(plan)?;
    if last.order.is_some() {
        last = cx.gather(last);
    }
    let types: Vec<Type> = plan.schema().types().cloned().collect();
    let output = match &task.ports.output {
        Some(output) => {
            let pool = cx.pool(output.name());
            output.open(&types, last.drivers(), &pool)?;
            let sinks = Arc::clone(output);
            cx.add_in_pool(&mut last, output.name(), pool, move |cx| sinks.sink(cx));
            Output::Elsewhere(Arc::clone(output))
        }
        None => {
            let results = ResultQueue::new(types, &task.pool.child("result"), task)?;
            let queue = Arc::clone(results.queue());
            cx.add(&mut last, "result", move |cx| Ok(ResultQueue::sink(&queue, cx)));
            Output::Results(Arc::new(results))
        }
    };
    cx.seal(last);
    cx.ports.check(&task.ports.added_splits)?;
    Ok(LoweredPlan { pipelines: cx.complete, output, ports: cx.ports })
}

/// The lowered inputs of a node, in order; those that are not lowered with the plan are missing.
pub struct Inputs(std::vec::IntoIter<PipelineBuilder>);

impl Inputs {
    /// The next input.
    ///
    /// # Errors
    ///
    /// Internal, when there is none.
    pub fn take(&mut self) -> Result<PipelineBuilder> {
        self.0.next().ok_or_else(|| Error::internal("a plan node without its input"))
    }

    /// The next input, unless it is not lowered here.
    pub fn take_optional(&mut self) -> Option<PipelineBuilder> {
        self.0.next()
    }

    /// All inputs.
    pub fn take_all(&mut self) -> Vec<PipelineBuilder> {
        self.0.by_ref().collect()
    }
}

impl Lowering {
    fn new(task: &Arc<TaskContext>, registry: &Arc<LoweringRegistry>) -> Lowering {
        Lowering {
            task: Arc::clone(task),
            registry: Arc::clone(registry),
            node: PlanNodeId::UNASSIGNED,
            complete: Vec::new(),
            ports: OpenPorts::default(),
            state: HashMap::new(),
        }
    }

    /// For a plan that an operator lowers while the task runs, such as the step of a recursion.
    pub fn nested(task: &Arc<TaskContext>, registry: &Arc<LoweringRegistry>) -> Lowering {
        Lowering::new(task, registry)
    }

    /// The pipelines that are complete.
    pub(crate) fn into_pipelines(self) -> Vec<PipelineBuilder> {
        self.complete
    }

    /// Lowers a plan, but for its last sink.
    ///
    /// # Errors
    ///
    /// A node without a lowering function; what a lowering function reports; cancelled.
    pub fn lower_plan(&mut self, plan: &PlanNode) -> Result<PipelineBuilder> {
        let root = plan.id();
        let plan = PlanWalk::new(plan);
        let registry = Arc::clone(&self.registry);
        registry.looks_before().iter().for_each(|it| it(&plan, self));
        let skipped = self.skipped(&plan, &registry);
        // Last to first, every node comes after all nodes below it; its inputs' pipelines are on
        // top of the stack, the first input uppermost.
        let mut open: Vec<PipelineBuilder> = Vec::new();
        for (position, visit) in plan.visits.iter().enumerate().rev() {
            if skipped[position] {
                continue;
            }
            check_cancelled()?;
            self.node = visit.node.id();
            let inputs = (0..plan.inputs(position)).map(|it| plan.input(position, it));
            let count = inputs.filter(|it| !skipped[*it]).count();
            let mut inputs = open.split_off(open.len().saturating_sub(count));
            inputs.reverse();
            let lowering = registry.get(visit.node.kind())?;
            if lowering.fusion == Fusion::Never {
                inputs.iter_mut().for_each(|it| self.close_fused(it));
            }
            let mut inputs = Inputs(inputs.into_iter());
            open.push((lowering.lower)(visit.node, &mut inputs, self)?);
        }
        self.node = root;
        let mut last = open.pop().ok_or_else(|| Error::internal("a plan without a node"))?;
        self.close_fused(&mut last);
        Ok(last)
    }

    /// Which nodes are not lowered here: all below an input that a node's function skips.
    fn skipped(&mut self, plan: &PlanWalk<'_>, registry: &LoweringRegistry) -> Vec<bool> {
        let mut skipped = vec![false; plan.visits.len()];
        for (position, visit) in plan.visits.iter().enumerate() {
            let skip = registry.find(visit.node.kind()).and_then(|it| it.skip);
            if let Some(index) = skip.and_then(|it| it(visit.node, self)) {
                skipped[plan.below(position, index)].fill(true);
            }
        }
        skipped
    }

    /// The plan node being lowered.
    pub fn node(&self) -> PlanNodeId {
        self.node
    }

    /// How plan nodes run.
    pub fn registry(&self) -> &Arc<LoweringRegistry> {
        &self.registry
    }

    /// What lowering functions of one plan share: one value of each type.
    pub fn state<T: Any + Default>(&mut self) -> &mut T {
        let state = self.state.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        state.downcast_mut().expect("a state is stored under its own type")
    }

    /// What is the same for all operators of the task.
    pub fn task(&self) -> &Arc<TaskContext> {
        &self.task
    }

    /// A new pool below the query's, for state that drivers share. (Every operator that is added
    /// gets one of its own, too: [`OperatorContext::pool`].)
    pub fn pool(&self, name: &str) -> Pool {
        self.task.pool.child(name)
    }

    /// Opens a pipeline of `drivers` drivers with a source.
    pub fn source(
        &mut self,
        name: &'static str,
        drivers: usize,
        factory: impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static,
    ) -> PipelineBuilder {
        let pool = self.pool(name);
        self.source_in_pool(name, drivers, pool, factory)
    }

    /// As [`Lowering::source`] with a pool made before.
    pub fn source_in_pool(
        &mut self,
        name: &'static str,
        drivers: usize,
        pool: Pool,
        factory: impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static,
    ) -> PipelineBuilder {
        let mut pipeline = PipelineBuilder {
            operators: Vec::new(),
            drivers: drivers.max(1),
            partitioned_by: None,
            order: None,
            fused: None,
        };
        self.add_in_pool(&mut pipeline, name, pool, factory);
        pipeline
    }

    /// Appends an operator, charged to a pool called `name` and counted for the node being lowered.
    /// `factory` runs once per driver.
    pub fn add(
        &mut self,
        pipeline: &mut PipelineBuilder,
        name: &'static str,
        factory: impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static,
    ) {
        let pool = self.pool(name);
        self.add_in_pool(pipeline, name, pool, factory);
    }

    /// As [`Lowering::add`] with a pool made before, because shared state is charged to it as well.
    pub fn add_in_pool(
        &mut self,
        pipeline: &mut PipelineBuilder,
        name: &'static str,
        pool: Pool,
        factory: impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static,
    ) {
        self.close_fused(pipeline);
        let (factory, node) = (Box::new(factory), self.node);
        pipeline.operators.push(OperatorSpec { node, name, pool, factory });
        // The operator may have moved or dropped columns; its lowering function knows better.
        pipeline.partitioned_by = None;
        pipeline.order = None;
    }

    /// Takes a pipeline that ends with a sink: it is complete and will run.
    pub fn seal(&mut self, pipeline: PipelineBuilder) {
        self.complete.push(pipeline);
    }

    /// The same rows in one stream: the pipeline itself if it has one driver.
    pub fn gather(&mut self, mut pipeline: PipelineBuilder) -> PipelineBuilder {
        self.close_fused(&mut pipeline);
        if pipeline.drivers == 1 {
            return pipeline;
        }
        if pipeline.order.is_some() {
            return self.ordered_exchange(vec![pipeline], 1);
        }
        self.exchange(vec![pipeline], 1, &Partitioning::Single)
    }

    /// As [`Lowering::exchange`] of pipelines that have an order, or one driver: the rows of each
    /// input in their order, and behind those of the inputs before it.
    pub fn ordered_exchange(
        &mut self,
        inputs: Vec<PipelineBuilder>,
        drivers: usize,
    ) -> PipelineBuilder {
        let mut inputs = inputs;
        inputs.iter_mut().for_each(|it| self.close_fused(it));
        let senders = inputs.iter().map(PipelineBuilder::drivers).sum();
        let order = |it: &PipelineBuilder| match &it.order {
            Some(order) => Arc::clone(order),
            None => SourceOrder::new(it.drivers),
        };
        let pool = self.pool("ordered exchange");
        let orders = inputs.iter().map(order).collect();
        let exchange = OrderedExchange::new(orders, senders, drivers, &pool);
        for (index, mut input) in inputs.into_iter().enumerate() {
            let name = "ordered exchange sender";
            self.add_in_pool(&mut input, name, pool.clone(), exchange.senders(index));
            self.seal(input);
        }
        let order = exchange.order.clone();
        let mut output = self.source("ordered exchange receiver", drivers, exchange.receivers());
        output.order = order;
        output
    }

    /// The same rows, those with equal `keys` in the same driver: the pipeline itself if it has one
    /// driver, or is partitioned by some of `keys` already.
    pub fn partition(&mut self, mut pipeline: PipelineBuilder, keys: &[usize]) -> PipelineBuilder {
        self.close_fused(&mut pipeline);
        if pipeline.is_partitioned(keys) {
            return pipeline;
        }
        if keys.is_empty() {
            return self.gather(pipeline);
        }
        let drivers = self.task.drivers;
        self.exchange(vec![pipeline], drivers, &Partitioning::Hash(keys.to_vec()))
    }

    /// Ends all `inputs` with senders and opens a pipeline of `drivers` receivers.
    pub fn exchange(
        &mut self,
        inputs: Vec<PipelineBuilder>,
        drivers: usize,
        partitioning: &Partitioning,
    ) -> PipelineBuilder {
        let senders = inputs.iter().map(PipelineBuilder::drivers).sum();
        let pool = self.pool("local exchange");
        let (senders, receivers) = exchange(senders, drivers, partitioning.clone(), &pool);
        for mut input in inputs {
            let senders = senders.clone();
            self.add_in_pool(&mut input, "local exchange sender", pool.clone(), move |cx| {
                Ok(senders.sender(cx))
            });
            self.seal(input);
        }
        let mut output =
            self.source("local exchange receiver", drivers, move |cx| Ok(receivers.receiver(cx)));
        if let Partitioning::Hash(keys) = partitioning {
            output.partitioned_by = Some(keys.clone());
        }
        output
    }

    /// Whether the task's owner adds the splits of the scan being lowered.
    pub fn takes_splits(&self) -> bool {
        self.task.ports.added_splits.contains(&self.node)
    }

    /// Connects the scan being lowered with the owner, who adds its splits.
    pub fn open_splits(&mut self, receiver: Arc<dyn SplitReceiver>) {
        self.ports.splits.insert(self.node, receiver);
    }

    /// Opens a pipeline that reads rows of `types`, which the task's owner pushes.
    pub fn task_input(&mut self, types: Vec<Type>) -> PipelineBuilder {
        let pool = self.pool("task input");
        let queue = Arc::new(InputQueue::new(types, &pool));
        self.ports.inputs.insert(self.node, Arc::clone(&queue));
        self.source_in_pool("task input", self.task.drivers, pool, move |cx| {
            Ok(Box::new(TaskInputReader::new(&queue, cx)))
        })
    }

    /// Opens a pipeline that reads the rows that other tasks send to a page source.
    ///
    /// # Errors
    ///
    /// Invalid query: the task has no source for the node. What opening it fails with.
    pub fn page_source(&mut self, node: &PageSourceNode) -> Result<PipelineBuilder> {
        let source = self.task.ports.sources.get(&node.node_id).cloned().ok_or_else(|| {
            let id = node.node_id;
            let error = Error::invalid_query(format!("no rows for the page source {id}"));
            error.hint("TaskPorts::sources needs an entry for each page source of the plan")
        })?;
        let (name, drivers) = (source.name(), self.task.drivers);
        let pool = self.pool(name);
        let drivers = source.open(node, drivers, &pool)?;
        Ok(self.source_in_pool(name, drivers, pool, move |cx| source.source(cx)))
    }

    /// The rows of `input`, which each of its drivers has in the order of `keys`, in that order and
    /// one stream: the pipeline itself if it has one driver.
    pub fn merge(
        &mut self,
        mut input: PipelineBuilder,
        types: &[Type],
        keys: &[SortKey],
    ) -> PipelineBuilder {
        self.close_fused(&mut input);
        if input.drivers() == 1 {
            return input;
        }
        let pool = self.pool("local merge");
        let (queues, readers) = merge_queues(input.drivers(), &pool);
        self.add_in_pool(&mut input, "local merge sender", pool.clone(), move |cx| {
            Ok(Box::new(QueueSink::new("local merge sender", &queues[cx.driver])))
        });
        self.seal(input);
        let (types, keys, mut readers) = (types.to_vec(), keys.to_vec(), Some(readers));
        self.source_in_pool("local merge receiver", 1, pool, move |cx| {
            let readers =
                readers.take().ok_or_else(|| Error::internal("a merge of two drivers"))?;
            Ok(Box::new(MergeReceiver::new(&types, &keys, readers, cx)))
        })
    }

    /// Ends `pipeline` with an operator that the functions of further nodes may change.
    pub fn fuse(&mut self, pipeline: &mut PipelineBuilder, operator: impl FusedOperator) {
        self.close_fused(pipeline);
        pipeline.fused = Some(Box::new(operator));
    }

    /// Makes the operator at the end of `pipeline` that could still change, if there is one.
    pub fn close_fused(&mut self, pipeline: &mut PipelineBuilder) {
        let Some(fused) = pipeline.fused.take() else { return };
        let partitioned_by = fused.partitioned_by(pipeline.partitioned_by.take());
        let order = pipeline.order.take().filter(|_| fused.keeps_order());
        let node = std::mem::replace(&mut self.node, fused.node());
        self.add(pipeline, fused.name(), fused.into_factory());
        self.node = node;
        pipeline.partitioned_by = partitioned_by;
        pipeline.order = order;
    }
}
