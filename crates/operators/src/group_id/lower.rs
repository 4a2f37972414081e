//! GroupId: drivers repeat what they read; the first one that ends emits the extra rows.

use crate::{
    group_id::{GroupId, GroupIdSpec},
    registration::wrong_node,
};
use std::sync::{Arc, atomic::AtomicBool};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
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
    let spec = Arc::new(GroupIdSpec {
        keys: node.keys.clone(),
        sets: node.sets.clone(),
        extra_rows: node.extra_rows,
        types: node.schema.types().cloned().collect(),
    });
    let extra_taken = Arc::new(AtomicBool::new(false));
    cx.add(&mut input, "group id", move |_| {
        Ok(Box::new(GroupId::new(Arc::clone(&spec), Arc::clone(&extra_taken))))
    });
    input.partitioned_by = partitioned_by;
    Ok(input)
}
