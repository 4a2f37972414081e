//! Sample: every driver has numbers of its own; with a seed, one driver sees all rows.

use crate::{
    Lowering, PipelineBuilder,
    sample::{Chance, Sample},
};
use volley_error::Result;
use volley_plan::SampleNode;

pub(super) fn lower(
    node: &SampleNode,
    mut input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    if node.seed.is_some() {
        input = cx.gather(input);
    }
    cx.close_fused(&mut input);
    let partitioned_by = input.partitioned_by.take();
    let (method, seed) = (node.method, node.seed);
    cx.add(&mut input, "sample", move |cx| {
        Ok(Box::new(Sample::new(method, Chance::new(seed, cx.driver))))
    });
    input.partitioned_by = partitioned_by;
    Ok(input)
}
