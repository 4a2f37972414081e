//! Exchanges and Union: the queues between drivers are those of the lowering.

use crate::{registration::wrong_node, row_order::RowOrders};
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, Partitioning, PipelineBuilder};
use volley_plan::{ExchangeKind, PlanNode, Routing};

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::LocalExchange(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    Ok(match &node.kind {
        ExchangeKind::Gather => cx.gather(input),
        ExchangeKind::RoundRobin => {
            let drivers = cx.task().drivers;
            if drivers == 1 && input.drivers() == 1 {
                return Ok(input);
            }
            if RowOrders::is_needed(cx) && has_order(&input) {
                return Ok(cx.ordered_exchange(vec![input], drivers));
            }
            cx.exchange(vec![input], drivers, &Partitioning::Any)
        }
        ExchangeKind::Hash(keys) => {
            if keys.is_empty() || cx.task().drivers == 1 {
                return Ok(cx.gather(input));
            }
            let drivers = cx.task().drivers;
            cx.exchange(vec![input], drivers, &Partitioning::Hash(keys.clone()))
        }
    })
}

/// An exchange between tasks in a plan that one task runs: all rows stay in the task.
pub(crate) fn lower_uncut(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Exchange(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    Ok(match &node.routing {
        Routing::Gather => cx.gather(input),
        Routing::Merge(keys) => {
            let types: Vec<_> = node.input.schema().types().cloned().collect();
            cx.merge(input, &types, keys)
        }
        Routing::Any
        | Routing::Hash(_)
        | Routing::Range(_)
        | Routing::Broadcast
        | Routing::Forward
        | Routing::Replicate => input,
    })
}

/// Every input sends to one exchange that any driver may read.
pub(crate) fn lower_union(
    _node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut inputs = inputs.take_all();
    match inputs.len() {
        0 => Err(Error::internal("a union without inputs")),
        1 => inputs.pop().ok_or_else(|| Error::internal("a union without inputs")),
        _ => {
            let drivers = cx.task().drivers;
            if RowOrders::is_needed(cx) && inputs.iter().all(has_order) {
                return Ok(cx.ordered_exchange(inputs, drivers));
            }
            Ok(cx.exchange(inputs, drivers, &Partitioning::Any))
        }
    }
}

/// Whether rows come in an order.
fn has_order(input: &PipelineBuilder) -> bool {
    input.drivers() == 1 || input.order.is_some()
}
