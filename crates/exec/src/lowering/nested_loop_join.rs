//! NestedLoopJoin and AsofJoin: any number of drivers on both sides.

use crate::{Lowering, PipelineBuilder, nested_loop_join};
use volley_error::Result;
use volley_plan::{AsofJoinNode, NestedLoopJoinNode};

pub(super) fn lower(
    node: &NestedLoopJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    nested_loop_join::lower(node, probe, build, cx)
}

pub(super) fn lower_asof(
    node: &AsofJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    nested_loop_join::lower_asof(node, probe, build, cx)
}
