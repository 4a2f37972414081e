//! UniqueId: drivers take ranges of one counter.

use crate::{
    registration::wrong_node,
    unique_id::{UniqueId, UniqueIdCounter},
};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::UniqueId(_) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    let partitioned_by = input.partitioned_by.take();
    let counter = Arc::new(UniqueIdCounter::of_task(cx.task().ports.number));
    cx.add(&mut input, "unique id", move |_| {
        Ok(Box::new(TransformOperator::new(UniqueId::new(Arc::clone(&counter)))))
    });
    input.partitioned_by = partitioned_by;
    Ok(input)
}
