//! Splits batches into the lanes of an edge, column at a time.
//!
//! ```text
//! batches      buffered without a copy until there is a page for each lane
//! hashes       one pass per key column
//! lanes        hash -> lane by multiply and shift
//! places       counting sort: where each row goes, lane by lane
//! columns      dictionaries and constants are peeled once per column; each value is copied once,
//!              to its place in memory of the exact size; nulls without a branch
//! pages        per lane, the slices of all columns
//! ```
//!
//! The steps are those of Presto's optimized repartitioning. The twin in `row_sink.rs` writes row
//! by row and must give the same rows.

mod layout;
mod lane_column;
mod strings;
mod row_sink;
#[cfg(test)]
mod tests;

pub use row_sink::RowSink;

use crate::partition::{LaneFunction, Partitioning};
use lane_column::LaneColumn;
use layout::Layout;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::flat_bytes;

/// Sizes of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSizes {
    /// Decoded bytes of a full page.
    pub page_bytes: usize,
    /// Decoded bytes that a sink buffers for all lanes together. Many lanes make smaller pages.
    pub sink_bytes: usize,
}

/// The most rows that are split at once.
const ROWS_MAX: usize = 1 << 20;

/// Rows of one lane.
#[derive(Clone, Debug)]
pub struct LaneBatch {
    /// The number of the lane.
    pub lane: usize,
    /// At least one row. Shares its memory with other lanes' batches of one flush.
    pub batch: Batch,
    /// About the bytes of the rows when all columns are flat.
    pub bytes: usize,
}

/// One driver's end of an edge: buffers batches, then splits them into lanes.
pub struct PageSink {
    types: Vec<Type>,
    lanes: LaneFunction,
    sizes: PageSizes,
    buffered: Vec<Batch>,
    /// The lanes of the buffered rows, if the caller computes them.
    given: Vec<u32>,
    rows: usize,
    bytes: usize,
    /// The buffered rows, and their copies while they are split.
    charge: Reservation,
    /// Scratch: of the rows that are being split.
    layout: Layout,
}

impl PageSink {
    /// A sink of columns of `types` over `lanes` lanes; what it buffers is charged to `pool`.
    pub fn new(
        types: Vec<Type>,
        partitioning: Partitioning,
        lanes: usize,
        sizes: PageSizes,
        pool: &Pool,
    ) -> PageSink {
        let lanes = LaneFunction::new(partitioning, lanes);
        let (rows, bytes, charge) = (0, 0, pool.reservation());
        let (buffered, given, layout) = (Vec::new(), Vec::new(), Layout::default());
        PageSink { types, lanes, sizes, buffered, given, rows, bytes, charge, layout }
    }

    /// Buffers a batch. Loads lazy columns.
    ///
    /// # Errors
    ///
    /// What a loader reports; out of memory.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        if batch.rows() == 0 {
            return Ok(());
        }
        let batch = batch.loaded()?;
        let bytes = flat_bytes(&batch)?;
        self.charge.resize((self.bytes + bytes).saturating_mul(2))?;
        self.rows += batch.rows();
        self.bytes += bytes;
        self.buffered.push(batch);
        Ok(())
    }

    /// As [`PageSink::push`] for [`Partitioning::Given`]: `lanes` has the lane of each row.
    ///
    /// # Errors
    ///
    /// As [`PageSink::push`]. Internal: not one lane per row, a lane beyond the last one.
    pub fn push_to(&mut self, batch: Batch, lanes: &[u32]) -> Result<()> {
        if batch.rows() != lanes.len() {
            return Err(Error::internal(format!("{} lanes of {} rows", lanes.len(), batch.rows())));
        }
        self.push(batch)?;
        self.lanes.append_given(lanes, &mut self.given)
    }

    /// Whether the buffered rows should be flushed.
    pub fn is_full(&self) -> bool {
        let all_lanes = self.sizes.page_bytes.saturating_mul(self.lanes.lanes());
        self.bytes >= all_lanes.min(self.sizes.sink_bytes) || self.rows >= ROWS_MAX
    }

    /// Decoded bytes that are buffered.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The buffered rows by lane, in the order of lanes; lanes without rows are missing. Rows of a
    /// lane keep their order. Batches are not larger than a page, unless one row is.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits. The rows are lost then.
    pub fn flush(&mut self) -> Result<Vec<LaneBatch>> {
        let batches = std::mem::take(&mut self.buffered);
        let (rows, bytes) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.bytes));
        if rows == 0 {
            return Ok(Vec::new());
        }
        let split = self.split(&batches, bytes);
        self.charge.clear();
        split
    }

    fn split(&mut self, batches: &[Batch], bytes: usize) -> Result<Vec<LaneBatch>> {
        if self.lanes.is_replicated() {
            return replicate(batches, self.lanes.lanes(), self.sizes.page_bytes);
        }
        let layout = &mut self.layout;
        layout.clear();
        if self.given.is_empty() {
            for batch in batches {
                self.lanes.append(batch, &mut layout.lanes)?;
            }
        } else {
            layout.lanes.append(&mut self.given);
        }
        layout.place(self.lanes.lanes());
        let layout = &*layout;
        let columns = self.types.iter().enumerate().map(|(index, data_type)| {
            let columns: Vec<_> = batches.iter().map(|it| it.column(index)).collect();
            LaneColumn::new(data_type, &columns, layout)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let row_bytes = (bytes / layout.rows()).max(1);
        let page_rows = (self.sizes.page_bytes / row_bytes).max(1);
        let mut split = Vec::new();
        for lane in 0..self.lanes.lanes() {
            let (start, end) = layout.range(lane);
            for first in (start..end).step_by(page_rows) {
                let rows = page_rows.min(end - first);
                let of_lane = columns.iter().map(|it| it.slice(layout, lane, first, rows));
                let batch = Batch::new(of_lane.collect(), rows);
                split.push(LaneBatch { lane, batch, bytes: rows * row_bytes });
            }
        }
        Ok(split)
    }
}

/// All rows for every lane.
fn replicate(batches: &[Batch], lanes: usize, page_bytes: usize) -> Result<Vec<LaneBatch>> {
    let mut pages = Vec::new();
    for batch in batches {
        let bytes = flat_bytes(batch)?;
        let row_bytes = (bytes / batch.rows()).max(1);
        let page_rows = (page_bytes / row_bytes).max(1);
        for first in (0..batch.rows()).step_by(page_rows) {
            let rows = page_rows.min(batch.rows() - first);
            pages.push((batch.slice(first, rows), rows * row_bytes));
        }
    }
    let of_lane = |lane| {
        let pages = pages.iter();
        pages.map(move |(batch, bytes)| LaneBatch { lane, batch: batch.clone(), bytes: *bytes })
    };
    Ok((0..lanes).flat_map(of_lane).collect())
}
