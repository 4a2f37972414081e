//! Limit: cut in every driver first, then in one stream.

use crate::{limit::Limit, registration::wrong_node};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Limit(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    let (offset, limit) = (node.offset, node.limit);
    if input.drivers() > 1
        && let Some(limit) = limit
    {
        // No driver needs to send more than the whole limit.
        let most = offset.saturating_add(limit);
        let order = input.order.clone();
        cx.add(&mut input, "limit", move |_| {
            Ok(Box::new(TransformOperator::new(Limit::new(0, Some(most)))))
        });
        input.order = order;
    }
    let mut pipeline = cx.gather(input);
    cx.add(&mut pipeline, "limit", move |_| {
        Ok(Box::new(TransformOperator::new(Limit::new(offset, limit))))
    });
    Ok(pipeline)
}
