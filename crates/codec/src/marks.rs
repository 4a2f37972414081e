//! Hit marks: proof in tests that a special path was taken.
//!
//! Counters per thread, present in debug builds only.

/// A special path of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Few rows of a vector were decoded one by one.
    Single,
    /// Rows around a few missing ones were decoded together and moved.
    Compacted,
    /// A test was evaluated on packed integers.
    PackedTest,
    /// The bounds of a vector answered a test for all of its codes.
    BoundsTest,
    /// A test was evaluated once per entry of a dictionary.
    DictionaryTest,
    /// A test was evaluated once per run.
    RunTest,
    /// A test was answered by validity alone.
    NullTest,
    /// Rows came as a dictionary.
    Dictionary,
    /// Rows came as runs.
    Runs,
    /// Rows came as a constant.
    Constant,
    /// A column was encoded by the second codec, too, since the first one missed its estimate.
    SecondChoice,
}

#[cfg(debug_assertions)]
mod counters {
    use super::Mark;
    use std::cell::Cell;

    const MARKS: usize = Mark::SecondChoice as usize + 1;

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

/// Notes that this thread took the path.
#[inline]
pub(crate) fn hit(mark: Mark) {
    #[cfg(debug_assertions)]
    counters::hit(mark);
    let _ = mark;
}

/// How often this thread took the path; always 0 in release builds.
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
