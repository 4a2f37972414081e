//! NestedLoopJoin: the build side in memory, any number of drivers on both sides.

use crate::{Lowering, PipelineBuilder, nested_loop_join};
use volley_error::Result;
use volley_plan::NestedLoopJoinNode;

pub(super) fn lower(
    node: &NestedLoopJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    nested_loop_join::lower(node, probe, build, cx)
}
