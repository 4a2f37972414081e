//! What the tests of several crates share: random columns, and rows as values.
//!
//! ```text
//! seed ──> Random ──> RandomColumns ──> batches in every encoding
//! batches ── rows_of ──> RowValues       compared with what a plain loop computes
//! ```
//!
//! Only `[dev-dependencies]` name this crate. It does not know operators.

mod random;
mod columns;
mod rows;

pub use columns::RandomColumns;
pub use random::Random;
pub use rows::{RowValues, integers, rows_of, sorted};
