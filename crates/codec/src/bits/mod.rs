//! Bits: validity and BOOLEAN, in the form that suits each vector.
//!
//! ```text
//! forms      u8 per vector
//! lengths    u16 per vector        positions or runs; 0 of the other forms
//! vectors    one after the other:
//!   0 none       no bit is set; no bytes
//!   1 all        every bit is set; no bytes
//!   2 set        u16 per set bit: its position, ascending
//!   3 clear      u16 per clear bit: its position, ascending
//!   4 bits       one bit per row, the lowest first, in whole bytes
//!   5 runs       u16 per run: where it ends; the first run is clear and may be empty
//! ```

mod encode;
mod decode;

pub(crate) use decode::Bits;
pub(crate) use encode::encode;

const NONE: u8 = 0;
const ALL: u8 = 1;
const SET: u8 = 2;
const CLEAR: u8 = 3;
const BITS: u8 = 4;
const RUNS: u8 = 5;
