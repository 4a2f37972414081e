//! Aggregations: keys and arguments are computed first, then the work is split among drivers.

use super::distinct;
use super::expr::Computed;
use super::sort::lower_sort_keys;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, collect_used};
use std::sync::Arc;
use volley_error::Result;
use volley_expression::SourceSpan;
use volley_function::AggregateKind;
use volley_logical::{AggregateCall, CallStep, Column, Plan};
use volley_plan::{
    Aggregate, AggregateStep, AggregationNode, ExchangeKind, LocalExchangeNode, PlanNode,
    PlanNodeId,
};
use volley_types::{Field, Schema};

/// Partial aggregation is worth it when a group has at least this many rows on average.
pub(super) const PARTIAL_ROWS_PER_GROUP_MIN: f64 = 1.5;

/// More groups than this are well spread over drivers.
const FEW_GROUPS: f64 = 64.0;

/// Distinct arguments are found before groups are made when there are at most this many groups.
/// More are well spread over drivers, each of which finds the distinct arguments of its own.
pub(crate) const DISTINCT_GROUPS_MAX: f64 = 1024.0;

impl Lowering<'_> {
    pub(super) fn aggregate(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        if let Some(lowered) = self.aggregate_sets(plan, required)? {
            return Ok(lowered);
        }
        let Plan::Aggregate { input, keys, aggregates } = plan else { return Err(not_this_node()) };
        let calls: Vec<_> =
            aggregates.iter().filter(|it| required.contains(&it.0.id)).cloned().collect();
        let mut used = ColumnSet::new();
        keys.iter().for_each(|it| collect_used(&it.1, &mut used));
        calls.iter().flat_map(|it| it.1.exprs()).for_each(|it| collect_used(it, &mut used));
        let lowered = self.plan(input, &used)?;
        let mut computed = Computed::new(lowered);
        let key_positions =
            keys.iter().map(|it| computed.position(&it.1)).collect::<Result<Vec<_>>>()?;
        let lowered_calls =
            calls.iter().map(|it| lower_call(&it.1, &mut computed)).collect::<Result<Vec<_>>>()?;
        let columns: Vec<Column> =
            keys.iter().map(|it| it.0.clone()).chain(calls.iter().map(|it| it.0.clone())).collect();
        let step = step_of(calls.iter().map(|it| &it.1));
        let node = AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: computed.finish().node,
            step,
            keys: key_positions,
            aggregates: lowered_calls,
            schema: schema_of(&columns),
        };
        let node = match step {
            AggregateStep::Partial => PlanNode::Aggregation(node),
            AggregateStep::Intermediate => self.merged_groups(plan, node)?,
            _ => self.in_steps(plan, node)?,
        };
        Ok(Lowered::new(node, columns))
    }

    /// `single`, which is what `plan` does, in as many steps as pay.
    pub(super) fn in_steps(&mut self, plan: &Plan, single: AggregationNode) -> Result<PlanNode> {
        let groups = self.estimator.estimate(plan).rows;
        if self.ctx.drivers == 1 {
            return self.in_one_driver(single, groups);
        }
        let inputs = plan.inputs().into_iter().map(|it| self.estimator.estimate(it).rows);
        let rows = inputs.sum();
        self.among_drivers(single, rows, groups)
    }

    /// Intermediate results in which every group comes once, of such in which groups may repeat.
    fn merged_groups(&mut self, plan: &Plan, node: AggregationNode) -> Result<PlanNode> {
        let groups = self.estimator.estimate(plan).rows;
        let inputs = plan.inputs().into_iter().map(|it| self.estimator.estimate(it).rows);
        let rows: f64 = inputs.sum();
        if self.ctx.drivers > 1 && rows >= groups * PARTIAL_ROWS_PER_GROUP_MIN {
            let AggregationNode { input, keys, aggregates, schema, .. } = node;
            let fields = schema.fields.into_iter().take(keys.len()).collect();
            let merged = self.groups_once(input, keys, aggregates, Schema::new(fields))?;
            return Ok(Arc::unwrap_or_clone(merged));
        }
        let AggregationNode { mut input, step, keys, mut aggregates, schema, node_id } = node;
        if self.ctx.drivers > 1 {
            input = exchange(input, &keys);
        }
        aggregates.iter_mut().for_each(|it| it.merges = false);
        Ok(PlanNode::Aggregation(AggregationNode {
            node_id,
            input,
            step,
            keys,
            aggregates,
            schema,
        }))
    }

    /// Finds distinct arguments first, if no call depends on the order of rows.
    fn in_one_driver(&self, single: AggregationNode, groups: f64) -> Result<PlanNode> {
        let mut is_due =
            groups <= DISTINCT_GROUPS_MAX && self.can_split(&single.aggregates, groups)?;
        for call in &single.aggregates {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            is_due &= !bound.order_sensitive;
        }
        let args = distinct::args(&single).filter(|_| is_due);
        Ok(PlanNode::Aggregation(match args {
            Some(args) => distinct::first(single, &args, self.ctx)?,
            None => single,
        }))
    }

    /// In as many steps as pay for `rows` rows in `groups` groups, as far as one can tell.
    fn among_drivers(&self, single: AggregationNode, rows: f64, groups: f64) -> Result<PlanNode> {
        if !self.can_split(&single.aggregates, groups)? {
            return Ok(one_step(single));
        }
        if single.aggregates.iter().all(|it| !it.distinct) {
            return match rows >= groups * PARTIAL_ROWS_PER_GROUP_MIN {
                true => self.two_steps(single),
                false => Ok(one_step(single)),
            };
        }
        match distinct::args(&single) {
            Some(args) if groups <= DISTINCT_GROUPS_MAX => {
                self.two_steps(distinct::first(single, &args, self.ctx)?)
            }
            _ => Ok(one_step(single)),
        }
    }

    /// Whether partial results of all calls, in `groups` groups, can be merged, and are smaller
    /// than their rows; DISTINCT apart. Those that are as large pay where drivers could not share
    /// the groups.
    pub(super) fn can_split(&self, calls: &[Aggregate], groups: f64) -> Result<bool> {
        if calls.iter().any(|call| !call.order_by.is_empty()) {
            return Ok(false);
        }
        let are_few = groups <= FEW_GROUPS && calls.iter().all(|it| !it.distinct);
        for call in calls {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            let collects = matches!(bound.function, AggregateKind::Collecting(_));
            if collects || (bound.over_rows.is_some() && !are_few) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Partial aggregation where the rows are, then an exchange of groups, then the final one.
    fn two_steps(&self, single: AggregationNode) -> Result<PlanNode> {
        let AggregationNode { input, keys, aggregates, schema, .. } = single;
        let fields = schema.fields.iter().take(keys.len()).cloned().collect();
        let aggregates_merged = merges_of(&aggregates, keys.len());
        let (partial, width) = (AggregateStep::Partial, keys.len());
        let partial = self.partial(partial, (input, keys), aggregates, Schema::new(fields))?;
        let keys: Vec<usize> = (0..width).collect();
        Ok(PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: exchange(partial, &keys),
            step: AggregateStep::Final,
            keys,
            aggregates: aggregates_merged,
            schema,
        }))
    }

    /// Intermediate results; every group comes once. `fields`: those of the keys.
    pub(super) fn groups_once(
        &self,
        input: Arc<PlanNode>,
        keys: Vec<usize>,
        aggregates: Vec<Aggregate>,
        fields: Schema,
    ) -> Result<Arc<PlanNode>> {
        if self.ctx.drivers == 1 {
            return self.partial(AggregateStep::PartialOnce, (input, keys), aggregates, fields);
        }
        let merges = merges_of(&aggregates, keys.len());
        let all: Vec<usize> = (0..keys.len()).collect();
        let partial = self.partial(AggregateStep::Partial, (input, keys), aggregates, fields)?;
        Ok(Arc::new(PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            schema: partial.schema().clone(),
            input: exchange(partial, &all),
            step: AggregateStep::Intermediate,
            keys: all,
            aggregates: merges,
        })))
    }

    /// Intermediate results of an input with keys; `fields`: those of the keys.
    fn partial(
        &self,
        step: AggregateStep,
        (input, keys): (Arc<PlanNode>, Vec<usize>),
        aggregates: Vec<Aggregate>,
        Schema { mut fields }: Schema,
    ) -> Result<Arc<PlanNode>> {
        for (index, call) in aggregates.iter().enumerate() {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            fields.push(Field::new(format!("{}{index}", call.function), bound.intermediate));
        }
        let schema = Schema::new(fields);
        let node = AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            step,
            keys,
            aggregates,
            schema,
        };
        Ok(Arc::new(PlanNode::Aggregation(node)))
    }
}

/// What a node with these calls does; in one step, where it makes results.
fn step_of<'a>(mut calls: impl Iterator<Item = &'a AggregateCall>) -> AggregateStep {
    match calls.next().map(|it| &it.step) {
        Some(CallStep::Partial) => AggregateStep::Partial,
        Some(CallStep::Merge(_)) => AggregateStep::Intermediate,
        _ => AggregateStep::Single,
    }
}

/// The calls over intermediate results that follow `keys` keys.
fn merges_of(calls: &[Aggregate], keys: usize) -> Vec<Aggregate> {
    let merge = |(index, call): (usize, &Aggregate)| {
        let args = vec![keys + index];
        Aggregate { args, filter: None, merges: false, ..call.clone() }
    };
    calls.iter().enumerate().map(merge).collect()
}

/// Rows go to the driver of their group first. Without keys one driver does it all.
fn one_step(mut single: AggregationNode) -> PlanNode {
    single.input = exchange(single.input, &single.keys);
    PlanNode::Aggregation(single)
}

pub(super) fn exchange(input: Arc<PlanNode>, keys: &[usize]) -> Arc<PlanNode> {
    let kind = match keys {
        [] => ExchangeKind::Gather,
        _ => ExchangeKind::Hash(keys.to_vec()),
    };
    Arc::new(PlanNode::LocalExchange(LocalExchangeNode {
        node_id: PlanNodeId::UNASSIGNED,
        input,
        kind,
    }))
}

pub(super) fn lower_call(call: &AggregateCall, computed: &mut Computed) -> Result<Aggregate> {
    let args = call.args.iter().map(|it| computed.position(it)).collect::<Result<_>>()?;
    let filter = call.filter.as_ref().map(|it| computed.position(it)).transpose()?;
    let arg_types = match &call.step {
        CallStep::Final(types) | CallStep::Merge(types) => types.clone(),
        _ => call.args.iter().map(|it| it.data_type.clone()).collect(),
    };
    Ok(Aggregate {
        function: call.function.clone(),
        args,
        arg_types,
        distinct: call.distinct,
        merges: matches!(call.step, CallStep::Final(_) | CallStep::Merge(_)),
        filter,
        order_by: lower_sort_keys(&call.order_by, computed)?,
        place: SourceSpan::of(call.span),
    })
}
