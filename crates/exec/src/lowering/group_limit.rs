//! GroupLimit: one stream.

use crate::{Lowering, PipelineBuilder, group_limit::GroupLimit};
use volley_error::Result;
use volley_plan::GroupLimitNode;

pub(super) fn lower(
    node: &GroupLimitNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut pipeline = cx.gather(input);
    let node = node.clone();
    cx.add(&mut pipeline, "group limit", move |cx| Ok(Box::new(GroupLimit::new(&node, cx))));
    Ok(pipeline)
}
