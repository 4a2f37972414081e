//! Joins every pair that satisfies a condition.
//!
//! ```text
//! build   drivers hand in batches; the last one joins them to one flat batch and wakes the probes;
//!         when memory is short, all go to disk instead
//! probe   per input batch, and per block of the build side (all of it, when it is in memory),
//!         tiles of pairs, each at most a batch long:
//!           few build rows:  one build row (constants) beside all probe rows
//!           many build rows: one probe row (constants) beside a slice of the build side
//!         the condition runs over a tile at once; hits become pairs of row numbers, pairs become
//!         dictionaries over both sides
//! end     the last probe driver puts out build rows by whether any driver matched them
//! ```
//!
//! Nothing is copied for a tile but the references of the columns that the condition reads.
//!
//! A build side on disk is read again for every probe batch: to decode a row takes about as long as
//! some tens of pairs, and each is in as many as the probe batch has rows. So these are collected
//! until they are many, the probe side needs no disk, and drivers need not wait for each other.

mod blocks;
mod build;
mod condition;
mod probe;
#[cfg(test)]
mod tests;

use crate::{Barrier, BatchCharge, Lowering, PipelineBuilder, Promise, spill::SpillRun};
use blocks::BuildSide;
use build::NestedLoopBuild;
use condition::Condition;
use probe::NestedLoopProbe;
use std::sync::{Arc, Mutex, atomic::AtomicUsize};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_plan::{JoinKind, NestedLoopJoinNode};
use volley_types::Type;
use volley_vector::Batch;

/// What the drivers of both sides share.
struct Shared {
    /// Build batches until all are there.
    collected: Mutex<Collected>,
    /// What these take.
    held_bytes: AtomicUsize,
    build: Promise<BuildSide>,
    /// Only for kinds that put out build rows at the end.
    matched: Mutex<Matched>,
}

/// What probe drivers that have seen all of their input know.
#[derive(Default)]
struct Matched {
    /// Build rows that some driver matched.
    rows: Vec<bool>,
    drivers: usize,
}

struct Collected {
    batches: Vec<Batch>,
    charge: BatchCharge,
    /// What joining them will take.
    ahead: Reservation,
    /// What drivers wrote, once they have ended.
    runs: Vec<SpillRun>,
}

/// What the probe side needs to know of its node.
#[derive(Clone)]
struct ProbeConfig {
    kind: JoinKind,
    output: Vec<usize>,
    probe_types: Vec<Type>,
    build_types: Vec<Type>,
    batch_rows: usize,
    drivers: usize,
}

impl Shared {
    fn new(pool: &Pool) -> Arc<Shared> {
        let collected = Collected {
            batches: Vec::new(),
            charge: BatchCharge::new(pool),
            ahead: pool.promise(),
            runs: Vec::new(),
        };
        Arc::new(Shared {
            collected: Mutex::new(collected),
            held_bytes: AtomicUsize::new(0),
            build: Promise::new(),
            matched: Mutex::default(),
        })
    }
}

/// Adds the build side's sink and the probe side's operator.
pub(crate) fn lower(
    node: &NestedLoopJoinNode,
    mut probe: PipelineBuilder,
    mut build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let pool = cx.pool("nested loop join build");
    let shared = Shared::new(&pool);
    let types: Vec<Type> = node.build.schema().types().cloned().collect();
    let (_, mut tickets) = Barrier::new(build.drivers());
    let target = Arc::clone(&shared);
    let build_types = types.clone();
    cx.add_in_pool(&mut build, "nested loop join build", pool, move |cx| {
        Ok(Box::new(NestedLoopBuild::new(&target, types.clone(), tickets.pop(), cx)))
    });
    cx.seal(build);

    let config = ProbeConfig {
        kind: node.kind,
        output: node.output.clone(),
        probe_types: node.probe.schema().types().cloned().collect(),
        build_types,
        batch_rows: cx.task().batch_rows,
        drivers: probe.drivers(),
    };
    let condition = node.condition.clone();
    cx.add(&mut probe, "nested loop join probe", move |cx| {
        let width = config.probe_types.len();
        let condition =
            condition.as_ref().map(|it| Condition::compile(it, width, cx)).transpose()?;
        Ok(Box::new(NestedLoopProbe::new(&shared, config.clone(), condition, &cx.pool)))
    });
    Ok(probe)
}
