//! Aggregation: brings rows of a group together, then leaves the rest to the operator.

use super::{
    AggregationSpec,
    accumulator::{AccumulatorSpec, state_of},
    operator::HashAggregation,
};
use crate::registration::wrong_node;
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::{AggregateStep, PlanNode};

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Aggregation(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    if !node.step.repeats_groups() {
        input = cx.partition(input, &node.keys);
    }
    let fields = &node.input.schema().fields;
    let aggregates = node.aggregates.iter().map(|it| {
        let bound = cx.task().registry.resolve_aggregate(&it.function, &it.arg_types)?;
        Ok(AccumulatorSpec {
            state: state_of(&bound),
            bound,
            args: it.args.clone(),
            arg_types: it.args.iter().map(|it| fields[*it].data_type.clone()).collect(),
            distinct: it.distinct,
            merges: node.step.merges() || it.merges,
            filter: it.filter,
            order_by: it.order_by.clone(),
            order_types: it.order_by.iter().map(|it| fields[it.column].data_type.clone()).collect(),
            place: it.place,
            sizes: cx.task().sizes,
        })
    });
    let spec = Arc::new(AggregationSpec {
        step: node.step,
        keys: node.keys.clone(),
        key_types: node.keys.iter().map(|it| fields[*it].data_type.clone()).collect(),
        aggregates: aggregates.collect::<Result<_>>()?,
    });
    let name = match node.step {
        AggregateStep::Single => "aggregation",
        AggregateStep::Partial => "partial aggregation",
        AggregateStep::PartialOnce => "aggregation to intermediate results",
        AggregateStep::Intermediate => "intermediate aggregation",
        AggregateStep::Final => "final aggregation",
    };
    let partitioned_by = input.partitioned_by.take();
    cx.add(&mut input, name, move |cx| {
        Ok(Box::new(HashAggregation::new(name, Arc::clone(&spec), cx)))
    });
    let position = |column: &usize| node.keys.iter().position(|it| it == column);
    input.partitioned_by = partitioned_by.and_then(|it| it.iter().map(position).collect());
    Ok(input)
}
