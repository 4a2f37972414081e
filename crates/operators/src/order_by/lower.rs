//! OrderBy: every driver sorts its rows, one merges them.

use crate::{
    group_limit::{FirstRowSorts, FirstRows},
    order_by::OrderBy,
    registration::wrong_node,
};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::{PlanNode, SortKey};
use volley_types::Type;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::OrderBy(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    if let Some(of) = FirstRowSorts::of_node(cx) {
        cx.add(&mut input, "first rows", move |cx| {
            Ok(Box::new(TransformOperator::new(FirstRows::new(of, cx))))
        });
    }
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    Ok(sort(input, &types, &node.keys, cx))
}

/// The rows of `types` in the order of `keys`, in one stream.
pub(crate) fn sort(
    mut input: PipelineBuilder,
    types: &[Type],
    keys: &[SortKey],
    cx: &mut Lowering,
) -> PipelineBuilder {
    let (own_types, own_keys) = (types.to_vec(), keys.to_vec());
    cx.add(&mut input, "order by", move |cx| {
        Ok(Box::new(OrderBy::new(own_types.clone(), own_keys.clone(), cx)))
    });
    cx.merge(input, types, keys)
}
