//! Values: one driver.

use crate::{registration::wrong_node, values::ValuesSource};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Values(node) = node else { return Err(wrong_node()) };
    let node = node.clone();
    Ok(cx.source("values", 1, move |cx| Ok(Box::new(ValuesSource::new(&node, cx)?))))
}
