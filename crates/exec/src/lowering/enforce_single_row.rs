//! EnforceSingleRow: one stream.

use crate::{Lowering, PipelineBuilder, enforce_single_row::EnforceSingleRow};
use volley_error::Result;
use volley_plan::EnforceSingleRowNode;

pub(super) fn lower(
    node: &EnforceSingleRowNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let mut pipeline = cx.gather(input);
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    let place = node.place;
    cx.add(&mut pipeline, "enforce single row", move |_| {
        Ok(Box::new(EnforceSingleRow::new(types.clone(), place)))
    });
    Ok(pipeline)
}
