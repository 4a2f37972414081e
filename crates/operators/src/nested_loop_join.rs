//! Joins every pair that satisfies a condition.
//!
//! ```text
//! build   drivers publish batches; the last one concatenates them and wakes the probes;
//!         when memory is short, all go to disk instead
//! probe   per input batch, and per block of the build side (all of it, when it is in memory),
//!         tiles of pairs, each at most a batch long:
//!           few build rows:  one build row (constants) next to all probe rows
//!           many build rows: one probe row (constants) next to a slice of the build side
//!         the condition runs over a tile at once; hits become pairs of row numbers, pairs become
//!         dictionaries over both sides
//! end     the last probe driver emits build rows by whether any driver matched them
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
mod lower;
mod nearest;
mod probe;
#[cfg(test)]
mod tests;

use crate::join_output::JoinOutput;
use blocks::BuildSide;

pub(crate) use condition::Condition;
use lookup::AsofSpec;

pub(crate) use lookup::ordered_integers;
pub(crate) use lower::{lower, lower_asof};
use std::sync::{Arc, Mutex, atomic::AtomicUsize};
use volley_memory::{Pool, Reservation};
use volley_state::{BatchCharge, OnceValue, spill::SpillRun};
use volley_vector::Batch;

/// What the drivers of both sides share.
struct Shared {
    /// Build batches until all are there.
    collected: Mutex<Collected>,
    /// What these take.
    held_bytes: AtomicUsize,
    build: OnceValue<BuildSide>,
    /// Only for kinds that return build rows at the end.
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
            ahead: pool.reserve_ahead(),
            runs: Vec::new(),
        };
        Arc::new(Shared {
            collected: Mutex::new(collected),
            held_bytes: AtomicUsize::new(0),
            build: OnceValue::new(),
            matched: Mutex::default(),
        })
    }
}
