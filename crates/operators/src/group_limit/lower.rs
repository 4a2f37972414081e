//! GroupLimit: one stream.

use crate::{group_limit::GroupLimit, registration::wrong_node};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::GroupLimit(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    let mut pipeline = cx.gather(input);
    let node = node.clone();
    cx.add(&mut pipeline, "group limit", move |_| {
        Ok(Box::new(TransformOperator::new(GroupLimit::new(&node))))
    });
    Ok(pipeline)
}
