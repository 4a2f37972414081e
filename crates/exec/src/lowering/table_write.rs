//! TableWrite: one stream into one sink.

use crate::{Lowering, PipelineBuilder, table_write::TableWrite};
use volley_error::Result;
use volley_plan::TableWriteNode;

pub(super) fn lower(
    node: &TableWriteNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut pipeline = cx.gather(input);
    let node = node.clone();
    cx.add(&mut pipeline, "table write", move |cx| Ok(Box::new(TableWrite::new(&node, cx)?)));
    Ok(pipeline)
}
