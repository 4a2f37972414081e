//! PFOR-DELTA: integers as distances from the value before, which are packed by PFOR.
//!
//! ```text
//! firsts   an integer per vector: the first value minus the first distance
//! deltas   the distances, as PFOR (see there); that of the first row is the one of the second
//! ```
//!
//! It wins where values ascend: keys, times, positions. Sequences of one step have codes of no
//! bits.

mod encode;
mod decode;

pub(crate) use decode::Deltas;
pub(crate) use encode::encode;
