//! Large tables of zeros.

use std::{mem::ManuallyDrop, sync::atomic::AtomicU64};

/// The words of a page of memory, the smallest kind.
const PAGE_WORDS: usize = 4096 / 8;

/// Zeros, whose memory is there. The operating system maps pages that are read before they are
/// written to one page of zeros, which it has to take away again when they are written, on all
/// processors: for a table that is looked up before it is filled, at random places, that costs many
/// times what filling it does, and such pages are never huge ones. So each page is written first.
pub fn zeroed_words(len: usize) -> Vec<u64> {
    let mut words = vec![0; len];
    for word in words.iter_mut().step_by(PAGE_WORDS) {
        // SAFETY: a reference is valid for writes. Others would be left out, as nothing changes.
        unsafe { std::ptr::write_volatile(word, 0) };
    }
    words
}

/// As [`zeroed_words`].
pub fn zeroed_atomic_words(len: usize) -> Vec<AtomicU64> {
    const _: () = assert!(align_of::<AtomicU64>() == align_of::<u64>());
    let mut words = ManuallyDrop::new(zeroed_words(len));
    // SAFETY: the parts are those of a vector that is not dropped; an AtomicU64 has the size, the
    // alignment (checked above) and the values of a u64.
    unsafe { Vec::from_raw_parts(words.as_mut_ptr().cast(), len, words.capacity()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_are_zero() {
        for len in [0, 1, PAGE_WORDS, 5 * PAGE_WORDS + 3] {
            assert_eq!(zeroed_words(len), vec![0; len]);
            assert_eq!(zeroed_atomic_words(len).len(), len);
        }
    }
}
