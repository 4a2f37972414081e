//! Work on databases that changes no answer, and what they take on disk.

use crate::TableId;

/// Work on a database that changes no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    /// Makes the next opening fast, and frees files that are not needed any more.
    Checkpoint,
    /// Writes tables with changes again, and then a checkpoint.
    Vacuum(
        /// `None`: all tables.
        Option<TableId>,
    ),
}

/// What a database takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseSize {
    /// Bytes of all its files.
    pub bytes: u64,
    /// Bytes of these that committed rows need.
    pub live_bytes: u64,
    /// Bytes of the log that an opening would replay.
    pub log_bytes: u64,
    /// The number of files.
    pub files: u64,
}

/// Some consecutive rows of a column on disk, or changes of a segment in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlock {
    /// The number of the segment.
    pub segment: u32,
    /// The position of the column in the table.
    pub column: usize,
    /// The number of the block in the column; `None` for the changes of a segment that has none.
    pub block: Option<u32>,
    /// The position of its first row in the segment.
    pub first_row: u32,
    /// Rows.
    pub rows: u32,
    /// Ranges of rows that scans skip by their least and greatest values.
    pub zones: u32,
    /// How values are encoded.
    pub codec: Option<String>,
    /// Bytes on disk.
    pub bytes: u64,
    /// The number of the file.
    pub file: Option<u32>,
    /// Rows that were inserted, changed or deleted since the segment was written.
    pub changed_rows: u64,
}
