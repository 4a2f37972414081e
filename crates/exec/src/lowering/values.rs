//! Values: one driver.

use crate::{Lowering, PipelineBuilder, values::ValuesSource};
use volley_error::Result;
use volley_plan::ValuesNode;

pub(super) fn lower(node: &ValuesNode, cx: &mut Lowering) -> Result<PipelineBuilder> {
    let node = node.clone();
    Ok(cx.source("values", 1, move |cx| Ok(Box::new(ValuesSource::new(&node, cx)?))))
}
