//! PDICT: codes of a dictionary, packed by PFOR.
//!
//! ```text
//! entries  column of the distinct values, the most frequent first (texts FSST-coded)
//! codes    an unsigned 32-bit integer per row, as PFOR (see there); 0 of null rows
//! ```
//!
//! It wins where a column has few distinct values. Frequent values have small codes, and so rare
//! values are exceptions of the codes: the codes of a skewed column are narrow, and the dictionary
//! stays one. Rows are read as a dictionary vector; all vectors of a reader share one base.

mod analyze;
mod encode;
mod decode;

pub(crate) use analyze::code_bytes;
pub(crate) use decode::open;
pub(crate) use encode::encode;

/// The most entries.
pub(crate) const ENTRIES_MAX: usize = 1 << 16;
