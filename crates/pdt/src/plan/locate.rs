//! Positions of rows: from keys and back, in O(log n).

use super::{BLOCK_ROWS, MergePlan};
use crate::{Key, Rid, RowName, Sid};

impl MergePlan {
    /// How many existing rows come before the row of `key`, whether that one exists or not.
    pub fn rank(&self, key: Key) -> u64 {
        let base = u64::from(key.sid() - self.deleted_before(key.sid()));
        base + self.inserted_before(key)
    }

    fn deleted_before(&self, sid: Sid) -> u32 {
        let after = self.deleted.partition_point(|it| it.start < sid);
        let last = after.checked_sub(1).and_then(|it| self.deleted.get(it));
        last.map_or(0, |it| it.before + (it.end.min(sid) - it.start))
    }

    fn inserted_before(&self, key: Key) -> u64 {
        let after = self.runs.partition_point(|it| it.key < key);
        let Some(run) = after.checked_sub(1).and_then(|it| self.runs.get(it)) else { return 0 };
        let within = key.0 - run.key.0;
        run.before + within.min(run.rows.into())
    }

    /// The row at position `rid`.
    pub fn row_at(&self, rid: Rid) -> Option<RowName> {
        let rid = u64::from(rid);
        if rid >= self.rows() {
            return None;
        }
        let block = self.blocks.partition_point(|it| it.rows <= rid).saturating_sub(1) as u32;
        let start = block.saturating_mul(BLOCK_ROWS).min(self.base_rows);
        // The last SID of the block before which no more rows come.
        let end = start.saturating_add(BLOCK_ROWS).min(self.base_rows);
        let (mut low, mut high) = (start, end + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.rank(Key::first(middle)) <= rid {
                low = middle;
            } else {
                high = middle;
            }
        }
        let rest = rid - self.rank(Key::first(low));
        let number = self.inserted_before(Key::first(low)) + rest;
        if number >= self.inserted_before(Key::base(low)) {
            return Some(RowName::Base(low));
        }
        let run = self.runs.partition_point(|it| it.before <= number).checked_sub(1)?;
        let run = self.runs.get(run)?;
        Some(Key(run.key.0 + (number - run.before)).name())
    }
}
