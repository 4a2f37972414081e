//! Values of several columns.
//!
//! ```text
//! halves        form      u8: 1 a BIGINT column: the values
//!                             2 two: the lower 64 bits, the upper 64 bits
//!                             3 months (INTEGER), days (INTEGER), nanoseconds (BIGINT)
//!               columns
//! lists         sizes     integers (crate::integers): elements of each row; 0 of null rows
//!               firsts    u32 per vector: its first element
//!               elements  column; of a MAP, one of ROW(key, value)
//! fixed lists   column of all elements
//! fields        column per field
//! ```
//!
//! The first element of each vector makes lists random access, too.

mod halves;
mod lists;
mod fields;

pub(crate) use fields::{encode_fields, encode_fixed_lists, open_fields, open_fixed_lists};
pub(crate) use halves::{encode_halves, open_halves};
pub(crate) use lists::{encode_lists, open_lists};

/// The most elements of a column of arrays.
pub(crate) const ELEMENTS_MAX: usize = 1 << 28;
