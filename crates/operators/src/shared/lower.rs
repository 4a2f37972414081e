//! Shared: the subplan's pipeline ends in a buffer; every reader is a source.

use super::{SharedReader, SharedRows, SharedWriter};
use crate::registration::wrong_node;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_plan::PlanNode;

/// Results of shared subplans, by [`volley_plan::SharedNode::id`].
#[derive(Default)]
struct SharedSubplans(HashMap<u32, Arc<SharedRows>>);

/// The input is below one of the readers only.
pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Shared(node) = node else { return Err(wrong_node()) };
    let pool = cx.pool("shared");
    let task = Arc::clone(cx.task());
    let types = node.input.schema().types().cloned().collect();
    let entry = cx.state::<SharedSubplans>().0.entry(node.id);
    let rows = Arc::clone(entry.or_insert_with(|| Arc::new(SharedRows::new(types, &pool, &task))));
    if let Some(mut input) = inputs.take_optional() {
        rows.expect_writers(input.drivers());
        let target = Arc::clone(&rows);
        cx.add(&mut input, "shared writer", move |cx| {
            Ok(Box::new(SharedWriter::new(Arc::clone(&target), &cx.metrics)))
        });
        cx.seal(input);
    }
    let drivers = cx.task().drivers;
    let reader = rows.add_reader();
    Ok(cx.source("shared reader", drivers, move |cx| {
        Ok(Box::new(SharedReader::new(Arc::clone(&reader), &cx.metrics)))
    }))
}
