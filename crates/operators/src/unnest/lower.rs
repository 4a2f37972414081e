//! Unnest.

use crate::{registration::wrong_node, unnest::Unnest};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Unnest(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    let moved = |by: Vec<usize>| {
        let place = |column: &usize| node.replicated.iter().position(|it| it == column);
        by.iter().map(place).collect::<Option<Vec<_>>>()
    };
    let order = input.order.clone();
    let partitioned_by = input.partitioned_by.take().and_then(moved);
    let node = node.clone();
    cx.add(&mut input, "unnest", move |cx| {
        Ok(Box::new(TransformOperator::new(Unnest::new(&node, cx))))
    });
    input.partitioned_by = partitioned_by;
    input.order = order;
    Ok(input)
}
