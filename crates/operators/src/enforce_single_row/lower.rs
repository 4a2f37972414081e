//! EnforceSingleRow: one stream.

use crate::{enforce_single_row::EnforceSingleRow, registration::wrong_node};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::EnforceSingleRow(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    let mut pipeline = cx.gather(input);
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    let place = node.place;
    cx.add(&mut pipeline, "enforce single row", move |_| {
        Ok(Box::new(TransformOperator::new(EnforceSingleRow::new(types.clone(), place))))
    });
    Ok(pipeline)
}
