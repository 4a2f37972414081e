//! Repeat.

use crate::{registration::wrong_node, repeat::Repeat};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Repeat(_) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    let order = input.order.clone();
    let partitioned_by = input.partitioned_by.take();
    cx.add(&mut input, "repeat", |cx| {
        Ok(Box::new(TransformOperator::new(Repeat::new(cx.task.batch_rows))))
    });
    input.partitioned_by = partitioned_by;
    input.order = order;
    Ok(input)
}
