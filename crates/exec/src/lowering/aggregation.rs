//! Aggregation: brings rows of a group together, then leaves the rest to the operator.

use crate::{Lowering, PipelineBuilder};
use volley_error::Result;
use volley_plan::AggregationNode;

pub(super) fn lower(
    node: &AggregationNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    if !node.step.repeats_groups() {
        input = cx.partition(input, &node.keys);
    }
    cx.close_fused(&mut input);
    crate::aggregation::lower(node, input, cx)
}
