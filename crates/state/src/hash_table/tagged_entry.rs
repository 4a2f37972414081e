//! Entries of the indexes over rows, and what decides between an index and an array.
//!
//! ```text
//! entry   bits 0..48: address of a row   bits 48..64: tag, the lowest 16 bits of the hash
//!         0: empty
//! ```
//!
//! The hash is that of a word ([`mix_word`]). Its highest bits are the position where the word is
//! first looked for, so that tag and position are independent. An index probes further entries and
//! wraps around; it reads a row only where the tag is equal.

use volley_memory::RowPtr;

const TAG_SHIFT: u32 = 48;
const ADDRESS_MASK: u64 = (1 << TAG_SHIFT) - 1;

/// An array of this many entries (32 KiB) is always worth it.
const ARRAY_ENTRIES_FREE: u128 = 1 << 12;

/// A row and the tag of its word, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaggedEntry(pub(super) u64);

impl TaggedEntry {
    /// Of a row whose word has this hash.
    #[inline]
    pub(super) fn new(row: RowPtr, hash: u64) -> TaggedEntry {
        TaggedEntry(row.expose() | hash << TAG_SHIFT)
    }

    /// Of a row in an array, where words are positions.
    #[inline]
    pub(super) fn untagged(row: RowPtr) -> TaggedEntry {
        TaggedEntry(row.expose())
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The row; the null row where the entry is empty.
    #[inline]
    pub(super) fn row(self) -> RowPtr {
        RowPtr::from_exposed(self.0 & ADDRESS_MASK)
    }

    /// Whether the row's word may have this hash. Empty entries have the tag 0.
    #[inline]
    pub(super) fn has_tag(self, hash: u64) -> bool {
        (self.0 >> TAG_SHIFT) as u16 == hash as u16
    }
}

/// The hash of a word. Words that are hashes may have chosen the driver already, by their highest
/// bits, and words that are keys are small integers: both need mixing.
#[inline]
pub(super) fn mix_word(word: u64) -> u64 {
    // Multiply and fold, with two constants of wyhash (https://github.com/wangyi-fudan/wyhash).
    let product = u128::from(word ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
    product as u64 ^ (product >> 64) as u64
}

/// Whether an array with an entry for each of `words` words serves `rows` rows better than an
/// index, which takes a fraction of `entries_per_row`.
pub(super) fn array_is_better(words: u128, rows: usize, entries_per_row: u128) -> bool {
    words <= (rows as u128 * entries_per_row).max(ARRAY_ENTRIES_FREE)
}

/// Asks the cache for the beginning of a row; does nothing where that is not known how.
#[inline]
pub(super) fn prefetch(row: RowPtr) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching has no effect on memory, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.field::<i8>(0)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
