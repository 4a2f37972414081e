//! The positions of keys of one map in another map.

use std::ops::Range;
use volley_error::Result;
use volley_function::{EvalContext, sort_unstable_by};
use volley_vector::{Comparator, Vector, comparator};

/// Among no more keys than this, each is compared.
const COMPARED_MAX: usize = 16;

/// A search among the keys of one map after the other.
pub(super) struct KeySearch {
    /// Of the keys that are searched for, and those of the maps.
    order: Comparator,
    /// Theirs; none where all maps are small.
    hashes: [Vec<u64>; 2],
    /// The position of the keys of the current map.
    range: Range<usize>,
    /// The hashes of these keys in order, and where each key stands; none where they are few.
    sorted: Vec<(u64, u32)>,
}

impl KeySearch {
    /// For keys of `wanted` in maps that have at most `most` keys each, which are in `keys`.
    ///
    /// # Errors
    ///
    /// The memory limit; types that cannot be compared.
    pub(super) fn new(
        wanted: &Vector,
        keys: &Vector,
        most: usize,
        ctx: &mut EvalContext,
    ) -> Result<KeySearch> {
        let mut hashes = [Vec::new(), Vec::new()];
        if most > COMPARED_MAX {
            let count = wanted.len() + keys.len();
            ctx.charge(count * size_of::<u64>() + most * size_of::<(u64, u32)>())?;
            for (hashes, keys) in hashes.iter_mut().zip([wanted, keys]) {
                hashes.resize(keys.len(), 0);
                keys.hash_into(hashes)?;
            }
        }
        Ok(KeySearch { order: comparator(wanted, keys)?, hashes, range: 0..0, sorted: Vec::new() })
    }

    /// Goes to the map whose keys are at `range`.
    ///
    /// # Errors
    ///
    /// The query was cancelled.
    pub(super) fn enter(&mut self, range: Range<usize>) -> Result<()> {
        self.sorted.clear();
        if range.len() > COMPARED_MAX {
            self.sorted.reserve_exact(range.len());
            self.sorted.extend(range.clone().map(|at| (self.hashes[1][at], at as u32)));
            sort_unstable_by(&mut self.sorted, Ord::cmp)?;
        }
        self.range = range;
        Ok(())
    }

    /// The position of the wanted key `at` in the map, if it does.
    pub(super) fn find(&self, at: usize) -> Option<usize> {
        if self.sorted.is_empty() {
            return self.range.clone().find(|it| self.order.is_equal(at, *it));
        }
        let hash = self.hashes[0][at];
        let first = self.sorted.partition_point(|it| it.0 < hash);
        let alike = self.sorted[first..].iter().take_while(|it| it.0 == hash);
        alike.map(|it| it.1 as usize).find(|it| self.order.is_equal(at, *it))
    }
}
