//! Checks of databases and of file formats.
//!
//! ```text
//! database(database)   panics where the contract of connector::Database is broken
//! rows(table)          the rows of a table, for tests
//! file_format          files of a format: what is written is read, and damage is an error
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
mod file_format;

pub use check::rows;
pub use database::database;
pub use file_format::{
    damaged_files_are_errors, files_are_read_as_written, open_file, read_file, write_file,
};
