//! Finds the next large number of a sequence.
//!
//! ```text
//! level 2   max of 256
//! level 1   max of 16     max of 16     ...
//! level 0   the numbers
//! ```

/// Numbers below one node, as a power of two.
const FANOUT_BITS: usize = 4;

/// Numbers with the largest ones of groups, of groups of groups, and so on.
pub(super) struct MaxTree {
    levels: Vec<Vec<u32>>,
}

impl MaxTree {
    /// Of these numbers.
    pub(super) fn new(numbers: Vec<u32>) -> MaxTree {
        let mut levels = vec![numbers];
        while let Some(below) = levels.last().filter(|it| it.len() > 1) {
            let largest = |it: &[u32]| it.iter().copied().max().unwrap_or(0);
            let level = below.chunks(1 << FANOUT_BITS).map(largest).collect();
            levels.push(level);
        }
        MaxTree { levels }
    }

    /// The approximate bytes of a tree of this number of values.
    pub(super) fn bytes(numbers: usize) -> usize {
        numbers * 4 + numbers / 3
    }

    /// The first place from `from` to before `end` whose number is at least `least`.
    pub(super) fn next(&self, from: usize, end: usize, least: u32) -> Option<usize> {
        let (mut level, mut at) = (0, from);
        loop {
            if at << (FANOUT_BITS * level) >= end {
                return None;
            }
            let is_large = *self.levels.get(level)?.get(at)? >= least;
            if is_large && level == 0 {
                return Some(at);
            }
            if is_large {
                (level, at) = (level - 1, at << FANOUT_BITS);
                continue;
            }
            at += 1;
            while at.is_multiple_of(1 << FANOUT_BITS) && level + 1 < self.levels.len() {
                (level, at) = (level + 1, at >> FANOUT_BITS);
            }
        }
    }
}
