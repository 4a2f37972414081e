//! UniqueId: drivers take ranges of one counter.

use crate::{
    Lowering, PipelineBuilder,
    unique_id::{UniqueId, UniqueIdCounter},
};
use std::sync::Arc;
use volley_error::Result;
use volley_plan::UniqueIdNode;

pub(super) fn lower(
    _node: &UniqueIdNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut input);
    let partitioned_by = input.partitioned_by.take();
    let counter = Arc::new(UniqueIdCounter::default());
    cx.add(&mut input, "unique id", move |_| Ok(Box::new(UniqueId::new(Arc::clone(&counter)))));
    input.partitioned_by = partitioned_by;
    Ok(input)
}
