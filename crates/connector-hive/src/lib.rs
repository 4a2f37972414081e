//! Tables of files: one file, a glob, or a folder; Parquet, CSV or JSON lines by the name's ending.
//!
//! ```text
//! FileTable::open(path) ── scan(request) ──> splits (row groups, text files) ── batches
//! FileSinkFactory::open(node) ──> FileSink: batches in; the file appears when finished
//! ```
//!
//! Read [`FileTable`] first. All files of a table have the columns of the first one, found by name.
//! This crate does not know operators.

mod config;
mod table;
mod split;
mod source;
mod statistics;
mod sink;
#[cfg(test)]
mod tests;

pub use config::FileOptions;
pub use sink::FileSinkFactory;
pub use table::{CONNECTOR, FileTable};
