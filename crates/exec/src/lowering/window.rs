//! Window: brings the rows of a partition together, then leaves the rest to the operator.

use crate::{Lowering, PipelineBuilder};
use volley_error::Result;
use volley_plan::WindowNode;

pub(super) fn lower(
    node: &WindowNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut input = cx.partition(input, &node.partition_by);
    cx.close_fused(&mut input);
    crate::window::lower(node, input, cx)
}
