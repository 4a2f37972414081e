//! Project: fused with the filter before it.

use super::FilterProjectSpec;
use crate::{Lowering, PipelineBuilder};
use volley_error::Result;
use volley_plan::ProjectNode;

pub(super) fn lower(
    node: &ProjectNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    if input.fused.as_ref().is_none_or(|it| it.projections.is_some()) {
        cx.close_fused(&mut input);
    }
    let spec = input.fused.get_or_insert_with(|| FilterProjectSpec {
        node: cx.node,
        filters: Vec::new(),
        projections: None,
    });
    spec.node = cx.node;
    spec.projections = Some(node.exprs.clone());
    Ok(input)
}
