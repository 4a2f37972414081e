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
    /// About how many bytes of a subplan's result make a spilled run: the memory is released with
    /// each.
    pub spool_run_bytes: usize,
    /// How many runs a sort merges at once. A reader of a run takes 256 KiB.
    pub merge_fan_in: usize,
    /// Partitions of each level of a join on disk; at most 32. Their writers take 128 KiB each.
    pub join_partitions: usize,
    /// Where operators spill before every step, partitions of a join with more build rows are
    /// split.
    pub join_split_rows: usize,
    /// The most partitions of each level of groups on disk; a power of two.
    pub group_partitions: usize,
    /// How often partitions of groups are partitioned again.
    pub group_levels: u32,
    /// A table of groups with more bytes outgrows the caches: its groups are partitioned in memory.
    pub group_table_bytes: usize,
    /// Rows of such a partition that are grouped early at least.
    pub group_early_rows: usize,
    /// Partitions of the rows of a window function; a power of two. Ten million rows make 64
    /// partitions whose order fits the caches.
    pub window_partitions: usize,
    /// Window functions partition more rows than this,
    pub window_rows: usize,
    /// or, when they spill, at least this many bytes.
    pub window_bytes: usize,
    /// Sorted window partitions are joined until they have this many rows.
    pub window_batch_rows: usize,
    /// Rows that a window function works on in one step: about a millisecond's work; a multiple of
    /// 32, since nodes of its trees have 32 rows.
    pub window_step_rows: usize,
    /// The most bytes of results that a window function computes before they are emitted.
    pub window_result_bytes: usize,
    /// Ordered rows are added to groups in steps of about this number of bytes of texts, since
    /// states may copy them.
    pub ordered_step_bytes: usize,
    /// The most bytes of texts that aggregates of whole groups combine at once.
    pub group_text_bytes: usize,
    /// How sorted rows are cut that window functions and merge joins process in segments.
    pub cuts: Cuts,
    /// The bits of a hash that hash tables look at.
    pub hash_mask: u64,
}

/// Where sorted rows are cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Where memory requires it.
    Large,
    /// After a few rows.
    Small,
}

impl StateSizes {
    /// Sizes for speed.
    pub const NORMAL: StateSizes = StateSizes {
        // Fewer rows than make blocks of this many fit the last cache, column by column.
        sort_block_rows: 128 << 10,
        key_set_bytes: 1 << 20,
        key_strings: 1 << 14,
        spool_run_bytes: 64 << 20,
        merge_fan_in: 32,
        join_partitions: 16,
        join_split_rows: 1 << 10,
        group_partitions: 32,
        // A partition that does not fit after this many levels has about one group.
        group_levels: 8,
        group_table_bytes: 16 << 20,
        group_early_rows: 1 << 14,
        window_partitions: 64,
        window_rows: 1 << 20,
        window_bytes: 8 << 20,
        window_batch_rows: 64 << 10,
        window_step_rows: 64 << 10,
        window_result_bytes: 64 << 20,
        ordered_step_bytes: 1 << 20,
        group_text_bytes: 64 << 20,
        cuts: Cuts::Large,
        hash_mask: u64::MAX,
    };

    /// Sizes for tests: blocks of 40 rows, 32 KiB of keys, and 256 different hashes, so that equal
    /// hashes of different keys are common.
    pub const SMALL: StateSizes = StateSizes {
        sort_block_rows: 40,
        key_set_bytes: 32 << 10,
        key_strings: 1 << 12,
        spool_run_bytes: 64 << 10,
        merge_fan_in: 4,
        join_partitions: 4,
        join_split_rows: 8,
        group_partitions: 8,
        group_levels: 3,
        group_table_bytes: 2 << 20,
        group_early_rows: 1 << 11,
        window_partitions: 8,
        window_rows: 30,
        window_bytes: 1,
        window_batch_rows: 50,
        window_step_rows: 32,
        window_result_bytes: 512,
        ordered_step_bytes: 1 << 10,
        group_text_bytes: 1 << 10,
        cuts: Cuts::Small,
        hash_mask: 0xff,
    };
}
