//! Joins inputs that are sorted by the keys.
//!
//! ```text
//! left (sorted)  ── queues ── merge ──┐            ┌── chunk ── driver: ranges, pairs, output
//!                                     ├── cutter ──┼── chunk ── driver
//! right (sorted) ── queues ── merge ──┘            └── chunk ── driver
//! ```
//!
//! A chunk has all rows of both sides up to a key: the smaller one of the last keys that have come.
//! So it can be joined by itself, whatever the kind of join, and drivers share nothing but the
//! cutter, which looks at few rows: it finds places by binary search. Whichever driver needs a
//! chunk cuts it.
//!
//! Rows of a key that are too many to wait for its end in memory become a chunk of their own, whose
//! sides are on disk if they are large: every left row has every right row as a candidate. Where
//! such rows match nothing, they are chunks as they come.

mod chunk;
mod cutter;
mod operator;
mod side;
#[cfg(test)]
mod tests;

use crate::{
    Lowering, PipelineBuilder,
    join_output::JoinOutput,
    local_merge::{MergeQueue, MergeSender},
};
use cutter::Cutter;
use operator::MergeJoin;
use side::Side;
use std::sync::{Arc, Mutex};
use volley_error::Result;
use volley_expression::Expr;
use volley_memory::Pool;
use volley_plan::{MergeJoinNode, MergeKey, SortKey};
use volley_types::Type;

/// What all drivers know of the node.
struct MergeSpec {
    output: JoinOutput,
    keys: Vec<MergeKey>,
    filter: Option<Expr>,
    batch_rows: usize,
}

/// Adds the sinks of both sides, and opens a pipeline of any number of drivers.
pub(crate) fn lower(
    node: &MergeJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let spec = Arc::new(MergeSpec {
        output: JoinOutput {
            kind: node.kind,
            columns: node.output.clone(),
            probe_types: node.probe.schema().types().cloned().collect(),
            build_types: node.build.schema().types().cloned().collect(),
        },
        keys: node.keys.clone(),
        filter: node.filter.clone(),
        batch_rows: cx.task().batch_rows,
    });
    let pool = cx.pool("merge join");
    let left = spec.keys.iter().map(|it| it.sort_key(it.probe)).collect();
    let left = side(probe, &spec.output.probe_types, left, &pool, cx);
    let right = spec.keys.iter().map(|it| it.sort_key(it.build)).collect();
    let right = side(build, &spec.output.build_types, right, &pool, cx);
    let cutter = Arc::new(Mutex::new(Cutter::new(&spec, (left, right), cx.task(), &pool)));
    let drivers = cx.task().drivers;
    Ok(cx.source_in_pool("merge join", drivers, pool, move |cx| {
        Ok(Box::new(MergeJoin::new(&spec, &cutter, cx)?))
    }))
}

/// Ends a side's pipeline with queues, and takes their other ends.
fn side(
    mut input: PipelineBuilder,
    types: &[Type],
    keys: Vec<SortKey>,
    pool: &Pool,
    cx: &mut Lowering,
) -> Side {
    let queues = MergeQueue::new(input.drivers(), pool);
    let senders = queues.clone();
    cx.add_in_pool(&mut input, "merge join sender", pool.clone(), move |cx| {
        Ok(Box::new(MergeSender::new(senders[cx.driver].clone())))
    });
    cx.seal(input);
    Side::new(types, keys, &queues, cx.task().batch_rows, pool)
}
