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
//! Where the condition has comparisons, the build side in memory gets an index that finds the build
//! rows of a probe row (see `lookup`). ASOF joins use it, too, or sort both sides on disk and merge
//! them (see `nearest`).
//!
//! Nothing is copied for a tile but the references of the columns that the condition reads.
//!
//! A build side on disk is read again for every probe batch: to decode a row takes about as long as
//! some tens of pairs, and each is in as many as the probe batch has rows. So these are collected
//! until they are many, the probe side needs no disk, and drivers need not wait for each other.

mod blocks;
mod build;
mod condition;
mod lookup;
mod nearest;
mod probe;
#[cfg(test)]
mod tests;

use crate::{Lowering, PipelineBuilder, join_output::JoinOutput};
use blocks::BuildSide;
use build::NestedLoopBuild;
pub(crate) use condition::Condition;
use lookup::{AsofSpec, LookupSpec};
use probe::NestedLoopProbe;
use std::sync::{Arc, Mutex, atomic::AtomicUsize};
use volley_error::Result;
use volley_expression::Expr;
use volley_memory::{Pool, Reservation};
use volley_plan::{AsofJoinNode, NestedLoopJoinNode};
use volley_state::{Barrier, BatchCharge, Promise, spill::SpillRun};
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
    output: JoinOutput,
    asof: Option<AsofSpec>,
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

/// What differs between the joins.
struct Parts<'a> {
    config: ProbeConfig,
    names: [&'static str; 2],
    condition: Option<&'a Expr>,
    lookup: Option<LookupSpec>,
    /// What is left to be tested of pairs that were looked up.
    residual: Option<&'a Expr>,
}

/// Adds the build side's sink and the probe side's operator.
pub(crate) fn lower(
    node: &NestedLoopJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let has_ranges = !node.ranges.is_empty();
    let parts = Parts {
        config: ProbeConfig {
            output: JoinOutput {
                kind: node.kind,
                columns: node.output.clone(),
                probe_types: node.probe.schema().types().cloned().collect(),
                build_types: node.build.schema().types().cloned().collect(),
            },
            asof: None,
            batch_rows: cx.task().batch_rows,
            drivers: probe.drivers(),
        },
        names: match has_ranges {
            true => ["range join build", "range join probe"],
            false => ["nested loop join build", "nested loop join probe"],
        },
        condition: node.condition.as_ref(),
        lookup: has_ranges.then(|| LookupSpec::Ranges(node.ranges.clone())),
        residual: node.residual.as_ref(),
    };
    lower_parts(parts, probe, build, cx)
}

/// As [`lower`], for the nearest rows.
pub(crate) fn lower_asof(
    node: &AsofJoinNode,
    probe: PipelineBuilder,
    build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let keys = node.probe_keys.iter().zip(&node.build_keys).zip(&node.nulls_equal);
    let keys = keys.map(|((probe, build), nulls_equal)| (*probe, *build, *nulls_equal));
    let asof = AsofSpec { keys: keys.collect(), range: node.range };
    let parts = Parts {
        config: ProbeConfig {
            output: JoinOutput {
                kind: node.kind,
                columns: node.output.clone(),
                probe_types: node.probe.schema().types().cloned().collect(),
                build_types: node.build.schema().types().cloned().collect(),
            },
            asof: Some(asof.clone()),
            batch_rows: cx.task().batch_rows,
            drivers: probe.drivers(),
        },
        names: ["asof join build", "asof join probe"],
        condition: None,
        lookup: Some(LookupSpec::Asof(asof)),
        residual: None,
    };
    lower_parts(parts, probe, build, cx)
}

fn lower_parts(
    parts: Parts<'_>,
    mut probe: PipelineBuilder,
    mut build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let Parts { config, names: [build_name, probe_name], condition, lookup, residual } = parts;
    let pool = cx.pool(build_name);
    let shared = Shared::new(&pool);
    let (_, mut tickets) = Barrier::new(build.drivers());
    let target = Arc::clone(&shared);
    let types = config.output.build_types.clone();
    cx.add_in_pool(&mut build, build_name, pool, move |cx| {
        let (types, lookup) = (types.clone(), lookup.clone());
        Ok(Box::new(NestedLoopBuild::new(&target, types, lookup, tickets.pop(), cx)))
    });
    cx.seal(build);
    let (condition, residual) = (condition.cloned(), residual.cloned());
    cx.add(&mut probe, probe_name, move |cx| {
        let width = config.output.probe_types.len();
        let compile =
            |it: &Option<Expr>| it.as_ref().map(|it| Condition::compile(it, width, cx)).transpose();
        let probe = NestedLoopProbe::new(&shared, config.clone(), compile(&condition)?, cx);
        Ok(Box::new(probe.with_residual(compile(&residual)?)))
    });
    Ok(probe)
}
