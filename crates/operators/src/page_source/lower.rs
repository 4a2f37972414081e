//! PageSource: where its rows come from is one of the task's ports.

use crate::registration::wrong_node;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::PageSource(node) = node else { return Err(wrong_node()) };
    cx.page_source(node)
}
