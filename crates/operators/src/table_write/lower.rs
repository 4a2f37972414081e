//! TableWrite: each driver into a sink of its own, if the target takes as many.

use crate::{
    registration::wrong_node,
    table_write::{RowChecks, TableWrite, encode::Encode},
};
use std::sync::Arc;
use volley_connector::TableWriter;
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder, TransformOperator};
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
    let is_encoded = !fits && node.checks.is_empty() && writer.encoder().is_some();
    let mut pipeline = input;
    if is_encoded {
        encode(&mut pipeline, Arc::clone(&writer), cx);
    }
    if !fits {
        pipeline = cx.gather(pipeline);
    }
    let (checks, order) = (RowChecks::new(node), pipeline.order.clone());
    cx.add(&mut pipeline, "table write", move |cx| {
        let write = TableWrite::new(&*writer, checks.clone(), cx)?;
        let write = write.at(order.as_ref(), cx.driver);
        Ok(Box::new(if is_encoded { write.of_encoded() } else { write }))
    });
    Ok(pipeline)
}

/// Lets every driver encode its rows, in their order.
fn encode(pipeline: &mut PipelineBuilder, writer: Arc<dyn TableWriter>, cx: &mut Lowering) {
    let order = pipeline.order.clone();
    cx.add(pipeline, "encode rows", move |cx| {
        let encoder = writer.encoder().ok_or_else(|| Error::internal("writer without encoders"))?;
        Ok(Box::new(TransformOperator::new(Encode::new(encoder, cx.pool.reservation()))))
    });
    pipeline.order = order;
}
