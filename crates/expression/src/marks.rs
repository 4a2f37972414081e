//! Hit marks: proof in tests that a special path was taken.
//!
//! Counters per thread, present in debug builds only.

/// A special path of compilation or evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A part without columns became a constant at compile time.
    Folded,
    /// Nested calls of an associative function became one.
    Flattened,
    /// A common subexpression was answered from the batch's cache.
    Reused,
    /// An expression was evaluated on the base of a dictionary.
    Peeled,
    /// An expression of constant columns was evaluated on one row.
    PeeledConstant,
    /// Results for a dictionary's base were taken from an earlier batch.
    Memoized,
    /// Conjuncts ran in another order than written.
    Reordered,
    /// A later argument of AND or OR was not evaluated at all.
    ShortCut,
    /// Calls were joined to run block by block.
    Joined,
    /// Two joined calls became one loop.
    Fused,
    /// Joined calls ran block by block.
    Blockwise,
    /// A function ran on rows none of which was null, of flat or constant arguments.
    FlatWithoutNulls,
    /// A filter of a scan was evaluated on values that were not decoded.
    PackedFilter,
}

#[cfg(debug_assertions)]
mod counters {
    use super::Mark;
    use std::cell::Cell;

    const MARKS: usize = Mark::PackedFilter as usize + 1;

    thread_local! {
        static COUNTERS: [Cell<u64>; MARKS] = const { [const { Cell::new(0) }; MARKS] };
    }

    pub(super) fn hit(mark: Mark) {
        COUNTERS.with(|it| it[mark as usize].set(it[mark as usize].get() + 1));
    }

    pub(super) fn count(mark: Mark) -> u64 {
        COUNTERS.with(|it| it[mark as usize].get())
    }
}

/// Notes that this thread came by.
#[inline]
pub(crate) fn hit(mark: Mark) {
    #[cfg(debug_assertions)]
    counters::hit(mark);
    let _ = mark;
}

/// How often this thread came by; always 0 in release builds.
pub fn count(mark: Mark) -> u64 {
    #[cfg(debug_assertions)]
    let count = counters::count(mark);
    #[cfg(not(debug_assertions))]
    let count = {
        let _ = mark;
        0
    };
    count
}
