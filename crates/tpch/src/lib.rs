//! TPC-H: data, queries and answers.
//!
//! [`generate`] writes the eight tables as Parquet files (by the `tpchgen` crates); [`QUERIES`] are
//! the 22 queries with the validation parameters of the standard (TPC-H specification 3.0.1,
//! chapter 2.4). The folder `answers` next to the sources holds the expected results at scales 0.01
//! and 0.1, computed with another engine.

mod generate;
mod queries;

pub use generate::{Progress, TABLES, check_scale, estimated_rows, generate, is_complete};
pub use queries::QUERIES;
