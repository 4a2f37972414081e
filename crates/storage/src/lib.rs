//! Native tables on disk.
//!
//! ```text
//! store   the port to files: append, read, put, list, remove
//! ```
//!
//! Read [`Store`] first. Storage reaches files by this port alone: it is append-only and blocking,
//! so that a simulated disk can stand in for a real one and everything above it is deterministic.
//! This crate does not know SQL or operators.

pub mod store;

pub use store::{Abilities, AppendFile, Expected, Listed, Name, Put, Store, WriteKind};
