//! Reads and writes CSV and JSON lines.
//!
//! ```text
//! CsvFile, JsonFile   open: types are inferred from a sample
//!    └─ read(columns) ── TextReader ── batches of flat vectors
//! CsvWriter, JsonWriter   batches in, text out
//! ```
//!
//! Read [`CsvFile`] first. Fields are split by `arrow-csv` and `arrow-json`; what a text means as a
//! number or date is decided in one place, for the sample and for the rows ([`TextType`]). This
//! crate does not know filters or tables.

mod text_type;
mod input;
mod columns;
mod csv_format;
mod csv;
mod csv_rows;
mod csv_writer;
mod json_shape;
mod json;
mod json_writer;
mod reader;

pub use csv::CsvFile;
pub use csv_rows::{CsvReadOptions, CsvRows};
pub use csv_writer::CsvWriter;
pub use json::JsonFile;
pub use json_writer::JsonWriter;
pub use reader::{TextReader, TextStep};
pub use text_type::TextType;
