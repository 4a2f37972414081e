//! Native tables on disk.
//!
//! ```text
//! Store     the port to files: append, read, put, list, remove
//! Segment   rows in blocks of chunk files, with bounds to skip by
//! ```
//!
//! Read [`Store`] first. Storage reaches files by this port alone: it is append-only and blocking,
//! so that a simulated disk can stand in for a real one and everything above it is deterministic.
//! This crate does not know SQL or operators.

pub mod store;
pub mod conformance;
mod local_store;
mod bytes;
mod ids;
mod block;
mod chunk_file;
mod bounds;
mod segment;

pub use chunk_file::{ChunkFile, ChunkFiles, ChunkWriter, StoredBlock};
pub use ids::Ids;
pub use local_store::LocalStore;
pub use segment::{BLOCK_ROWS, SEGMENT_ROWS_MAX, Segment, SegmentWriter, ZONE_ROWS, Zones};
pub use store::{Abilities, AppendFile, Expected, Listed, Name, Put, Store, WriteKind};
