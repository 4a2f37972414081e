//! MergeJoin: each side in queues, any number of drivers behind them.

use crate::{Lowering, PipelineBuilder, merge_join};
use volley_error::Result;
use volley_plan::MergeJoinNode;

pub(super) fn lower(
    node: &MergeJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    merge_join::lower(node, probe, build, cx)
}
