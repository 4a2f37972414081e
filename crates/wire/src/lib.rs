//! Serializes batches: in the engine's own format, for spill files; and as pages between tasks, in
//! formats behind one trait ([`PageFormat`]); and as Presto's pages ([`presto_page`]).
//!
//! The format of spill files:
//!
//! ```text
//! batch       rows: u32, then one column per type
//! column      0  body of `rows` rows
//!             1  body of one row, which all rows are
//!             2  rows of the base: u32, codes: numbers, nulls, body of the base
//! body        nulls, then values by the layout of the type:
//!               no storage     nothing
//!               booleans       bits
//!               integers       as below (those of one byte: the elements)
//!               fixed width    the elements
//!               strings        lengths: numbers; those of up to 12 bytes; the longer ones
//!               arrays, maps   sizes: numbers; body of all elements
//!               fixed size     body of all elements
//!               rows           a body per field
//! nulls       0: none; 1: bits, set where there is a value
//! integers    width of the type, then the elements; or a smaller width (1, 2 or 4 bytes), the
//!             least element, and how far each is from it
//! numbers     width: 1, 2 or 4 bytes, then one per row
//! bits        one per row, in whole bytes, the lowest bit first
//! ```
//!
//! Numbers are little-endian. The bytes contain no types: the reader must know them. The format
//! belongs to one version of the engine, for data that one process writes and reads again.
//!
//! Read [`Encoder`] and [`decode`] first; for pages, [`PageFormat`] and [`NativeFormat`]. Decoding
//! trusts no input: any bytes give a valid batch or a corruption error, and take memory in
//! proportion to the bytes. Text is always checked to be UTF-8. This crate knows neither files nor
//! sockets.

mod picks;
mod column_buffer;
mod encode;
mod integers;
mod size;
mod decode;
mod page;
mod native;
mod arrow_ipc;
pub mod presto_page;
#[cfg(test)]
mod tests;

pub use arrow_ipc::ArrowFormat;
pub use decode::decode;
pub use encode::{Encoder, encode};
pub use native::NativeFormat;
pub use page::{PageFormat, PageWriter};
pub use size::{encoded_bytes, flat_bytes};

/// A column with a body of its rows.
const FLAT: u8 = 0;

/// A column whose rows are all the same.
const CONSTANT: u8 = 1;

/// A column of codes and a base.
const DICTIONARY: u8 = 2;
