//! One column of a segment as bytes.
//!
//! ```text
//!  0  u8   codec
//!  1  u8   validity: 0 no row is null, 1 all rows are, 2 bits follow
//!  2  u16  0
//!  4  u32  rows
//!  8  u64  bytes that follow
//! 16  bits of validity, set where there is a value (crate::bits), if the validity is 2
//!     the codec's bytes; none if all rows are null
//! ```
//!
//! Columns inside of others (entries of a dictionary, values of runs, elements, fields) have the
//! same form.

mod encode;
mod source;
mod reader;
mod select;

pub(crate) use encode::{Context, Level, body, write_column};
pub use encode::{Options, encode};
pub use reader::ColumnReader;
pub(crate) use reader::{Body, Fixed, Read, fixed_values};
pub(crate) use source::Source;

const NO_NULLS: u8 = 0;
const ALL_NULL: u8 = 1;
const SOME_NULLS: u8 = 2;

/// Columns inside of each other, at most: a few of codecs, and those of nested types.
const DEPTH_MAX: usize = 200;
