//! Tables of TPC-H whose rows are generated while they are scanned.
//!
//! ```text
//! TpchTable ── splits: (table, scale, number of the part, parts) ── source ── generator ── batches
//! ```
//!
//! Read [`TpchTable`] first. Columns have the types of Presto's connector of that name: keys are
//! BIGINT, amounts DOUBLE, dates DATE. Rows are those of the `tpch` crate. This crate knows neither
//! Presto nor SQL.

mod split;
mod source;
mod table;
#[cfg(test)]
mod tests;

pub use split::TpchSplit;
pub use table::TpchTable;
