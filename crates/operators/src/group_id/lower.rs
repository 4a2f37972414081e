//! GroupId: drivers repeat what they read; the first one that ends emits the extra rows.

use crate::{
    group_id::{GroupId, GroupIdSpec},
    registration::wrong_node,
    row_order::RowOrders,
};
use std::sync::{Arc, atomic::AtomicBool};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
use volley_plan::PlanNode;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::GroupId(node) = node else { return Err(wrong_node()) };
    let mut input = inputs.take()?;
    // The extra rows are in whichever driver.
    let partitioned_by = input.partitioned_by.take().filter(|_| !node.extra_rows);
    let repeats_rows = node.keys.is_empty() && !node.extra_rows && !node.sets.is_empty();
    let order = input.order.clone().filter(|_| repeats_rows);
    let rows_at_once = (cx.task().batch_rows / node.sets.len().max(1)).max(1);
    let rows_in_order = (repeats_rows && RowOrders::is_needed(cx)).then_some(rows_at_once);
    let spec = Arc::new(GroupIdSpec {
        rows_in_order,
        keys: node.keys.clone(),
        sets: node.sets.clone(),
        extra_rows: node.extra_rows,
        types: node.schema.types().cloned().collect(),
    });
    let extra_taken = Arc::new(AtomicBool::new(false));
    cx.add(&mut input, "group id", move |_| {
        Ok(Box::new(TransformOperator::new(GroupId::new(
            Arc::clone(&spec),
            Arc::clone(&extra_taken),
        ))))
    });
    input.partitioned_by = partitioned_by;
    input.order = order;
    Ok(input)
}
