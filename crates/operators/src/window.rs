//! Window functions.
//!
//! ```text
//! collect   input batches, charged; all rows of a partition come to the same driver
//! concat    one flat vector per column
//! sort      row numbers, by partition and order
//! arrange   the columns that calls read, gathered in that order
//! places    where partitions and groups of peers end
//! prepare   per call: what answers for frames quickly
//! put out   batch by batch: frames, results, the other columns
//! ```
//!
//! Results may take far more than the rows: they are made, charged and put out some frames at a
//! time then (`weights`), each call at its own pace.
//!
//! Calls of one node share the sort; a call may have fewer order keys than the node. Aggregates
//! answer for frames in one of three ways: frames that only grow run one state through
//! (`running`), other frames are put together from a tree of intermediate results (`tree`), and
//! what cannot be put together (array_agg, DISTINCT over frames that do not grow) lists the rows of
//! each frame (`listed`), whose cost is the sum of all frames' lengths; so do calls with an order
//! of their own among their arguments (`ordered`, of window functions). Equal frames that follow
//! one another are answered once.
//!
//! An input that is sorted already goes through these steps as it comes, without the sort: some
//! whole partitions at a time, and those that are large piece by piece, if calls allow that
//! (`units` and `pieces`, as below).
//!
//! Rows that are many wait by the hash of their partition (`parts`), unless somebody relies on the
//! order of partitions, or there are few; each part then goes through the steps by itself. When
//! memory is short, parts are written to disk.
//!
//! What is not in parts then, and a part that does not fit in memory by itself, is sorted on disk;
//! some whole partitions at a time go through the steps above (`units`), without the sort. A
//! partition that is large goes through them piece by piece (`pieces`), when all calls allow that:
//! those that ask where rows stand, that look some rows away, or whose frames begin with the
//! partition or have bounds in the order of the rows. For other calls it must fit in memory.

mod active;
mod argument_order;
mod call;
mod frames;
mod listed;
mod operator;
mod ordered;
mod parts;
mod pieces;
mod places;
mod range;
mod run;
mod running;
mod spec;
mod states;
mod tree;
mod units;
mod weights;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

/// Rows that are worked on in one step: about a millisecond's work. Few in tests, so that work is
/// cut everywhere. A multiple of the tree's fan-out.
const STEP_ROWS: usize = if cfg!(test) { 32 } else { 64 << 10 };
