//! MergeJoin: each side in queues, any number of drivers behind them.

use super::{MergeSpec, cutter::Cutter, operator::MergeJoin, side::Side};
use crate::{join_output::JoinOutput, registration::wrong_node};
use std::sync::{Arc, Mutex};
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, QueueSink, merge_queues};
use volley_memory::Pool;
use volley_plan::{PlanNode, SortKey};
use volley_types::Type;

/// Adds the sinks of both sides, and opens a pipeline of any number of drivers.
pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::MergeJoin(node) = node else { return Err(wrong_node()) };
    let (probe, build) = (inputs.take()?, inputs.take()?);
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
    let (queues, readers) = merge_queues(input.drivers(), pool);
    cx.add_in_pool(&mut input, "merge join sender", pool.clone(), move |cx| {
        Ok(Box::new(QueueSink::new("merge join sender", &queues[cx.driver])))
    });
    cx.seal(input);
    Side::new(types, keys, readers, cx.task().batch_rows, pool)
}
