//! ALP and ALP-RD: floats.
//!
//! ```text
//! ALP, for decimals: value = integer * 10^factor * 10^-exponent, to the last bit
//!   scales     u8 exponent, u8 factor per vector
//!   integers   of the float's width, as PFOR (see there); exceptions are the bits of floats
//!
//! ALP-RD, for other floats: the upper bits have few values
//!   width      u8: lower bits, of which at most 16 fewer than the float has
//!   entries    u8: how many; then the upper bits of each, u16
//!   codes      an unsigned 8-bit integer per row, as PFOR: the entry
//!   missing    u16 per vector: rows whose upper bits are not an entry
//!   patches    the position and the upper bits of each of them, u16 both
//!   lower      integers of the float's width, as PFOR without exceptions
//! ```
//!
//! Source: Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression", SIGMOD
//! 2024. NaN, infinities and -0.0 are exceptions of ALP.

mod analyze;
mod encode;
mod halves;
mod decode;
#[cfg(test)]
mod tests;

pub(crate) use decode::open;
pub(crate) use encode::encode;
pub(crate) use halves::{encode_halves, open_halves};
