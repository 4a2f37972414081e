//! Window: brings the rows of a partition together, unless they come so, sorted, then leaves the
//! rest to the operator.

use super::{operator::WindowOperator, row_number::RowNumber, spec::WindowSpec};
use crate::registration::wrong_node;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Window(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    let has_keys = !node.partition_by.is_empty() || !node.order_by.is_empty();
    if node.sorted && has_keys && !input.is_partitioned(&node.partition_by) {
        return Err(Error::internal("an exchange would mix the sorted streams below a window"));
    }
    let mut input = cx.partition(input, &node.partition_by);
    if RowNumber::computes(node) {
        let node = node.clone();
        cx.add(&mut input, "row number", move |_| {
            Ok(Box::new(TransformOperator::new(RowNumber::new(&node))))
        });
        return Ok(input);
    }
    let spec = Arc::new(WindowSpec::new(node, &cx.task().registry, cx.task().sizes)?);
    let partitioned_by = input.partitioned_by.take();
    cx.add(&mut input, "window", move |cx| Ok(Box::new(WindowOperator::new(&spec, cx))));
    let position = |column: &usize| node.output.iter().position(|it| it == column);
    input.partitioned_by = partitioned_by.and_then(|it| it.iter().map(position).collect());
    Ok(input)
}
