//! Unnest.

use crate::{Lowering, PipelineBuilder, unnest::Unnest};
use volley_error::Result;
use volley_plan::UnnestNode;

pub(super) fn lower(
    node: &UnnestNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut input);
    let moved = |by: Vec<usize>| {
        let place = |column: &usize| node.replicated.iter().position(|it| it == column);
        by.iter().map(place).collect::<Option<Vec<_>>>()
    };
    let partitioned_by = input.partitioned_by.take().and_then(moved);
    let node = node.clone();
    cx.add(&mut input, "unnest", move |cx| Ok(Box::new(Unnest::new(&node, cx))));
    input.partitioned_by = partitioned_by;
    Ok(input)
}
