//! RecursiveUnion: the anchor and what is kept are pipelines of the task; the step is lowered again
//! in every iteration (see [`crate::recursion`]).

use super::{Recursion, RecursionHelper, RecursiveUnion, direct::DirectStep};
use crate::{
    registration::wrong_node,
    spool::{SpoolSink, spool},
};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_exec::{Inputs, Lowering, PipelineBuilder, QueueSource};
use volley_plan::PlanNode;
use volley_state::queue::{BatchQueue, QueueReader};

/// Rows that recursions around a plan keep, by identity.
#[derive(Default)]
pub(crate) struct KeptRowsById(pub HashMap<u32, Arc<BatchQueue>>);

/// The step is lowered again in every iteration.
pub(crate) fn skipped_input(node: &PlanNode, _cx: &mut Lowering) -> Option<usize> {
    match node {
        // The step: after the anchor and what is kept.
        PlanNode::RecursiveUnion(node) => Some(1 + node.kept.len()),
        _ => None,
    }
}

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::RecursiveUnion(node) = node else { return Err(wrong_node()) };
    let task = Arc::clone(cx.task());
    let anchor = inputs.take()?;
    let mut kept = cx.state::<KeptRowsById>().0.clone();
    for part in &node.kept {
        let mut input = inputs.take()?;
        let types = part.input.schema().types().cloned().collect();
        let rows = spool(types, &cx.pool("kept rows"), &task);
        rows.add_producers(input.drivers());
        kept.insert(part.id, Arc::clone(&rows));
        cx.add(&mut input, "kept rows writer", move |cx| {
            Ok(Box::new(SpoolSink::operator("kept rows writer", &rows, &cx.metrics)))
        });
        cx.seal(input);
    }
    let recursion = Arc::new(Recursion::new(node, kept, cx)?);
    let first = recursion.generation(anchor.drivers())?;
    recursion.write(&first, anchor, cx);
    if task.drivers > 1 {
        let shared = Arc::clone(&recursion);
        let helper = cx.source("recursion helper", task.drivers - 1, move |_| {
            Ok(Box::new(RecursionHelper::new(Arc::clone(&shared))))
        });
        cx.seal(helper);
    }
    let (mut first, step) = (Some(first), DirectStep::of(node));
    Ok(cx.source("recursive union", 1, move |cx| {
        let first = first.take().ok_or_else(|| Error::internal("a recursion with two drivers"))?;
        let direct = step.as_ref().map(|it| it.compile(cx)).transpose()?;
        Ok(Box::new(RecursiveUnion::new(Arc::clone(&recursion), first, direct, &cx.metrics)))
    }))
}

/// The rows of the iteration before, or rows that are kept.
pub(crate) fn lower_working_table(
    node: &PlanNode,
    _inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::WorkingTable(node) = node else { return Err(wrong_node()) };
    let rows = cx.state::<KeptRowsById>().0.get(&node.id);
    let rows = rows.ok_or_else(|| Error::internal("a working table outside of its recursion"))?;
    let reader = Arc::new(QueueReader::new(rows, 0)?);
    let drivers = cx.task().drivers;
    Ok(cx.source("working table", drivers, move |cx| {
        Ok(Box::new(QueueSource::new("working table", &reader, &cx.metrics)))
    }))
}
