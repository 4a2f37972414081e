//! TableWrite: one stream into one sink.

use crate::{registration::wrong_node, table_write::TableWrite};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::TableWrite(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    let mut pipeline = cx.gather(input);
    let node = node.clone();
    cx.add(&mut pipeline, "table write", move |cx| Ok(Box::new(TableWrite::new(&node, cx)?)));
    Ok(pipeline)
}
