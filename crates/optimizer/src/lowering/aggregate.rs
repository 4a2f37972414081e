//! Aggregations: keys and arguments are computed first, then the work is split among drivers.

use super::expr::Computed;
use super::sort::lower_sort_keys;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::{ColumnSet, collect_used};
use std::sync::Arc;
use volley_error::Result;
use volley_function::AggregateKind;
use volley_logical::{AggregateCall, Column, Plan};
use volley_plan::{
    Aggregate, AggregateStep, AggregationNode, ExchangeKind, LocalExchangeNode, PlanNode,
};
use volley_types::{Field, Schema, Type};

/// Partial aggregation is worth it when a group has at least this many rows on average.
const PARTIAL_ROWS_PER_GROUP_MIN: f64 = 1.5;

impl Lowering<'_> {
    pub(super) fn aggregate(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
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
        let single = AggregationNode {
            input: computed.finish().node,
            step: AggregateStep::Single,
            keys: key_positions,
            aggregates: lowered_calls,
            schema: schema_of(&columns),
        };
        let splits = self.ctx.drivers > 1 && self.can_split(&calls, &single)?;
        let node = if splits && self.reduces(plan, input) {
            self.two_steps(single, keys.len())?
        } else if self.ctx.drivers > 1 {
            one_step(single)
        } else {
            PlanNode::Aggregation(single)
        };
        Ok(Lowered::new(node, columns))
    }

    /// Whether partial results of all calls can be merged, and are smaller than their rows.
    fn can_split(
        &self,
        calls: &[(Column, AggregateCall)],
        single: &AggregationNode,
    ) -> Result<bool> {
        if calls.iter().any(|(_, call)| call.distinct || !call.order_by.is_empty()) {
            return Ok(false);
        }
        for call in &single.aggregates {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            if matches!(bound.function, AggregateKind::Collecting(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether groups have several rows, as far as one can tell.
    fn reduces(&mut self, plan: &Plan, input: &Plan) -> bool {
        let groups = self.estimator.estimate(plan).rows;
        let rows = self.estimator.estimate(input).rows;
        rows >= groups * PARTIAL_ROWS_PER_GROUP_MIN
    }

    /// Partial aggregation where the rows are, then an exchange of groups, then the final one.
    fn two_steps(&self, single: AggregationNode, keys: usize) -> Result<PlanNode> {
        let mut fields: Vec<Field> = single.schema.fields.iter().take(keys).cloned().collect();
        let mut merges = Vec::with_capacity(single.aggregates.len());
        for (index, call) in single.aggregates.iter().enumerate() {
            let bound = self.ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
            fields.push(Field::new(format!("{}{index}", call.function), bound.intermediate));
            merges.push(Aggregate { args: vec![keys + index], filter: None, ..call.clone() });
        }
        let schema = single.schema.clone();
        let partial =
            AggregationNode { step: AggregateStep::Partial, schema: Schema::new(fields), ..single };
        let key_positions: Vec<usize> = (0..keys).collect();
        let input = exchange(PlanNode::Aggregation(partial).into(), &key_positions);
        Ok(PlanNode::Aggregation(AggregationNode {
            input,
            step: AggregateStep::Final,
            keys: key_positions,
            aggregates: merges,
            schema,
        }))
    }
}

/// Rows go to the driver of their group first. Without keys one driver does it all.
fn one_step(mut single: AggregationNode) -> PlanNode {
    single.input = exchange(single.input, &single.keys);
    PlanNode::Aggregation(single)
}

fn exchange(input: Arc<PlanNode>, keys: &[usize]) -> Arc<PlanNode> {
    let kind = match keys {
        [] => ExchangeKind::Gather,
        _ => ExchangeKind::Hash(keys.to_vec()),
    };
    Arc::new(PlanNode::LocalExchange(LocalExchangeNode { input, kind }))
}

fn lower_call(call: &AggregateCall, computed: &mut Computed) -> Result<Aggregate> {
    let args = call.args.iter().map(|it| computed.position(it)).collect::<Result<_>>()?;
    let filter = call.filter.as_ref().map(|it| computed.position(it)).transpose()?;
    Ok(Aggregate {
        function: call.function.clone(),
        args,
        arg_types: call.args.iter().map(|it| it.data_type.clone()).collect::<Vec<Type>>(),
        distinct: call.distinct,
        filter,
        order_by: lower_sort_keys(&call.order_by, computed)?,
    })
}
