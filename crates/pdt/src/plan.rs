//! The changes of all layers, flattened for scans: once per version of a segment.
//!
//! ```text
//! deleted   ascending ranges of base rows
//! columns   of each modified column: SIDs and values
//! inserts   chunks of inserted rows, which of their rows exist, and their order
//! blocks    for every 1024 base rows: where in these lists it begins, and rows before it
//! ```

mod flatten;
mod locate;
#[cfg(test)]
mod tests;

pub(crate) use flatten::Flatten;

use crate::{Charge, Column, Key, Sid, View, merge::JoinedDictionary};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use volley_error::Result;
use volley_vector::{Batch, Rows, Vector};

/// Base rows of one block.
pub(crate) const BLOCK_ROWS: u32 = 1024;

/// What a scan merges into the base rows of a segment.
#[derive(Debug)]
pub struct MergePlan {
    pub(crate) base_rows: Sid,
    pub(crate) deleted: Vec<DeletedRange>,
    /// As long as the last column that is modified.
    pub(crate) columns: Vec<Option<PlanColumn>>,
    pub(crate) chunks: Vec<PlanChunk>,
    /// In the order of keys.
    pub(crate) runs: Vec<InsertRun>,
    /// One per block that begins, and one for the end.
    pub(crate) blocks: Vec<Block>,
    /// Bit `i % 64` of word `i / 64`: something changed in block `i`.
    changed: Vec<u64>,
    counts: Counts,
    /// Of the lists and of modified values.
    charge: Charge,
}

/// Base rows that do not exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeletedRange {
    pub(crate) start: Sid,
    pub(crate) end: Sid,
    /// Rows of the ranges before.
    pub(crate) before: u32,
}

/// The modified values of one column.
#[derive(Debug)]
pub(crate) struct PlanColumn {
    /// Ascending, without deleted rows.
    pub(crate) sids: Vec<Sid>,
    /// One per SID, flat.
    pub(crate) values: Vector,
    /// For every block, and for the end, the first of `sids` in it.
    pub(crate) offsets: Vec<u32>,
    /// For columns of codes.
    pub(crate) dictionary: JoinedDictionary,
}

/// Inserted rows as they are stored, with later modifications.
#[derive(Debug)]
pub(crate) struct PlanChunk {
    pub(crate) rows: Batch,
    /// The rows that exist.
    pub(crate) live: Rows,
}

/// Consecutive rows of a chunk that follow each other before one base row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsertRun {
    /// The first row's key.
    pub(crate) key: Key,
    pub(crate) chunk: u32,
    /// The first row in the chunk.
    pub(crate) row: u32,
    pub(crate) rows: u32,
    /// Inserted rows of the runs before.
    pub(crate) before: u64,
}

/// Where a block begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// The first range that ends after the block's start.
    pub(crate) deleted: u32,
    /// The first run at or after the block's start.
    pub(crate) run: u32,
    /// Existing rows before the first key of the block.
    pub(crate) rows: u64,
}

/// Inserted rows and their names.
#[derive(Clone, Debug)]
pub struct InsertedRows {
    /// The rows: slices and selections, nothing is copied.
    pub rows: Batch,
    /// The id of each.
    pub ids: Vec<u32>,
}

/// What scans did with a plan: tests use it as proof of the paths taken.
#[derive(Debug, Default)]
struct Counts {
    clean_ranges: AtomicU64,
    patched_columns: AtomicU64,
    recoded_columns: AtomicU64,
    copied_batches: AtomicU64,
}

/// How often scans took which path of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Ranges of base rows in which nothing changed.
    pub clean_ranges: u64,
    /// Columns of a range that were copied to overwrite values.
    pub patched_columns: u64,
    /// Columns of a range whose codes alone were copied.
    pub recoded_columns: u64,
    /// Batches that were copied to put inserts between base rows.
    pub copied_batches: u64,
}

/// A path of [`MergeCounts`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path {
    Clean,
    Patched,
    Recoded,
    Copied,
}

impl MergePlan {
    /// Flattens the layers of `view`.
    ///
    /// # Errors
    ///
    /// Out of memory; more bytes of text or elements in the modified values of one column than one
    /// vector holds.
    pub fn new(view: View<'_>) -> Result<Arc<MergePlan>> {
        Flatten::new(view, None, &view.layers.write.budget).finish().map(Arc::new)
    }

    /// Rows of the segment's base.
    pub fn base_rows(&self) -> Sid {
        self.base_rows
    }

    /// Base rows that do not exist.
    pub fn deleted_rows(&self) -> u32 {
        self.deleted.last().map_or(0, |it| it.before + (it.end - it.start))
    }

    /// Inserted rows.
    pub fn inserted_rows(&self) -> u64 {
        self.runs.last().map_or(0, |it| it.before + u64::from(it.rows))
    }

    /// Modified values of base rows.
    pub fn modified_values(&self) -> usize {
        self.columns.iter().flatten().map(|it| it.sids.len()).sum()
    }

    /// Rows that exist.
    pub fn rows(&self) -> u64 {
        u64::from(self.base_rows - self.deleted_rows()) + self.inserted_rows()
    }

    /// Whether the segment is as its base.
    pub fn is_clean(&self) -> bool {
        self.deleted.is_empty() && self.runs.is_empty() && self.modified_values() == 0
    }

    /// Whether any base row has another value in `column`.
    pub fn modifies(&self, column: Column) -> bool {
        self.columns.get(column as usize).is_some_and(Option::is_some)
    }

    /// All inserted rows that exist, batch by batch: slices and selections, nothing is copied.
    /// `columns` are those of the batches.
    pub fn inserted(&self, columns: &[usize]) -> impl Iterator<Item = Batch> {
        self.chunks.iter().filter(|it| !it.live.is_empty()).map(move |chunk| {
            let (begin, end) = (chunk.live.begin(), chunk.live.end());
            let rows = chunk.rows.project(columns);
            if chunk.live.count() == end - begin {
                return rows.slice(begin, end - begin);
            }
            rows.select(&chunk.live)
        })
    }

    /// As [`MergePlan::inserted`], with the ids of the rows.
    pub fn inserted_with_ids(&self, columns: &[usize]) -> impl Iterator<Item = InsertedRows> {
        let mut ids: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.chunks.len()];
        for run in &self.runs {
            let of_run = (0..run.rows).map(|it| (run.row + it, run.key.id() + it));
            if let Some(of_chunk) = ids.get_mut(run.chunk as usize) {
                of_chunk.extend(of_run);
            }
        }
        let ids = ids.into_iter().filter(|it| !it.is_empty()).map(|mut of_chunk| {
            of_chunk.sort_unstable();
            of_chunk.into_iter().map(|it| it.1).collect::<Vec<u32>>()
        });
        self.inserted(columns).zip(ids).map(|(rows, ids)| InsertedRows { rows, ids })
    }

    /// The chunk and the row in it of an inserted row that exists.
    pub fn inserted_at(&self, key: Key) -> Option<(usize, u32)> {
        let after = self.runs.partition_point(|it| it.key <= key);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let distance = key.0 - run.key.0;
        let is_within = distance < u64::from(run.rows);
        is_within.then(|| (run.chunk as usize, run.row + distance as u32))
    }

    /// The chunks of inserted rows with the values that they have now. Some of the rows may not
    /// exist.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &Batch> {
        self.chunks.iter().map(|it| &it.rows)
    }

    /// How often scans took which path so far.
    pub fn counts(&self) -> MergeCounts {
        let get = |it: &AtomicU64| it.load(Ordering::Relaxed);
        MergeCounts {
            clean_ranges: get(&self.counts.clean_ranges),
            patched_columns: get(&self.counts.patched_columns),
            recoded_columns: get(&self.counts.recoded_columns),
            copied_batches: get(&self.counts.copied_batches),
        }
    }

    pub(crate) fn count(&self, path: Path) {
        let counter = match path {
            Path::Clean => &self.counts.clean_ranges,
            Path::Patched => &self.counts.patched_columns,
            Path::Recoded => &self.counts.recoded_columns,
            Path::Copied => &self.counts.copied_batches,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a block that touches `sids` has changes.
    pub(crate) fn has_changed_block(&self, start: Sid, end: Sid) -> bool {
        let (first, last) = (start / BLOCK_ROWS, end.saturating_sub(1) / BLOCK_ROWS);
        (first..=last.max(first)).any(|it| {
            self.changed.get(it as usize / 64).is_some_and(|word| word >> (it % 64) & 1 == 1)
        })
    }
}
