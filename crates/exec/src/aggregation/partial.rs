//! When a partial aggregation hands its groups on, and when it gives up grouping.

/// Groups are handed on when they take this many bytes: what a core's share of the caches holds.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// Whether grouping is worth it is judged after this many rows.
const JUDGED_ROWS: usize = 1 << 16;

/// Grouping is given up when more than this share of the rows are groups: 4 of 5.
const GIVE_UP_SHARE: (usize, usize) = (4, 5);

/// The decisions of one partial aggregation.
#[derive(Debug, Default)]
pub(super) struct PartialPolicy {
    /// Rows since the groups were last handed on.
    rows: usize,
    /// Whether rows pass as groups of one row.
    has_given_up: bool,
}

impl PartialPolicy {
    /// Counts input rows.
    pub(super) fn count(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Whether rows pass as groups of one row.
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Whether the groups must be handed on now, given their number and bytes; decides about
    /// giving up.
    pub(super) fn must_flush(&mut self, groups: usize, bytes: usize) -> bool {
        if self.rows >= JUDGED_ROWS && groups * GIVE_UP_SHARE.1 > self.rows * GIVE_UP_SHARE.0 {
            self.has_given_up = true;
        }
        self.has_given_up || bytes > GROUP_BYTES_MAX
    }

    /// Notes that the groups were handed on.
    pub(super) fn flushed(&mut self) {
        self.rows = 0;
    }
}
