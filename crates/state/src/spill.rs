//! Batches on disk: what operators do with rows that do not fit.
//!
//! ```text
//! SpillWriter ── write(batch) ... finish() ──> SpillRun ── read() ──> SpillReader ── next()
//! ```
//!
//! A run is a sequence of batches in a file of its own, which goes when the run and its readers are
//! dropped. Rows come back in their order; where batches begin and end may have changed. Small
//! batches are put together to blocks of about [`BLOCK_BYTES`], large ones are cut.
//!
//! Memory is charged before it is needed: a writer and a reader claim theirs when they are made,
//! and more only where a single row, or what a block decodes to, is larger than that. So whoever
//! spills because memory is short makes its writers first.

mod reader;
mod writer;
#[cfg(test)]
mod tests;

pub use reader::SpillReader;
pub use writer::{SpillRun, SpillWriter};

/// Bytes of a block, before compression: small enough for 64 writers at once, and for LZ4's small
/// table, which stays in the first cache.
const BLOCK_BYTES: usize = 60 << 10;

/// The most rows of a block: empty strings take 16 bytes each again when they are read.
const BLOCK_ROWS_MAX: usize = 16 << 10;

/// What a writer claims: rows of one block, in buffers that grow by doubling.
const WRITER_BYTES: usize = 128 << 10;

/// What a reader claims: a block as bytes, and the batch that it decodes to.
const READER_BYTES: usize = 256 << 10;

/// Less than this is not worth a file.
pub const SPILL_BYTES_MIN: usize = 1 << 20;

/// The counter of bytes that an operator wrote to disk.
pub const SPILLED_BYTES: &str = "spilled bytes";

/// The counter of rows that an operator wrote to disk.
pub const SPILLED_ROWS: &str = "spilled rows";

/// The counter of files that an operator wrote rows to.
pub const SPILLED_RUNS: &str = "spilled runs";

/// The counter of parts of an operator's rows that were written.
pub const SPILLED_PARTITIONS: &str = "spilled partitions";
