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
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use crate::join_output::JoinOutput;
use volley_expression::Expr;
use volley_plan::MergeKey;

/// What all drivers know of the node.
struct MergeSpec {
    output: JoinOutput,
    keys: Vec<MergeKey>,
    filter: Option<Expr>,
    batch_rows: usize,
}
