//! Sizes at which state works in another way.

/// Sizes at which state works in another way than for less. Tests make them small, so that few rows
/// take every way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSizes {
    /// Sorted rows are gathered by blocks of at least this many rows.
    pub sort_block_rows: usize,
    /// A set of integer keys may take this many bytes, however far apart its keys are.
    pub key_set_bytes: usize,
    /// The most distinct strings of a key column that get ids.
    pub key_strings: usize,
    /// The bits of a hash that hash tables look at.
    pub hash_mask: u64,
}

impl StateSizes {
    /// Sizes for speed.
    pub const NORMAL: StateSizes = StateSizes {
        // Fewer rows than make blocks of this many fit the last cache, column by column.
        sort_block_rows: 128 << 10,
        key_set_bytes: 1 << 20,
        key_strings: 1 << 14,
        hash_mask: u64::MAX,
    };

    /// Sizes for tests: blocks of 40 rows, 32 KiB of keys, and 256 different hashes, so that equal
    /// hashes of different keys are common.
    pub const SMALL: StateSizes = StateSizes {
        sort_block_rows: 40,
        key_set_bytes: 32 << 10,
        key_strings: 1 << 12,
        hash_mask: 0xff,
    };
}
