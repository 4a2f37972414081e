//! Build and Probe: the hash join, composed by hand.
//!
//! The operators are those of [`crate::hash_join`]; the table goes from one to the other as it does
//! there.

use super::sub_node;
use crate::{hash_join, registration::wrong_node};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::{PlanNode, sub::SubOperator};

/// The rows of the table: [`lower`] adds the operator that makes it, which knows the join.
pub(crate) fn lower_build(
    node: &PlanNode,
    inputs: &mut Inputs,
    _: &mut Lowering,
) -> Result<PipelineBuilder> {
    match &sub_node(node)?.op {
        SubOperator::Build(_) => inputs.take(),
        _ => Err(wrong_node()),
    }
}

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let (SubOperator::Probe(probe), [rows, table]) = (&node.op, &node.inputs[..]) else {
        return Err(wrong_node());
    };
    let mut join = probe.join(node.node_id, rows, table)?;
    join.schema.clone_from(&node.schema);
    hash_join::lower(&PlanNode::HashJoin(join), inputs, cx)
}
