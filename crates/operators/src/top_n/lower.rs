//! TopN: the best rows of every driver, then the best of those in one stream.

use crate::{
    dynamic_filters::DynamicFilters, limit::Limit, order_by, registration::wrong_node, top_n::TopN,
};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_expression::filter::DynamicFilter;
use volley_plan::{PlanNode, TopNNode};

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::TopN(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    if !node.is_heap() {
        return Ok(sort(input, node, cx));
    }
    // The first of them tells scans what it drops.
    let mut filter = cx.state::<DynamicFilters>().to_tighten(node);
    if input.drivers() > 1 {
        let most = node.offset.saturating_add(node.limit);
        add(&mut input, node, (0, most), filter.take(), cx);
        input = cx.gather(input);
    }
    add(&mut input, node, (node.offset, node.limit), filter, cx);
    Ok(input)
}

/// Sorts everything, then cuts.
fn sort(input: PipelineBuilder, node: &TopNNode, cx: &mut Lowering) -> PipelineBuilder {
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    let mut pipeline = order_by::sort(input, &types, &node.keys, cx);
    let (offset, limit) = (node.offset, node.limit);
    cx.add(&mut pipeline, "limit", move |_| {
        Ok(Box::new(TransformOperator::new(Limit::new(offset, Some(limit)))))
    });
    pipeline
}

fn add(
    pipeline: &mut PipelineBuilder,
    node: &TopNNode,
    (offset, limit): (u64, u64),
    filter: Option<Arc<DynamicFilter>>,
    cx: &mut Lowering,
) {
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    let keys = node.keys.clone();
    cx.add(pipeline, "top n", move |cx| {
        let top_n = TopN::new(types.clone(), keys.clone(), offset, limit, cx);
        Ok(Box::new(top_n.with_filter(filter.clone())))
    });
}
