//! OrderBy: one stream.

use crate::{Lowering, PipelineBuilder, order_by::OrderBy};
use volley_error::Result;
use volley_plan::OrderByNode;

pub(super) fn lower(
    node: &OrderByNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut pipeline = cx.gather(input);
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    let keys = node.keys.clone();
    cx.add(&mut pipeline, "order by", move |cx| {
        Ok(Box::new(OrderBy::new(types.clone(), keys.clone(), cx)))
    });
    Ok(pipeline)
}
