//! Aggregates with DISTINCT arguments and few groups.
//!
//! ```text
//! Aggregation Partial        keys         count(partial x), sum(partial y)     (then as always)
//!   Aggregation Intermediate keys, x      sum(partial y)
//!     LocalExchange hash
//!       Aggregation Partial  keys, x      sum(y)
//! ```
//!
//! With one driver, `PartialOnce` replaces the exchange and the two steps around it.
//!
//! All drivers find distinct rows. The other aggregates are carried along as intermediate results.
//! All calls must have the same DISTINCT arguments; `rules/split_distinct.rs` splits other
//! aggregations. A filter of the calls is one more key column: for equal arguments, at most one row
//! passes it.

use super::aggregate::exchange;
use crate::OptimizerContext;
use std::sync::Arc;
use volley_error::Result;
use volley_plan::{Aggregate, AggregateStep, AggregationNode, PlanNode, PlanNodeId};
use volley_types::{Field, Schema};

/// The columns of arguments and of the filter that all calls with DISTINCT have; `None` where they
/// differ.
pub(super) fn args(node: &AggregationNode) -> Option<Vec<usize>> {
    let columns = |it: &Aggregate| {
        let mut args: Vec<usize> = it.args.iter().chain(&it.filter).copied().collect();
        args.sort_unstable();
        args.dedup();
        args
    };
    let mut calls = node.aggregates.iter().filter(|it| it.distinct).peekable();
    let first = *calls.peek()?;
    let args = columns(first);
    let fields = &node.input.schema().fields;
    // Types with an order of their own have keys to be grouped by.
    let is_plain = args.iter().all(|it| fields[*it].data_type.key_type().is_none());
    let is_same = calls.all(|it| columns(it) == args && it.filter == first.filter);
    (is_plain && is_same && !first.args.is_empty()).then_some(args)
}

/// The aggregation over distinct rows of keys and `args`, in one step.
pub(super) fn first(
    node: AggregationNode,
    args: &[usize],
    ctx: &OptimizerContext<'_>,
) -> Result<AggregationNode> {
    let input = &node.input.schema().fields;
    let mut keys = node.keys.clone();
    keys.extend(args.iter().filter(|it| !node.keys.contains(it)));
    let mut fields: Vec<Field> = keys.iter().map(|it| input[*it].clone()).collect();
    let position = |column: &usize| keys.iter().position(|it| it == column);
    let (mut calls, mut merges, mut aggregates) = (Vec::new(), Vec::new(), Vec::new());
    for call in &node.aggregates {
        if call.distinct {
            let args = call.args.iter().filter_map(position).collect();
            let filter = call.filter.as_ref().and_then(position);
            aggregates.push(Aggregate { args, filter, distinct: false, ..call.clone() });
            continue;
        }
        let bound = ctx.registry.resolve_aggregate(&call.function, &call.arg_types)?;
        let merge = Aggregate { args: vec![fields.len()], filter: None, ..call.clone() };
        fields.push(Field::new(call.function.clone(), bound.intermediate));
        calls.push(call.clone());
        aggregates.push(Aggregate { merges: true, ..merge.clone() });
        merges.push(merge);
    }
    let positions: Vec<usize> = (0..keys.len()).collect();
    let step = |step, input, keys, aggregates| {
        let schema = Schema::new(fields.clone());
        PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            step,
            keys,
            aggregates,
            schema,
        })
    };
    let distinct = if ctx.drivers == 1 {
        step(AggregateStep::PartialOnce, node.input, keys, calls)
    } else {
        let partial = step(AggregateStep::Partial, node.input, keys, calls);
        let input = exchange(Arc::new(partial), &positions);
        step(AggregateStep::Intermediate, input, positions.clone(), merges)
    };
    let keys = positions[..node.keys.len()].to_vec();
    Ok(AggregationNode { input: Arc::new(distinct), keys, aggregates, ..node })
}
