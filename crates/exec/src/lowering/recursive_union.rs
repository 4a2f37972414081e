//! RecursiveUnion: the anchor and what is kept are pipelines of the task; the step is lowered again
//! in every iteration (see [`crate::recursion`]).

use super::Inputs;
use crate::{
    Lowering, PipelineBuilder,
    recursion::{Recursion, RecursionHelper, RecursiveUnion},
    shared::{SharedReader, SharedRows, SharedWriter},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_plan::{RecursiveUnionNode, WorkingTableNode};

/// `inputs`: the anchor and what is kept; `step` is where the step stands in the plan's walk.
pub(super) fn lower(
    node: &RecursiveUnionNode,
    inputs: &mut Inputs,
    step: usize,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let task = Arc::clone(cx.task());
    let mut anchor = inputs.take()?;
    cx.close_fused(&mut anchor);
    let mut kept = cx.kept.clone();
    for part in &node.kept {
        let mut input = inputs.take()?;
        cx.close_fused(&mut input);
        let types = part.input.schema().types().cloned().collect();
        let rows = Arc::new(SharedRows::new(types, &cx.pool("kept rows"), &task));
        rows.expect_writers(input.drivers());
        kept.insert(part.id, Arc::clone(&rows));
        cx.add(&mut input, "kept rows writer", move |cx| {
            Ok(Box::new(SharedWriter::new(Arc::clone(&rows), &cx.metrics)))
        });
        cx.seal(input);
    }
    let recursion = Arc::new(Recursion::new(node, step, kept, &task));
    let first = recursion.generation(anchor.drivers());
    recursion.write(&first, anchor, cx);
    if task.drivers > 1 {
        let shared = Arc::clone(&recursion);
        let helper = cx.source("recursion helper", task.drivers - 1, move |_| {
            Ok(Box::new(RecursionHelper::new(Arc::clone(&shared))))
        });
        cx.seal(helper);
    }
    let mut first = Some(first);
    Ok(cx.source("recursive union", 1, move |cx| {
        let first = first.take().ok_or_else(|| Error::internal("a recursion with two drivers"))?;
        Ok(Box::new(RecursiveUnion::new(Arc::clone(&recursion), first, &cx.metrics)))
    }))
}

/// The rows of the iteration before, or rows that are kept.
pub(super) fn lower_working_table(
    node: &WorkingTableNode,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let rows = cx.kept.get(&node.id);
    let rows = rows.ok_or_else(|| Error::internal("a working table outside of its recursion"))?;
    let reader = rows.add_reader();
    let drivers = cx.task().drivers;
    Ok(cx.source("working table", drivers, move |cx| {
        Ok(Box::new(SharedReader::new(Arc::clone(&reader), &cx.metrics)))
    }))
}
