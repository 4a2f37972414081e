//! Tables of files: files, globs and folders; Parquet, ORC, CSV, JSON, or formats that were added,
//! by the names' endings.
//!
//! ```text
//! FileTable::open(path) ── scan(request) ──> splits (row groups, text files) ── batches
//! FileSinkFactory::writer(target) ──> FileSink, FolderSink: batches in; files appear when finished
//! ```
//!
//! Read [`FileTable`] first. All files of a table have the columns of the first one, found by name,
//! or the table has those of all of them (`columns.rs`); the names of files and folders may give
//! columns, too.
//! This crate does not know operators.

mod format;
mod config;
mod table;
mod part;
mod partition;
mod columns;
mod field;
mod declared;
mod definition;
mod split;
mod group_reader;
mod source;
mod converted;
mod statistics;
mod output;
mod format_writer;
mod sink;
mod folder_options;
mod file_name;
mod partition_rows;
mod folder_sink;
mod completed_files;
mod footers;
#[cfg(test)]
mod tests;

pub use config::FileOptions;
pub use declared::{ColumnSource, DeclaredColumn, FileRange};
pub use footers::list_footers;
pub use format::{FileCompression, FileFormat, WriteOptions};
pub use sink::FileSinkFactory;
pub use table::{CONNECTOR, FileTable};
pub use volley_parquet::Listing;
