//! When a partial aggregation hands its groups on, and when it gives up grouping.
//!
//! ```text
//! grouping ── groups are nearly as many as runs ──> passing ── many rows later ──> grouping
//! ```
//!
//! What counts is what the table reduces beyond joining neighboring rows with equal keys (*runs*),
//! because rows that pass are joined so, too: input that is clustered on the keys needs no table.

/// Groups are passed on when they take this many bytes: a core's share of the caches.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// A table may take this many times as much when fewer than half of the latest rows began a group:
/// then it has seen most groups.
const EXTENSION: usize = 4;

/// Whether grouping is worth it is judged after this many rows,
const JUDGED_ROWS: usize = 1 << 16;

/// and when there are this many groups: fewer cost little.
const JUDGED_GROUPS: usize = 1 << 12;

/// Grouping is given up early when more than this share of the runs are groups: 19 of 20. With
/// fewer, later rows may well find the groups of earlier ones.
const EARLY_SHARE: (usize, usize) = (19, 20);

/// Grouping is given up with a full table when more than this share of the runs are groups. A group
/// that is passed on is looked up once more; half as many groups compensate for that.
const FULL_SHARE: (usize, usize) = (1, 2);

/// Grouping is tried again after this many rows have passed: then the trial costs 2 %.
const RETRY_ROWS: usize = 1 << 22;

/// Runs are worth looking for when there are at most this many for 4 rows; if not
const RUNS_OF_4_ROWS: usize = 3;

/// this number of batches is not inspected.
const SKIPPED_BATCHES: usize = 31;

/// The decisions of one partial aggregation.
#[derive(Debug, Default)]
pub(super) struct PartialPolicy {
    /// Whether states grow with each row, so that large ones say nothing of the groups.
    states_grow: bool,
    /// Rows since the groups were last passed on.
    rows: usize,
    /// Their runs.
    runs: usize,
    /// Runs and groups when the table was half full.
    half: Option<(usize, usize)>,
    /// Whether rows pass.
    has_given_up: bool,
    /// Rows that passed since.
    passed: usize,
    /// Batches whose runs are not looked for.
    skipped: usize,
}

impl PartialPolicy {
    pub(super) fn new(states_grow: bool) -> PartialPolicy {
        PartialPolicy { states_grow, ..PartialPolicy::default() }
    }

    /// Counts input rows that were grouped.
    pub(super) fn count(&mut self, rows: usize, runs: usize) {
        self.rows += rows;
        self.runs += runs;
    }

    /// Whether rows pass, each run as a group.
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Whether the groups must be passed on now, given their number and bytes; decides about giving
    /// up.
    pub(super) fn must_flush(&mut self, groups: usize, bytes: usize) -> bool {
        if bytes * 2 > GROUP_BYTES_MAX && self.half.is_none() {
            self.half = Some((self.runs, groups));
        }
        let is_extended = !self.states_grow && self.has_seen_most(groups);
        let is_full = bytes > GROUP_BYTES_MAX * if is_extended { EXTENSION } else { 1 };
        let share = if is_full { FULL_SHARE } else { EARLY_SHARE };
        let is_judged = self.rows >= JUDGED_ROWS && groups >= JUDGED_GROUPS;
        if is_judged && groups * share.1 > self.runs * share.0 {
            self.has_given_up = true;
        }
        self.has_given_up || is_full
    }

    /// Whether few of the runs since the table was half full began a group.
    fn has_seen_most(&self, groups: usize) -> bool {
        self.half.is_some_and(|(runs, before)| (groups - before) * 2 < self.runs - runs)
    }

    /// Records that the groups were passed on.
    pub(super) fn flushed(&mut self) {
        (self.rows, self.runs, self.passed) = (0, 0, 0);
        self.half = None;
    }

    /// Whether to look for the runs of the next batch that passes, of `rows` rows.
    pub(super) fn looks_for_runs(&mut self, rows: usize) -> bool {
        self.passed += rows;
        if self.passed >= RETRY_ROWS {
            self.has_given_up = false;
        }
        let looks = self.skipped == 0;
        self.skipped = self.skipped.saturating_sub(1);
        looks
    }

    /// Whether the runs of a batch are worth joining.
    pub(super) fn is_clustered(&mut self, rows: usize, runs: usize) -> bool {
        let is_clustered = runs * 4 <= rows * RUNS_OF_4_ROWS;
        if !is_clustered {
            self.skipped = SKIPPED_BATCHES;
        }
        is_clustered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_testkit::RandomColumns;

    /// Feeds rows of `distinct` keys, in an order without pattern, into a table of `group_bytes`
    /// per group; the rows and groups when they were first passed on.
    fn first_flush(distinct: usize, group_bytes: usize, rows: usize) -> Option<(usize, usize)> {
        let mut random = RandomColumns::new(3);
        let (mut policy, mut seen, mut groups) =
            (PartialPolicy::default(), vec![false; distinct], 0);
        for row in 0..rows {
            let key = random.below(distinct as u64) as usize;
            let is_new = !std::mem::replace(&mut seen[key], true);
            groups += usize::from(is_new);
            if row % 1000 == 999 {
                policy.count(1000, 1000);
                if policy.must_flush(groups, groups * group_bytes) {
                    assert!(policy.has_given_up() || groups * 2 <= row + 1);
                    return Some((row + 1, groups));
                }
            }
        }
        None
    }

    #[test]
    fn a_table_that_has_seen_most_groups_may_grow() {
        // 20 MB in the end.
        assert_eq!(first_flush(100_000, 200, 2_000_000), None);
        // 200 MB.
        let (rows, groups) = first_flush(1_000_000, 200, 2_000_000).unwrap();
        assert!(groups * 200 < 2 * GROUP_BYTES_MAX && groups * 2 > rows, "{rows} {groups}");
    }
}
