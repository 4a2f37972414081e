//! Tables in memory: what CREATE TABLE makes.
//!
//! ```text
//! MemoryTable (a version): StoredBatch, StoredBatch, ...   columns behind Arcs, live rows
//!      │ change(RowChanges)
//!      └──> MemoryTable (the next version): batches that nothing happened to are shared
//! MemoryDatabase: committed versions ── begin ──> transaction: versions of its own ── commit
//! ```
//!
//! A version is immutable: who holds an old one goes on reading it. Whoever makes a version that
//! takes the place of another holds the table's `WriteLock` meanwhile, so that no change is lost.

mod batch;
mod change;
mod database;
mod key;
mod live_rows;
mod row_id;
mod split;
mod statistics;
mod table;
mod writer;
#[cfg(test)]
mod tests;

pub use database::MemoryDatabase;
pub use table::{CONNECTOR, MemoryTable};
pub use volley_connector::{WriteGuard, WriteLock};
