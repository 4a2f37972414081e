//! Checks of aggregations.

use super::{expect, group_keys, misfit, puts_out, sort_keys, type_at, types_of};
use crate::{Aggregate, AggregateStep, AggregationNode, GroupIdNode};
use volley_error::Result;
use volley_function::Registry;
use volley_types::Type;

pub(super) fn aggregation(node: &AggregationNode, registry: &Registry) -> Result<()> {
    let input = types_of(&node.input);
    group_keys(&node.keys, &input)?;
    let mut types = Vec::with_capacity(node.schema.len());
    for key in &node.keys {
        types.push(type_at(&input, *key)?.clone());
    }
    for call in &node.aggregates {
        types.push(aggregate(call, node.step, &input, registry)?);
    }
    puts_out(&node.schema, &types)
}

/// The output type of an aggregate.
fn aggregate(
    call: &Aggregate,
    step: AggregateStep,
    input: &[Type],
    registry: &Registry,
) -> Result<Type> {
    let bound = registry.resolve_aggregate(&call.function, &call.arg_types)?;
    if step.merges() || call.merges {
        arguments(call, std::slice::from_ref(&bound.intermediate), input)?;
    } else {
        arguments(call, &call.arg_types, input)?;
        arguments(call, &bound.args, input)?;
    }
    if let Some(filter) = call.filter {
        expect("the filter", type_at(input, filter)?, &Type::Boolean)?;
    }
    sort_keys(&call.order_by, input)?;
    if step != AggregateStep::Single && (call.distinct || !call.order_by.is_empty()) {
        return Err(misfit("DISTINCT or ORDER BY of an aggregate that is computed in steps"));
    }
    if call.distinct {
        group_keys(&call.args, input)?;
    }
    Ok(if step.finishes() { bound.result } else { bound.intermediate })
}

fn arguments(call: &Aggregate, wanted: &[Type], input: &[Type]) -> Result<()> {
    if call.args.len() != wanted.len() {
        let message = format!("{} arguments of {}", call.args.len(), call.function);
        return Err(misfit(message));
    }
    let mut args = call.args.iter().zip(wanted);
    args.try_for_each(|(arg, wanted)| expect(&call.function, type_at(input, *arg)?, wanted))
}

pub(super) fn group_id(node: &GroupIdNode) -> Result<()> {
    let mut types = types_of(&node.input);
    group_keys(&node.keys, &types)?;
    for key in &node.keys {
        types.push(type_at(&types, *key)?.clone());
    }
    types.push(Type::BigInt);
    types.extend(node.extra_rows.then_some(Type::Boolean));
    for set in &node.sets {
        let has_order = set.keys.is_sorted_by(|left, right| left < right);
        if !has_order || set.keys.last().is_some_and(|it| *it >= node.keys.len()) {
            return Err(misfit("a grouping set of other keys"));
        }
    }
    puts_out(&node.schema, &types)
}
