//! Repeat.

use crate::{Lowering, PipelineBuilder, repeat::Repeat};
use volley_error::Result;
use volley_plan::RepeatNode;

pub(super) fn lower(
    _node: &RepeatNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    cx.close_fused(&mut input);
    let partitioned_by = input.partitioned_by.take();
    cx.add(&mut input, "repeat", |cx| Ok(Box::new(Repeat::new(cx.task.batch_rows))));
    input.partitioned_by = partitioned_by;
    Ok(input)
}
