//! Window functions.
//!
//! ```text
//! collect   input batches, reserved; all rows of a partition reach the same driver
//! concat    one flat vector per column
//! sort      row numbers, by partition and order
//! arrange   the columns that calls read, gathered in that order
//! places    where partitions and groups of peers end
//! prepare   per call: structures that compute frames quickly
//! emit      batch by batch: frames, results, the other columns
//! ```
//!
//! Results may take far more than the rows: they are computed, reserved and emitted some frames at
//! a time then (`weights`), each call at its own pace.
//!
//! Calls of one node share the sort; a call may have fewer order keys than the node. Aggregates
//! compute frames in one of three ways: frames that only grow share one running state
//! (`running`), other frames are merged from a tree of intermediate results (`tree`), and calls
//! that cannot be merged (array_agg, DISTINCT over frames that do not grow) lists the rows of
//! each frame (`listed`), whose cost is the sum of all frames' lengths; so do calls with an order
//! of their own among their arguments (`ordered`, of window functions). Adjacent equal frames are
//! computed once.
//!
//! An input that is sorted already goes through these steps on arrival, without the sort: some
//! whole partitions at a time, and large ones in segments, if calls allow that
//! (`units` and `pieces`, as below).
//!
//! Many rows are distributed by the hash of their partition keys (`parts`), unless the plan relies
//! on the order of partitions, or there are few partitions; each hash partition then goes through
//! the steps by itself. When memory is short, hash partitions are spilled.
//!
//! Rows that are not distributed then, and a hash partition that does not fit in memory, are sorted
//! on disk; some whole partitions at a time go through the steps above (`units`), without the sort.
//! A large partition goes through them in segments (`pieces`), if all calls allow that: calls that
//! use positions of rows, that read rows at a distance, or whose frames begin with the partition or
//! have bounds in the order of the rows. For other calls it must fit in memory.

mod active;
mod argument_order;
mod call;
mod frames;
mod per_frame;
mod operator;
mod ordered;
mod partitions;
mod segments;
mod boundaries;
mod range;
mod row_number;
mod run;
mod running;
mod spec;
mod states;
mod tree;
mod partition_batches;
mod size_estimate;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;
