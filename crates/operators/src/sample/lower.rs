//! Sample: every driver has numbers of its own; with a seed, one driver sees all rows.

use crate::{
    registration::wrong_node,
    sample::{Chance, Sample},
};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Sample(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    if node.seed.is_some() {
        input = cx.gather(input);
    }
    let partitioned_by = input.partitioned_by.take();
    let (method, seed) = (node.method, node.seed);
    cx.add(&mut input, "sample", move |cx| {
        Ok(Box::new(TransformOperator::new(Sample::new(method, Chance::new(seed, cx.driver)))))
    });
    input.partitioned_by = partitioned_by;
    Ok(input)
}
