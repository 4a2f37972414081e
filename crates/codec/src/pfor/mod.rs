//! PFOR: integers as small distances from a base, with patched exceptions.
//!
//! ```text
//! widths      u8 per vector         bits of a code
//! exceptions  u16 per vector        how many
//! bases       an integer per vector
//! vectors     one after the other:
//!   codes       128 bytes per bit of width (kernels::pack); of the last vector, if it is short,
//!               one after the other in whole bytes
//!   positions   u16 per exception, ascending
//!   values      an integer per exception
//! ```
//!
//! It wins where most values of a vector are close to each other. Exceptions are written over the
//! codes after those are unpacked: values that are far away cost their own bytes and nothing else.
//! Source: Zukowski, Heman, Nes and Boncz, "Super-Scalar RAM-CPU Cache Compression", ICDE 2006, with
//! positions instead of a list through the codes.

mod analyze;
mod encode;
mod decode;
mod select;
#[cfg(test)]
mod tests;

pub(crate) use analyze::Plan;
pub(crate) use decode::Packed;
pub(crate) use encode::{Writer, encode};
pub(crate) use select::select;
