//! State that operators keep from batch to batch: rows, hash tables, sorted and spilled batches.
//!
//! ```text
//! columns ── rows ──────> RowContainer        rows that never move, one block after the other
//!         ── hash_table > GroupTable          finds or makes the group of each row
//!                         JoinTable           rows of a build side in chains of equal keys
//!         ── sort ──────> BatchSort, RunMerge rows in order, in memory and merged from runs
//!         ── partition ─> Partitioner         rows by hash: which driver, partition or worker
//!         ── spill ─────> SpillWriter         batches on disk and back
//!         ── queue ─────> BatchQueue          batches between producers and readers
//! ```
//!
//! Read [`rows::RowContainer`], [`hash_table::GroupTable`] and [`spill::SpillWriter`] first. Code
//! that keeps batches between steps reserves them with a [`BatchCharge`]. Code that waits without
//! blocking a thread stores its waker in [`Waiters`], a [`OnceValue`] or a [`Barrier`].
//!
//! Invariants: memory is charged to a pool before it is allocated; rows never move; spilled rows
//! are read in the order in which they were written. This crate does not know drivers, tasks,
//! plans or connectors: everything in it can be used and tested on its own.

pub mod rows;
pub mod hash_table;
pub mod sort;
pub mod partition;
pub mod spill;
pub mod queue;

pub mod barrier;
pub mod charge;
pub mod coalesce;
pub mod column_concat;
pub mod compact;
mod sizes;

pub use barrier::{Barrier, OnceValue, Ticket, Waiters};
pub use charge::BatchCharge;
pub use coalesce::Coalescer;
pub use sizes::{Cuts, StateSizes};
