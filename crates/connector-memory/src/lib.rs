//! Tables in memory: what CREATE TABLE makes.
//!
//! A [`MemoryTable`] is a list of batches, charged to a pool. Appending makes a new version; who
//! holds the old one goes on reading it.

mod split;
mod statistics;
mod table;
#[cfg(test)]
mod tests;

pub use table::{CONNECTOR, MemoryTable};
