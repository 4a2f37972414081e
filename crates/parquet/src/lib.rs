//! Reads and writes Parquet.
//!
//! ```text
//! ParquetFile (footer, schema, bounds) ── RowGroupReader ── batches
//!   Pages         page headers and levels are read, pages decompressed or passed over
//!   PageValues    the values of one page in any encoding
//!   Accumulator   values of pages become one vector: codes stay codes, strings become views
//!   FlatReader, NestedReader   rows of a column chunk
//! connector::may_match   rules row groups out; RowGroupReader rules out pages by their index, and
//!                 more row groups by Bloom filters
//! ParquetWriter   batches in, a file out
//! ```
//!
//! Read [`ParquetFile`] and [`RowGroupReader`] first. Invariants: no input makes this crate panic;
//! no allocation uses a length that was not checked against the input; errors name the file, the
//! row group and the column. This crate does not know tables.

mod error;
mod leaf;
mod schema;
mod thrift;
mod footer;
mod file;
mod bounds;
mod page_index;
mod page_pruning;
mod bloom;
mod header;
mod decompress;
mod chunk;
mod pages;
mod dictionary;
mod hybrid;
mod levels;
mod validity;
mod page_values;
mod strings;
mod delta;
mod fixed;
mod accumulator;
mod flat;
mod nested;
mod column;
mod lazy_column;
mod row_group;
mod scan;
mod listing;
mod writer;
#[cfg(test)]
mod tests;

pub use file::{ParquetFile, ParquetReadOptions};
pub use listing::Listing;
pub use scan::RowGroupReader;
pub use schema::ParquetField;
pub use writer::{Compression, ParquetWriter};
