//! The memory that states hold outside the groups' rows, counted now and then.
//!
//! A count is a pass over all groups. It goes on by some groups with each batch, so that no step
//! takes long, and costs no more than the rows: the next one begins after as many rows as there are
//! groups, or when states may have copied many bytes of strings.

use volley_error::Error;
use volley_memory::{Pool, Reservation};
use volley_state::hash_table::{GroupCursor, GroupTable};

/// The least number of rows between two passes.
const PASS_ROWS: usize = 1 << 13;

/// A pass begins after as many bytes of long strings as a batch may take, too, or after this many
/// per group: then a pass costs little against the copies of the strings.
const PASS_BYTES_PER_GROUP: usize = 64;

/// The least number of groups that a pass goes on by.
const STEP_GROUPS: usize = 1 << 12;

/// Charges what states hold outside the groups' rows.
pub(super) struct StateHeap {
    charged: Reservation,
    /// Rows until the next pass.
    due: usize,
    /// Bytes of strings that states may have copied since the last pass began.
    strings: usize,
    pass: Option<Pass>,
    /// Why the last count was not charged.
    refusal: Option<Error>,
}

/// Where a pass stands.
#[derive(Default)]
struct Pass {
    cursor: GroupCursor,
    bytes: usize,
}

impl StateHeap {
    pub(super) fn new(pool: &Pool) -> StateHeap {
        StateHeap {
            charged: pool.reservation(),
            due: PASS_ROWS,
            strings: 0,
            pass: None,
            refusal: None,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.charged.bytes()
    }

    pub(super) fn pool(&self) -> &Pool {
        self.charged.pool()
    }

    /// Forgets the groups.
    pub(super) fn clear(&mut self) {
        *self = StateHeap::new(self.charged.pool());
    }

    /// States that held this number of bytes are dropped.
    pub(super) fn shrink(&mut self, bytes: usize) {
        self.charged.shrink(bytes.min(self.charged.bytes()));
    }

    /// Goes on after `rows` rows were added whose long strings have `strings` bytes.
    ///
    /// What states hold by then is there, whether or not it fits: see
    /// [`StateHeap::take_refusal`].
    pub(super) fn added(&mut self, table: &mut GroupTable, rows: usize, strings: usize) {
        self.due = self.due.saturating_sub(rows);
        self.strings += strings;
        if self.pass.is_none() {
            let strings_max = self.pool().batch_bytes().max(table.len() * PASS_BYTES_PER_GROUP);
            if self.due > 0 && self.strings < strings_max {
                return;
            }
            self.due = PASS_ROWS.max(table.len());
            self.pass = Some(Pass::default());
            let copied = std::mem::take(&mut self.strings);
            if !self.go_on(table, rows) {
                // Until the pass knows better, all that may have been copied was.
                self.refusal = self.charged.grow(copied).err();
            }
            return;
        }
        self.go_on(table, rows);
    }

    /// The memory limit, if it refused to reserve the last count: the operator then spills the
    /// groups if it can.
    pub(super) fn take_refusal(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    /// Counts some groups; whether they were the last.
    fn go_on(&mut self, table: &mut GroupTable, rows: usize) -> bool {
        let Some(pass) = &mut self.pass else { return true };
        let count = STEP_GROUPS.max(2 * rows);
        let groups = table.next_groups(&mut pass.cursor, count);
        pass.bytes += table.external_state_bytes(&groups);
        if groups.len() == count {
            return false;
        }
        let bytes = pass.bytes;
        self.pass = None;
        table.expect_outside(bytes);
        self.refusal = self.charged.resize(bytes).err();
        true
    }
}
