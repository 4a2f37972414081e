//! Storage codecs: one column of a segment as compressed bytes, and back.
//!
//! ```text
//! Vector ──encode──> bytes ──open──> ColumnReader ──read(rows, pick)──> Vector, encoded
//!            │                            └────────select(rows, test)──> Rows
//!         choose: statistics and a sample decide on the codec
//! ```
//!
//! Read [`encode`], [`ColumnReader`] and [`CodecId`] first. `docs/formats/storage.md` draws the
//! bytes. Invariants: a vector of 1024 values is the unit of random access; [`ColumnReader::open`]
//! takes any bytes and answers a corruption error where they are not a column; what is read is a
//! valid vector, and takes memory in proportion to the bytes and rows. This crate knows neither
//! files nor transactions.

mod input;
mod order;
mod vectors;
mod pfor;
mod pfor_delta;
mod integers;
mod bits;
mod constant;
mod distinct;
mod pdict;
mod rle;
mod alp;
mod strings;
mod fsst;
mod general;
mod nested;
mod codec_id;
mod choose;
mod column;
pub mod marks;
#[cfg(test)]
mod tests;

pub use codec_id::CodecId;
pub use column::{ColumnReader, Options, encode};

/// Rows of a vector: the unit of random access.
pub const VECTOR_ROWS: usize = volley_kernels::pack::VECTOR;

/// The most rows of a column of a segment.
pub const SEGMENT_ROWS_MAX: usize = 1 << 20;
