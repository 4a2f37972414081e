//! Parameter: the tuple of the map around a plan.

use super::sub_node;
use crate::{registration::wrong_node, values::one_batch};
use std::collections::HashMap;
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::{PlanNode, sub::SubOperator};
use volley_vector::Batch;

/// The tuples of the maps around a plan, by the numbers of the maps: one row each.
#[derive(Clone, Default)]
pub(super) struct Tuples(pub(super) HashMap<u32, Batch>);

pub(crate) fn lower(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let SubOperator::Parameter(parameter) = &node.op else { return Err(wrong_node()) };
    let tuple = cx.state::<Tuples>().0.get(&parameter.map).cloned().ok_or_else(|| {
        Error::invalid_query(format!("a parameter outside of the map {}", parameter.map))
    })?;
    let types = tuple.columns().iter().map(|it| it.data_type());
    if !types.eq(node.schema.types()) {
        let message =
            format!("a parameter of other columns than the tuples of map {}", parameter.map);
        return Err(Error::invalid_query(message));
    }
    Ok(one_batch("parameter", tuple, cx))
}
