//! Reads and writes CSV and JSON.
//!
//! ```text
//! CsvFile, JsonFile   open: types are inferred from a sample
//!    └─ read(columns) ── TextReader ── batches of flat vectors
//! CsvWriter, JsonWriter   batches in, text out
//! ```
//!
//! Read [`CsvFile`] first. `csv_split.rs` splits CSV lines for type detection, for the rows, and
//! for COPY; `arrow-json` splits JSON. [`TextType`] decides what a text means as a number or date.
//! This crate does not know filters or tables.

mod text_type;
mod time_guess;
mod json_array;
mod zstd_stream;
mod encoding;
#[cfg(test)]
mod slow_reader;
mod csv_delimiter;
mod rejects;
mod input;
mod chunks;
mod columns;
mod csv_options;
mod csv_split;
mod csv_marks;
mod csv_lines;
mod csv_line_ends;
mod csv_chunks;
mod csv_decode;
mod csv_sample;
mod csv_format;
mod csv;
mod csv_rows;
mod csv_writer;
mod json_shape;
mod json_sample;
mod json;
mod json_chunks;
mod json_count;
mod json_writer;
mod feed;
mod reader;
#[cfg(test)]
mod tests;

pub use chunks::FileChunks;
pub use csv::CsvFile;
pub use csv_delimiter::LONG_DELIMITER;
pub use csv_options::{CsvForm, CsvReadOptions, NO_DELIMITER, NewLine};
pub use csv_rows::CsvRows;
pub use csv_writer::CsvWriter;
pub use encoding::Encoding;
pub use input::Compression;
pub use json::{JsonFile, JsonFormat, JsonReadOptions};
pub use json_writer::JsonWriter;
pub use reader::{TextReader, TextStep};
pub use rejects::{RejectKind, RejectedLine, Rejects};
pub use text_type::{TextFormats, TextType, TimeFormat};
pub use time_guess::ReadTime;
