//! From plan nodes to pipelines: one function per node, in a file of its own.
//!
//! Nodes are lowered inputs first, without recursion, however deep the plan is. A node that needs
//! all rows in one stream, or rows with equal keys in the same driver, gets an exchange put before
//! it unless its input is so already: a plan without exchanges is executed correctly, too.

mod aggregation;
mod column_origin;
mod custom;
mod enforce_single_row;
mod filter;
mod group_id;
mod group_limit;
mod hash_join;
mod join_filters;
mod limit;
mod local_exchange;
mod merge_join;
mod nested_loop_join;
mod order_by;
mod project;
mod repeat;
mod recursive_union;
mod sample;
mod shared;
mod table_scan;
mod table_write;
mod top_n;
mod top_n_filters;
mod union;
mod unique_id;
mod unnest;
mod values;
mod window;
#[cfg(test)]
mod tests;

pub use custom::{LowerNode, LoweringRegistry};
pub(crate) use filter::FilterProjectSpec;
use join_filters::JoinFilters;
use top_n_filters::TopNFilters;

use crate::{
    Operator, OperatorContext, PipelineBuilder, TaskContext,
    hash_join::KeptBuilds,
    local_exchange::{Exchange, ExchangeReceiver, ExchangeSender, Partitioning},
    pipeline::OperatorSpec,
    result_queue::{ResultQueue, ResultSink},
    shared::SharedRows,
};
use std::{collections::HashMap, ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::{Pool, check_cancelled};
use volley_plan::{PlanNode, Visit};

/// What lowering functions share: the pipelines that are complete, and where the task is.
pub struct Lowering {
    task: Arc<TaskContext>,
    /// The plan node being lowered, by its position in [`PlanNode::walk`].
    node: usize,
    complete: Vec<PipelineBuilder>,
    /// Results of shared subplans, by [`volley_plan::SharedNode::id`].
    shared: HashMap<u32, Arc<SharedRows>>,
    filters: JoinFilters,
    top_n_filters: TopNFilters,
    /// Where the plan begins in the walk of the whole plan: more than zero for a recursion's step.
    base: usize,
    /// Rows that recursions around the plan keep, by identity.
    kept: HashMap<u32, Arc<SharedRows>>,
    /// In a recursion's step: which recursion, and the build sides that it keeps.
    builds: Option<(u32, Arc<KeptBuilds>)>,
}

/// A plan's nodes, and how to find their inputs among them.
struct Visited<'a> {
    visits: Vec<Visit<'a>>,
    /// For each node, the position after the last one below it.
    ends: Vec<usize>,
}

impl<'a> Visited<'a> {
    fn new(plan: &'a PlanNode) -> Visited<'a> {
        let visits = plan.walk();
        let mut ends = vec![0; visits.len()];
        // The nodes whose ends are not known yet, each below the one before.
        let mut open: Vec<usize> = Vec::new();
        for (position, visit) in visits.iter().enumerate() {
            let closed = open.partition_point(|it| visits[*it].depth < visit.depth);
            open.drain(closed..).for_each(|it| ends[it] = position);
            open.push(position);
        }
        open.into_iter().for_each(|it| ends[it] = visits.len());
        Visited { visits, ends }
    }

    /// The positions of an input of the node at `position` and of all nodes below it.
    fn below(&self, position: usize, index: usize) -> Range<usize> {
        let input = self.input(position, index);
        input..self.ends.get(input).copied().unwrap_or(input)
    }

    /// The position of an input of the node at `position`.
    fn input(&self, position: usize, index: usize) -> usize {
        let next = |it: usize| self.ends.get(it).copied().unwrap_or(usize::MAX);
        (0..index).fold(position + 1, |it, _| next(it))
    }
}

/// The pipelines of a task; the last one makes the result.
pub(crate) struct LoweredPlan {
    pub pipelines: Vec<PipelineBuilder>,
    pub results: Arc<ResultQueue>,
}

/// Cuts `plan` into pipelines.
pub(crate) fn lower(plan: &PlanNode, task: &Arc<TaskContext>) -> Result<LoweredPlan> {
    let mut cx = Lowering::new(task);
    let mut last = cx.lower_plan(plan)?;
    let types = plan.schema().types().cloned().collect();
    let results = Arc::new(ResultQueue::new(types, &task.pool.child("result"), task));
    let queue = Arc::clone(&results);
    cx.add(&mut last, "result", move |cx| Ok(Box::new(ResultSink::new(&queue, cx))));
    cx.seal(last);
    Ok(LoweredPlan { pipelines: cx.complete, results })
}

/// Where the last input of a node stands; zero for a node without inputs.
fn last_input(plan: &Visited<'_>, position: usize) -> usize {
    let visit = &plan.visits[position];
    let inputs = if visit.repeated { 0 } else { visit.node.inputs().len() };
    inputs.checked_sub(1).map_or(0, |it| plan.input(position, it))
}

/// The lowered inputs of a node, in order.
struct Inputs(std::vec::IntoIter<PipelineBuilder>);

impl Inputs {
    fn take(&mut self) -> Result<PipelineBuilder> {
        self.0.next().ok_or_else(|| Error::internal("a plan node without its input"))
    }
}

impl Lowering {
    fn new(task: &Arc<TaskContext>) -> Lowering {
        Lowering {
            task: Arc::clone(task),
            node: 0,
            complete: Vec::new(),
            shared: HashMap::new(),
            filters: JoinFilters::default(),
            top_n_filters: TopNFilters::default(),
            base: 0,
            kept: HashMap::new(),
            builds: None,
        }
    }

    /// For the step of a recursion, which begins at `base` in the walk of the whole plan; `kept`:
    /// the rows that it can read; `builds`: the recursion, and the build sides that it keeps.
    pub(crate) fn nested(
        task: &Arc<TaskContext>,
        base: usize,
        kept: HashMap<u32, Arc<SharedRows>>,
        builds: (u32, Arc<KeptBuilds>),
    ) -> Lowering {
        Lowering { base, kept, builds: Some(builds), ..Lowering::new(task) }
    }

    /// The pipelines that are complete.
    pub(crate) fn into_pipelines(self) -> Vec<PipelineBuilder> {
        self.complete
    }

    /// Lowers a plan, but for its last sink.
    pub(crate) fn lower_plan(&mut self, plan: &PlanNode) -> Result<PipelineBuilder> {
        let plan = Visited::new(plan);
        if self.task.dynamic_filters {
            self.filters = JoinFilters::of_plan(&plan);
            self.top_n_filters = TopNFilters::of_plan(&plan);
        }
        let left_out = self.left_out(&plan);
        // Last to first, every node comes after all nodes below it; its inputs' pipelines are on
        // top of the stack, the first input uppermost.
        let mut open: Vec<PipelineBuilder> = Vec::new();
        for (position, visit) in plan.visits.iter().enumerate().rev() {
            if left_out[position] {
                continue;
            }
            check_cancelled()?;
            self.node = position;
            let inputs = if visit.repeated { 0 } else { visit.node.inputs().len() };
            let count = (0..inputs).filter(|it| !left_out[plan.input(position, *it)]).count();
            let mut inputs = open.split_off(open.len().saturating_sub(count));
            inputs.reverse();
            let last = last_input(&plan, position);
            open.push(self.lower_node(visit.node, Inputs(inputs.into_iter()), last)?);
        }
        self.node = 0;
        let mut last = open.pop().ok_or_else(|| Error::internal("a plan without a node"))?;
        self.close_fused(&mut last);
        Ok(last)
    }

    /// Which nodes are not lowered here: the steps of recursions, which are in every iteration, and
    /// build sides that a recursion keeps.
    fn left_out(&self, plan: &Visited<'_>) -> Vec<bool> {
        let mut left_out = vec![false; plan.visits.len()];
        for (position, visit) in plan.visits.iter().enumerate() {
            let below = match visit.node {
                PlanNode::RecursiveUnion(node) => plan.below(position, 1 + node.kept.len()),
                PlanNode::HashJoin(_) if self.has_build(position) => plan.below(position, 1),
                _ => continue,
            };
            left_out[below].fill(true);
        }
        left_out
    }

    /// Whether the recursion keeps the build side of the join at `position`.
    fn has_build(&self, position: usize) -> bool {
        self.builds.as_ref().is_some_and(|(_, it)| it.has(position))
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
        let (factory, node) = (Box::new(factory), self.base + self.node);
        pipeline.operators.push(OperatorSpec { node, name, pool, factory });
        // The operator may have moved or dropped columns; its lowering function knows better.
        pipeline.partitioned_by = None;
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
        self.exchange(vec![pipeline], 1, &Partitioning::Single)
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
    fn exchange(
        &mut self,
        inputs: Vec<PipelineBuilder>,
        drivers: usize,
        partitioning: &Partitioning,
    ) -> PipelineBuilder {
        let senders = inputs.iter().map(PipelineBuilder::drivers).sum();
        let pool = self.pool("local exchange");
        let exchange = Exchange::new(senders, drivers, partitioning.clone(), &pool);
        for mut input in inputs {
            let exchange = Arc::clone(&exchange);
            self.add_in_pool(&mut input, "local exchange sender", pool.clone(), move |cx| {
                Ok(Box::new(ExchangeSender::new(&exchange, cx)))
            });
            self.seal(input);
        }
        let mut output = self.source("local exchange receiver", drivers, move |cx| {
            Ok(Box::new(ExchangeReceiver::new(&exchange, cx)))
        });
        if let Partitioning::Hash(keys) = partitioning {
            output.partitioned_by = Some(keys.clone());
        }
        output
    }

    /// One arm per plan node.
    fn lower_node(
        &mut self,
        node: &PlanNode,
        mut inputs: Inputs,
        last_input: usize,
    ) -> Result<PipelineBuilder> {
        match node {
            PlanNode::TableScan(node) => table_scan::lower(node, self),
            PlanNode::Values(node) => values::lower(node, self),
            PlanNode::Filter(node) => filter::lower(node, inputs.take()?, self),
            PlanNode::Project(node) => project::lower(node, inputs.take()?, self),
            PlanNode::Aggregation(node) => aggregation::lower(node, inputs.take()?, self),
            PlanNode::GroupId(node) => group_id::lower(node, inputs.take()?, self),
            PlanNode::Window(node) => window::lower(node, inputs.take()?, self),
            PlanNode::HashJoin(node) => {
                hash_join::lower(node, inputs.take()?, inputs.take().ok(), self)
            }
            PlanNode::NestedLoopJoin(node) => {
                nested_loop_join::lower(node, inputs.take()?, inputs.take()?, self)
            }
            PlanNode::AsofJoin(node) => {
                nested_loop_join::lower_asof(node, inputs.take()?, inputs.take()?, self)
            }
            PlanNode::MergeJoin(node) => {
                merge_join::lower(node, inputs.take()?, inputs.take()?, self)
            }
            PlanNode::OrderBy(node) => order_by::lower(node, inputs.take()?, self),
            PlanNode::TopN(node) => top_n::lower(node, inputs.take()?, self),
            PlanNode::Limit(node) => limit::lower(node, inputs.take()?, self),
            PlanNode::GroupLimit(node) => group_limit::lower(node, inputs.take()?, self),
            PlanNode::Repeat(node) => repeat::lower(node, inputs.take()?, self),
            PlanNode::Unnest(node) => unnest::lower(node, inputs.take()?, self),
            PlanNode::Sample(node) => sample::lower(node, inputs.take()?, self),
            PlanNode::Union(_) => union::lower(inputs.0.collect(), self),
            PlanNode::UniqueId(node) => unique_id::lower(node, inputs.take()?, self),
            PlanNode::EnforceSingleRow(node) => {
                enforce_single_row::lower(node, inputs.take()?, self)
            }
            PlanNode::LocalExchange(node) => local_exchange::lower(node, inputs.take()?, self),
            PlanNode::Shared(node) => shared::lower(node, inputs.take().ok(), self),
            PlanNode::RecursiveUnion(node) => {
                recursive_union::lower(node, &mut inputs, self.base + last_input, self)
            }
            PlanNode::WorkingTable(node) => recursive_union::lower_working_table(node, self),
            PlanNode::TableWrite(node) => table_write::lower(node, inputs.take()?, self),
            PlanNode::Custom(node) => custom::lower(node, inputs.0.collect(), self),
        }
    }
}
