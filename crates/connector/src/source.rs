//! Scans: splits in, batches out.

use crate::{Split, SplitSource};
use std::task::Waker;
use volley_error::Result;
use volley_expression::filter::{DroppedRows, FilterCounts};
use volley_vector::Batch;

/// One scan of a table, shared by the drivers of a pipeline.
pub trait Scan: Send + Sync {
    /// Lists the parts of the table that can be read independently, in the order in which they
    /// should start. Parts that the filters rule out are missing (and counted in
    /// [`Scan::pruned`]).
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    fn splits(&self) -> Result<Box<dyn SplitSource>>;

    /// What [`Scan::splits`] left out so far.
    fn pruned(&self) -> ScanMetrics {
        ScanMetrics::default()
    }

    /// A reader of splits; one per driver.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    fn source(&self) -> Result<Box<dyn Source>>;
}

/// Reads splits, one after the other.
pub trait Source: Send {
    /// Takes the next split. Called first, and whenever a step answered
    /// [`SourceStep::NeedSplit`]. The split may come from another process: its bytes are checked.
    ///
    /// # Errors
    ///
    /// I/O, corruption; a split of something else.
    fn start(&mut self, split: Split) -> Result<()>;

    /// Says which split somebody will most likely start next, so that its reads can begin.
    ///
    /// # Errors
    ///
    /// Those of [`Source::start`].
    fn prepare(&mut self, _split: &Split) -> Result<()> {
        Ok(())
    }

    /// Advances by at most one batch. When it answers [`SourceStep::Blocked`], `waker` is woken
    /// once there is progress to be made.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, an error of a filter.
    fn step(&mut self, waker: &Waker) -> Result<SourceStep>;

    /// Of a split that several drivers share ([`Split::readers_max`]): the number of the chunk that
    /// the rows of the last step come from. Numbers ascend in the order of the rows.
    fn chunk(&self) -> u32 {
        0
    }

    /// How much of the split that was started last is read, from 0 to 1; 0 when that is not known.
    /// Of a split that several drivers share: how much of it all of them have read.
    fn split_share(&self) -> f64 {
        0.0
    }

    /// What was read and skipped so far.
    fn metrics(&self) -> ScanMetrics;

    /// What each filter of the scan did so far; empty when that is not known.
    fn filters(&self) -> Vec<FilterCounts> {
        Vec::new()
    }
}

/// What a source did.
#[derive(Debug)]
pub enum SourceStep {
    /// At least one row. Columns may be lazy: load them before the next step, or never.
    Batch(Batch),
    /// The split is done.
    NeedSplit,
    /// Waiting for I/O.
    Blocked,
    /// Rows were read and all filtered out; call again (lets the driver look up).
    Progress,
}

/// What a scan read and skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Bytes read from files.
    pub bytes_read: u64,
    /// Rows in the splits read, before filters.
    pub rows_read: u64,
    /// Row groups (or files) read.
    pub groups_read: u64,
    /// Row groups (or files) that statistics ruled out.
    pub groups_skipped: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages that were never decompressed.
    pub pages_skipped: u64,
    /// Of all columns that are needed, the pages that page indexes ruled out.
    pub pages_pruned: u64,
    /// Rows that page indexes ruled out, or a bound, while their row group was read.
    pub rows_pruned: u64,
    /// Rows that filters of joins dropped.
    pub rows_dropped_by_joins: u64,
    /// Rows behind the first ones of an order that were dropped.
    pub rows_dropped_by_bounds: u64,
}

impl std::ops::AddAssign<DroppedRows> for ScanMetrics {
    fn add_assign(&mut self, dropped: DroppedRows) {
        self.rows_dropped_by_joins += dropped.by_joins;
        self.rows_dropped_by_bounds += dropped.by_bounds;
    }
}

impl std::ops::AddAssign for ScanMetrics {
    fn add_assign(&mut self, other: ScanMetrics) {
        self.bytes_read += other.bytes_read;
        self.rows_read += other.rows_read;
        self.groups_read += other.groups_read;
        self.groups_skipped += other.groups_skipped;
        self.pages_read += other.pages_read;
        self.pages_skipped += other.pages_skipped;
        self.pages_pruned += other.pages_pruned;
        self.rows_pruned += other.rows_pruned;
        self.rows_dropped_by_joins += other.rows_dropped_by_joins;
        self.rows_dropped_by_bounds += other.rows_dropped_by_bounds;
    }
}
