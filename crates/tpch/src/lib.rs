//! TPC-H: data, queries and answers.
//!
//! [`generate`] writes the eight tables as Parquet files (by the `tpchgen` crates),
//! [`table_batches`] generates a part of one in memory; [`QUERIES`] are
//! the 22 queries with the validation parameters of the standard (TPC-H specification 3.0.1,
//! chapter 2.4). The folder `answers` next to the sources holds the expected results at scales 0.01
//! and 0.1, computed with another engine.

mod generate;
mod queries;

pub use generate::{
    Column, Progress, RowRange, TABLES, TableBatches, check_scale, estimated_rows, generate,
    is_complete, table_batches,
};
pub use queries::QUERIES;
