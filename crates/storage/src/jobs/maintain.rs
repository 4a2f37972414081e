//! Which jobs are due.

use crate::{SegmentVersion, Storage};
use std::sync::Arc;
use volley_connector::TableId;
use volley_error::Result;

/// A checkpoint is due after this many bytes of the log.
const LOG_BYTES: u64 = 64 << 20;

/// Bytes of the log between two looks at all segments.
const LOOK_BYTES: u64 = 1 << 20;

/// A segment is written again when more than one of this many of its rows changed.
const CHANGED_PART: u64 = 10;

/// Fewer changes stay in memory.
const CHANGED_ROWS_MIN: u64 = 64 << 10;

/// A job that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// [`Storage::checkpoint`].
    Checkpoint,
    /// [`Storage::propagate`].
    Propagate(TableId, u32),
}

impl Storage {
    /// The job that is due most urgently. Looks again after every MiB of the log.
    pub fn due(&self) -> Option<Due> {
        if !self.core().is_time_to_look(LOOK_BYTES) {
            return None;
        }
        let version = self.snapshot();
        let tables = version.tables.values();
        let mut segments = tables.flat_map(|it| it.segments.iter().map(move |of| (it.id, of)));
        let changed = segments.find(|it| is_much_changed(it.1));
        if let Some((table, segment)) = changed {
            return Some(Due::Propagate(table, segment.segment.id()));
        }
        let is_full = self.budget.used_bytes() > self.budget.limit_bytes() / 2;
        let core = self.core();
        let has_commits = core.log.bytes() > 0 && core.failed.is_none();
        let is_due = core.log.bytes() > LOG_BYTES || is_full;
        (has_commits && is_due).then_some(Due::Checkpoint)
    }

    /// Runs a job.
    ///
    /// # Errors
    ///
    /// Those of the job.
    pub fn run(&self, job: Due) -> Result<()> {
        match job {
            Due::Checkpoint => self.checkpoint(),
            Due::Propagate(table, segment) => self.propagate(table, segment),
        }
    }
}

fn is_much_changed(segment: &Arc<SegmentVersion>) -> bool {
    let changed = segment.changed_rows();
    changed >= CHANGED_ROWS_MIN && changed > u64::from(segment.segment.rows()) / CHANGED_PART
}

impl SegmentVersion {
    /// About how many rows were inserted, changed or deleted since the segment was written.
    pub fn changed_rows(&self) -> u64 {
        let layers = self.layers.view().layers();
        layers.map(|it| (it.len() as u64).max(it.delta().unsigned_abs())).sum()
    }
}
