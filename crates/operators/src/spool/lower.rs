//! Shared: the subplan's pipeline ends in a queue; every reading node is a source.

use super::{SpoolSink, spool};
use crate::registration::wrong_node;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, QueueSource};
use volley_plan::PlanNode;
use volley_state::queue::{BatchQueue, QueueReader};

/// Results of shared subplans, by [`volley_plan::SpoolNode::id`].
#[derive(Default)]
struct SharedSubplans(HashMap<u32, Arc<BatchQueue>>);

/// The input is below one of the readers only.
pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::Spool(node) = node else { return Err(wrong_node()) };
    let pool = cx.pool("shared");
    let task = Arc::clone(cx.task());
    let types = node.input.schema().types().cloned().collect();
    let entry = cx.state::<SharedSubplans>().0.entry(node.id);
    let rows = Arc::clone(entry.or_insert_with(|| spool(types, &pool, &task)));
    if let Some(mut input) = inputs.take_optional() {
        rows.add_producers(input.drivers());
        let target = Arc::clone(&rows);
        cx.add(&mut input, "shared writer", move |cx| {
            Ok(Box::new(SpoolSink::operator("shared writer", &target, &cx.metrics)))
        });
        cx.seal(input);
    }
    let drivers = cx.task().drivers;
    let reader = Arc::new(QueueReader::new(&rows, 0)?);
    Ok(cx.source("shared reader", drivers, move |cx| {
        Ok(Box::new(QueueSource::new("shared reader", &reader, &cx.metrics)))
    }))
}
