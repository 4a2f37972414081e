//! TaskInput: the queue is that of the lowering.

use crate::registration::wrong_node;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::TaskInput(node) = node else { return Err(wrong_node()) };
    Ok(cx.task_input(node.schema.types().cloned().collect()))
}
