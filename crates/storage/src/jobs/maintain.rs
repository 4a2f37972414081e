//! Which jobs are due.

use crate::{SEGMENT_ROWS_MAX, SegmentVersion, Storage, TableVersion, Version};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};
use volley_connector::TableId;
use volley_error::Result;

/// A checkpoint is due after this many bytes of the log.
const LOG_BYTES: u64 = 64 << 20;

/// A segment is written again when more than one of this many of its rows changed.
const CHANGED_PART: u64 = 10;

/// This many segments that follow each other, each of at most a number of rows, are merged.
const MERGED_MIN: usize = 4;

/// Sizes of segments that are merged, in rows: a row is written again once per size.
const MERGED_ROWS: [u32; 3] = [SEGMENT_ROWS_MAX / 64, SEGMENT_ROWS_MAX / 16, SEGMENT_ROWS_MAX / 4];

/// Segments are written again if they are in files with less than one in this many bytes in use.
const LIVE_PART: u64 = 2;

/// Smaller files stay as they are, in bytes.
const SPARSE_BYTES_MIN: u64 = 1 << 20;

/// Fewer changes stay in memory.
const CHANGED_ROWS_MIN: u64 = 64 << 10;

/// A job that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// [`Storage::checkpoint`].
    Checkpoint,
    /// [`Storage::propagate`].
    Propagate(TableId, u32),
    /// [`Storage::merge`]: of one segment, to free the rest of its file.
    Merge(TableId, Vec<u32>),
}

impl Storage {
    /// The job that is due most urgently. Looks again after every MiB of the log. Most calls wait
    /// for no lock: others commit meanwhile.
    pub fn due(&self) -> Option<Due> {
        if !self.is_to_look.swap(false, Ordering::Relaxed) {
            return None;
        }
        let version = self.snapshot();
        let tables = version.tables.values();
        let mut segments = tables.flat_map(|it| it.segments.iter().map(move |of| (it.id, of)));
        let changed = segments.find(|it| is_much_changed(it.1));
        if let Some((table, segment)) = changed {
            return Some(Due::Propagate(table, segment.segment.id()));
        }
        let merged = version.tables.values().find_map(|it| Some((it.id, small_segments(it)?)));
        if let Some((table, segments)) = merged.or_else(|| self.segment_of_sparse_file(&version)) {
            return Some(Due::Merge(table, segments));
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
            Due::Merge(table, segments) => self.merge(table, &segments),
        }?;
        self.look_for_jobs();
        Ok(())
    }

    /// Lets the next call of [`Storage::due`] look.
    pub(crate) fn look_for_jobs(&self) {
        self.is_to_look.store(true, Ordering::Relaxed);
    }

    /// Merges the small segments of a table, and writes those again whose files are hardly used.
    ///
    /// # Errors
    ///
    /// As [`Storage::merge`]; invalid query: no such table.
    pub fn merge_small(&self, table: TableId) -> Result<()> {
        while let Some(segments) = small_segments(self.snapshot().table(table)?) {
            self.merge(table, &segments)?;
        }
        Ok(())
    }

    /// A segment in a file that is hardly used. What cannot be listed now is found later.
    fn segment_of_sparse_file(&self, version: &Version) -> Option<(TableId, Vec<u32>)> {
        let mut live: BTreeMap<u32, (u64, Option<(TableId, u32)>)> = BTreeMap::new();
        for table in version.tables.values() {
            for segment in &table.segments {
                for block in segment.segment.stored_blocks() {
                    let of_file = live.entry(block.file.number()).or_default();
                    of_file.0 += block.stored_bytes();
                    of_file.1 = Some((table.id, segment.segment.id()));
                }
                if let Some(block) = &segment.run {
                    live.entry(block.file.number()).or_default().0 += block.stored_bytes();
                }
            }
        }
        let sizes = self.files.sizes().ok()?;
        let is_sparse = |number: &u32, live: u64| {
            let bytes = sizes.get(number).copied().unwrap_or_default();
            bytes >= SPARSE_BYTES_MIN && live.saturating_mul(LIVE_PART) < bytes
        };
        let sparse = live.into_iter().filter(|it| is_sparse(&it.0, it.1.0));
        let found = sparse.filter_map(|it| it.1.1).next();
        found.map(|(table, segment)| (table, vec![segment]))
    }
}

/// Small segments that follow each other. The last segment without rows on disk takes inserts, and
/// is not one of them.
fn small_segments(table: &TableVersion) -> Option<Vec<u32>> {
    MERGED_ROWS.iter().find_map(|rows_max| {
        let is_small = |it: &Arc<SegmentVersion>| {
            let rows = it.segment.rows();
            rows > 0 && it.layers.view().rows() <= u64::from(*rows_max)
        };
        let runs = table.segments.chunk_by(|a, b| is_small(a) && is_small(b));
        let run = runs.filter(|it| it.iter().all(is_small)).find(|it| it.len() >= MERGED_MIN)?;
        let mut rows = 0;
        let fits = |it: &&Arc<SegmentVersion>| {
            rows += it.layers.view().rows();
            rows <= u64::from(SEGMENT_ROWS_MAX)
        };
        Some(run.iter().take_while(fits).map(|it| it.segment.id()).collect())
    })
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
