//! Checks of databases.
//!
//! ```text
//! database(database)   panics where the contract of connector::Database is broken
//! rows(table)          the rows of a table, for tests
//! ```
//!
//! Read [`database`] first: a new implementation is checked by one call. This crate is for tests
//! only: no other crate depends on it outside its tests.

#![expect(clippy::panic, reason = "a failed check panics")]

mod check;
mod database;
mod definitions;
mod sinks;
mod lookups;
mod turns;
mod references;

pub use check::rows;
pub use database::database;
