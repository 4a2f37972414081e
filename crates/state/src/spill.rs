//! Spilled batches: rows that do not fit in memory.
//!
//! ```text
//! SpillWriter ── write(batch) ... finish() ──> SpillRun ── read() ──> SpillReader ── next()
//! ```
//!
//! A run is a sequence of batches in its own file, which is removed when the run and its readers
//! are dropped. Rows are read in their order; batch boundaries may change. Small batches are
//! combined to blocks of about `BLOCK_BYTES`, large ones are split.
//!
//! Memory is reserved before it is needed: writers and readers reserve theirs when they are
//! created, and more only if a single row or a decoded block is larger. An operator that spills
//! because memory is short must therefore create its writers first.

mod reader;
mod writer;
#[cfg(test)]
mod tests;

pub use reader::SpillReader;
pub use writer::{SpillRun, SpillWriter};

use volley_types::Type;
use volley_wire::Encoder;

/// Bytes of a block, before compression: small enough for 64 writers at once, and for LZ4's small
/// table, which stays in the first cache.
const BLOCK_BYTES: usize = 60 << 10;

/// The most rows of a block: empty strings take 16 bytes each again when they are read.
const BLOCK_ROWS_MAX: usize = 16 << 10;

/// What a writer claims: rows of one block, in buffers that grow by doubling.
const WRITER_BYTES: usize = 128 << 10;

/// What a reader claims: a block as bytes, and the batch that it decodes to.
const READER_BYTES: usize = 256 << 10;

/// What an operator spilled, for its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// Files.
    pub runs: usize,
    /// Rows in them.
    pub rows: usize,
    /// Their bytes on disk.
    pub bytes: u64,
}

/// Whether values of these types have a form on disk.
pub fn can_spill(types: &[Type]) -> bool {
    Encoder::new(types).is_ok()
}

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
