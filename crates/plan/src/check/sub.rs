//! Checks sub-operators.

use super::{joins, misfit, puts_out};
use crate::{
    PlanNode,
    sub::{SubNode, SubOperator},
};
use volley_error::Result;
use volley_function::Registry;
use volley_types::Schema;

/// Checks that the columns are those that follow from the inputs, and that parameters are the
/// tuples of their maps.
pub(super) fn sub(node: &SubNode, registry: &Registry) -> Result<()> {
    let schemas: Vec<&Schema> = node.inputs.iter().map(|it| it.schema()).collect();
    let schema = node.op.schema(&schemas)?;
    puts_out(&node.schema, schema.types())?;
    if let (SubOperator::Probe(probe), [rows, table]) = (&node.op, &node.inputs[..]) {
        return joins::hash_join(&probe.join(node.node_id, rows, table)?, registry);
    }
    let (SubOperator::NestedMap(map), [tuples, plan]) = (&node.op, &node.inputs[..]) else {
        return Ok(());
    };
    for visit in plan.walk() {
        let PlanNode::Sub(SubNode { op: SubOperator::Parameter(parameter), .. }) = visit.node
        else {
            continue;
        };
        let fits = parameter.schema.types().eq(tuples.schema().types());
        if parameter.map == map.id && !fits {
            return Err(misfit("a parameter of other columns than the tuples of its map"));
        }
    }
    Ok(())
}
