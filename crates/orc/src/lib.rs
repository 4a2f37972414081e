//! Reads and writes ORC.
//!
//! ```text
//! OrcFile (postscript, footer, schema, bounds) ── StripeReader ── batches
//!   Stripe         its footer, row indexes and Bloom filters; which row groups may match
//!   Streams        which parts of its streams are needed; readers of columns
//!   ColumnReader   rows of a column, nested ones included: codes of dictionaries stay codes
//!   IntegerRle, ByteRle, BitRle   values in runs
//!   ByteStream     the bytes of a stream, decompressed block by block
//! OrcWriter   batches in, a file out
//! ```
//!
//! Read [`OrcFile`] and [`StripeReader`] first. Invariants: no input makes this crate panic; memory
//! grows with the bytes that are there, not with lengths that are stated; errors name the file, the
//! stripe and the column. This crate does not know tables. Source: the ORC specification, versions
//! 1 and 2 (orc.apache.org/specification).

mod error;
mod proto;
mod compression;
mod metadata;
mod schema;
mod statistics;
mod file;
mod stream;
mod byte_rle;
mod unpack;
mod integer_rle;
mod layout;
mod text;
mod timestamp;
mod decimal;
mod column;
mod row_index;
mod bloom;
mod streams;
mod lazy_column;
mod stripe;
mod scan;
mod writer;
#[cfg(test)]
mod tests;

pub use compression::Codec;
pub use file::OrcFile;
pub use scan::{ColumnPlace, StripeReader};
pub use writer::{OrcWriteOptions, OrcWriter};
