//! Window: brings the rows of a partition together, unless they come so, sorted, then leaves the
//! rest to the operator.

use crate::{Lowering, PipelineBuilder};
use volley_error::{Error, Result};
use volley_plan::WindowNode;

pub(super) fn lower(
    node: &WindowNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut input);
    let has_keys = !node.partition_by.is_empty() || !node.order_by.is_empty();
    if node.sorted && has_keys && !input.is_partitioned(&node.partition_by) {
        return Err(Error::internal("an exchange would mix the sorted streams below a window"));
    }
    let input = cx.partition(input, &node.partition_by);
    crate::window::lower(node, input, cx)
}
