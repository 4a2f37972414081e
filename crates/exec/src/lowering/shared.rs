//! Shared: the subplan's pipeline ends in a buffer; every reader is a source.

use crate::{
    Lowering, PipelineBuilder,
    shared::{SharedReader, SharedRows, SharedWriter},
};
use std::sync::Arc;
use volley_error::Result;
use volley_plan::SharedNode;

/// `input` is there for one of the readers only.
pub(super) fn lower(
    node: &SharedNode,
    input: Option<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let pool = cx.pool("shared");
    let task = Arc::clone(cx.task());
    let types = node.input.schema().types().cloned().collect();
    let entry = cx.shared.entry(node.id);
    let rows = Arc::clone(entry.or_insert_with(|| Arc::new(SharedRows::new(types, &pool, &task))));
    if let Some(mut input) = input {
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
