//! Checks of windows.

use super::{expect, group_keys, misfit, puts_out, sort_keys, type_at, types_of};
use crate::{Frame, FrameBound, FrameOffset, FrameUnits, WindowCall, WindowNode};
use volley_error::Result;
use volley_function::Registry;
use volley_types::Type;

/// The functions that [`crate::WindowLimit`] can be of.
const RANKING: [&str; 3] = ["row_number", "rank", "dense_rank"];

pub(super) fn window(node: &WindowNode, registry: &Registry) -> Result<()> {
    let input = types_of(&node.input);
    group_keys(&node.partition_by, &input)?;
    sort_keys(&node.order_by, &input)?;
    let mut types = Vec::with_capacity(node.schema.len());
    for column in &node.output {
        types.push(type_at(&input, *column)?.clone());
    }
    for it in &node.calls {
        if it.order_keys > node.order_by.len() {
            return Err(misfit("a call with more keys than the order"));
        }
        types.push(call(it, &input, registry)?);
    }
    if let Some(limit) = &node.limit {
        let function = node.calls.get(limit.call).map(|it| it.function.as_str());
        if !function.is_some_and(|it| RANKING.contains(&it)) {
            return Err(misfit("a limit of a call that does not rank"));
        }
    }
    puts_out(&node.schema, &types)
}

/// The type of what a call gives.
fn call(call: &WindowCall, input: &[Type], registry: &Registry) -> Result<Type> {
    let is_aggregate = !registry.is_window(&call.function);
    let (args, result) = if is_aggregate {
        let bound = registry.resolve_aggregate(&call.function, &call.arg_types)?;
        (bound.args, bound.result)
    } else {
        let bound = registry.resolve_window(&call.function, &call.arg_types)?;
        (bound.args, bound.result)
    };
    if call.args.len() != call.arg_types.len() || call.args.len() != args.len() {
        let message = format!("{} arguments of {}", call.args.len(), call.function);
        return Err(misfit(message));
    }
    for ((arg, given), wanted) in call.args.iter().zip(&call.arg_types).zip(&args) {
        let found = type_at(input, *arg)?;
        expect(&call.function, found, given)?;
        expect(&call.function, found, wanted)?;
    }
    if let Some(filter) = call.filter {
        expect("the filter", type_at(input, filter)?, &Type::Boolean)?;
    }
    if !is_aggregate && (call.distinct || call.filter.is_some()) {
        return Err(misfit(format!("DISTINCT or FILTER of {}", call.function)));
    }
    if is_aggregate && call.ignore_nulls {
        return Err(misfit(format!("IGNORE NULLS of {}", call.function)));
    }
    if call.distinct {
        group_keys(&call.args, input)?;
    }
    sort_keys(&call.order_by, input)?;
    frame(&call.frame, input)?;
    Ok(result)
}

fn frame(frame: &Frame, input: &[Type]) -> Result<()> {
    let starts_last = matches!(frame.start, FrameBound::UnboundedFollowing);
    if starts_last || matches!(frame.end, FrameBound::UnboundedPreceding) {
        return Err(misfit("a frame that begins behind its end"));
    }
    for offset in frame.offsets() {
        match offset {
            FrameOffset::Count(_) => {}
            FrameOffset::Column(column) => {
                expect("the offset", type_at(input, *column)?, &Type::BigInt)?;
            }
            FrameOffset::Value { key, bound, .. } => {
                if frame.units != FrameUnits::Range {
                    return Err(misfit("an offset of values in a frame of rows"));
                }
                let key = type_at(input, *key)?;
                expect("the bound", type_at(input, *bound)?, key)?;
            }
        }
    }
    Ok(())
}
