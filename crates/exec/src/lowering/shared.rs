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
    let entry = cx.shared.entry(node.id);
    let rows = Arc::clone(entry.or_insert_with(|| Arc::new(SharedRows::new(&pool))));
    if let Some(mut input) = input {
        rows.expect_writers(input.drivers());
        let target = Arc::clone(&rows);
        cx.add(&mut input, "shared writer", move |_| {
            Ok(Box::new(SharedWriter::new(Arc::clone(&target))))
        });
        cx.seal(input);
    }
    let drivers = cx.task().drivers;
    let reader = rows.add_reader();
    Ok(cx.source("shared reader", drivers, move |_| {
        Ok(Box::new(SharedReader::new(Arc::clone(&reader))))
    }))
}
