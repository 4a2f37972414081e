//! TableWrite: each driver into a sink of its own, if the target takes as many.

use crate::{
    registration::wrong_node,
    table_write::{RowChecks, TableWrite},
};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;
use volley_types::Field;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::TableWrite(node) = node else { return Err(wrong_node()) };
    let input = inputs.take()?;
    let names = node.column_names.iter().zip(node.input.schema().types());
    let columns = names.map(|(name, data_type)| Field::new(name, data_type.clone())).collect();
    let writer = cx.task().sinks.writer(&node.target, &columns)?;
    let fits = input.drivers() <= writer.sinks_max();
    let mut pipeline = if fits { input } else { cx.gather(input) };
    let (checks, order) = (RowChecks::new(node), pipeline.order.clone());
    cx.add(&mut pipeline, "table write", move |cx| {
        let write = TableWrite::new(&*writer, checks.clone(), cx)?;
        Ok(Box::new(write.at(order.as_ref(), cx.driver)))
    });
    Ok(pipeline)
}
