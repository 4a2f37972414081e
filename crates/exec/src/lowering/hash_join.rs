//! Hash join: any number of drivers on both sides.

use crate::{Lowering, PipelineBuilder};
use volley_error::Result;
use volley_plan::HashJoinNode;

pub(super) fn lower(
    node: &HashJoinNode,
    mut probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut probe);
    let filters = cx.filters.take_join(cx.node);
    crate::hash_join::lower(node, probe, build, filters, cx)
}
