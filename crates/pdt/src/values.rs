//! Values of a delta, column by column: of inserted rows by insert id, of modified columns by
//! number.
//!
//! Values are in immutable chunks. A list of chunks only grows at its end, so that versions share
//! chunks, and entries name a value by a number that never changes. Small chunks at the end are
//! merged when 16 of a size have collected: a value is copied at most 3 times, and chunks of many
//! rows are never copied.

mod chunk_list;
mod copy;
#[cfg(test)]
mod tests;

pub use chunk_list::{Chunk, ChunkList};
pub(crate) use copy::{bytes_to_copy, copy_batch, copy_vector};

use crate::{Budget, Charge, Column, Sid};
use std::sync::Arc;
use volley_error::Result;
use volley_vector::{Batch, Vector};

/// Inserted rows with consecutive or at least ascending ids.
#[derive(Debug)]
pub struct InsertChunk {
    /// The values as they were inserted, flat.
    pub rows: Batch,
    /// For each row, how far its id is from the first one's; `None`: as far as its position.
    offsets: Option<Vec<u32>>,
    /// The rows from a position on have this SID.
    anchors: Vec<(u32, Sid)>,
    charge: Charge,
}

/// Values of one column of modified rows.
#[derive(Debug)]
pub struct ValueChunk {
    /// One per number, flat.
    pub values: Vector,
    charge: Charge,
}

/// Where an inserted row's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertedAt {
    /// Which chunk.
    pub chunk: usize,
    /// Which row of the chunk.
    pub row: u32,
    /// The SID before which the row was inserted.
    pub sid: Sid,
}

/// Inserted rows by id.
pub type Inserts = ChunkList<InsertChunk>;

/// Values of a column by number.
pub type ColumnValues = ChunkList<ValueChunk>;

/// All values of one layer. Clones share chunks.
#[derive(Clone, Debug, Default)]
pub struct LayerValues {
    /// Inserted rows.
    pub inserts: Inserts,
    /// Modified values, by column; as long as the last column that was modified.
    columns: Vec<Arc<ColumnValues>>,
}

impl InsertChunk {
    /// Rows with consecutive ids, all before base row `sid`. `rows` must be flat and not share
    /// memory that is not charged here, see [`copy_batch`].
    pub(crate) fn new(rows: Batch, sid: Sid, budget: &Arc<Budget>) -> InsertChunk {
        InsertChunk::with_anchors(rows, None, vec![(0, sid)], budget)
    }

    /// Rows whose ids are `ids`, ascending, and that precede base rows `sids`.
    pub(crate) fn sparse(
        rows: Batch,
        ids: &[u32],
        sids: &[Sid],
        budget: &Arc<Budget>,
    ) -> InsertChunk {
        let first = ids.first().copied().unwrap_or_default();
        let offsets: Vec<u32> = ids.iter().map(|it| it - first).collect();
        let is_dense = offsets.last().is_none_or(|it| *it as usize + 1 == ids.len());
        let mut anchors: Vec<(u32, Sid)> = Vec::new();
        for (row, sid) in (0..).zip(sids) {
            if anchors.last().is_none_or(|it| it.1 != *sid) {
                anchors.push((row, *sid));
            }
        }
        InsertChunk::with_anchors(rows, Some(offsets).filter(|_| !is_dense), anchors, budget)
    }

    fn with_anchors(
        rows: Batch,
        offsets: Option<Vec<u32>>,
        anchors: Vec<(u32, Sid)>,
        budget: &Arc<Budget>,
    ) -> InsertChunk {
        let bytes = rows.retained_bytes()
            + size_of_val(&*anchors)
            + offsets.as_ref().map_or(0, |it| size_of_val(&**it))
            + size_of::<InsertChunk>()
            + size_of_val(rows.columns());
        let charge = Charge::new(budget, bytes);
        InsertChunk { rows, offsets, anchors, charge }
    }

    /// The row whose id is `offset` from the first.
    fn row(&self, offset: u32) -> Option<u32> {
        match &self.offsets {
            None => Some(offset).filter(|it| (*it as usize) < self.rows.rows()),
            Some(offsets) => offsets.binary_search(&offset).ok().map(|it| it as u32),
        }
    }

    /// The id of a row of a chunk whose first id is `first`.
    pub(crate) fn id(&self, first: u32, row: u32) -> u32 {
        let offset = match &self.offsets {
            None => row,
            Some(offsets) => offsets.get(row as usize).copied().unwrap_or(row),
        };
        first + offset
    }

    /// One past the last id of a chunk whose first id is `first`.
    pub(crate) fn end_id(&self, first: u32) -> u32 {
        first + self.span()
    }

    /// The rows whose ids are from `offset` on, at most `count` ids: the first row and how many.
    pub(crate) fn rows_of(&self, offset: u32, count: u32) -> (u32, u32) {
        let end = offset.saturating_add(count);
        let position = |offset: u32| match &self.offsets {
            None => offset.min(self.rows.rows() as u32),
            Some(offsets) => offsets.partition_point(|it| *it < offset) as u32,
        };
        let first = position(offset);
        (first, position(end) - first)
    }

    /// The rows from a position on have this SID.
    pub(crate) fn anchors(&self) -> &[(u32, Sid)] {
        &self.anchors
    }

    /// The SID of `row`.
    fn sid(&self, row: u32) -> Sid {
        let after = self.anchors.partition_point(|it| it.0 <= row);
        self.anchors.get(after.wrapping_sub(1)).map_or(0, |it| it.1)
    }

    /// Bytes that are charged.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }
}

impl Chunk for InsertChunk {
    fn span(&self) -> u32 {
        match &self.offsets {
            Some(offsets) => offsets.last().map_or(0, |it| it + 1),
            None => self.rows.rows() as u32,
        }
    }

    fn join(parts: &[&InsertChunk], budget: &Arc<Budget>) -> Result<InsertChunk> {
        let batches: Vec<Batch> = parts.iter().map(|it| it.rows.clone()).collect();
        let rows = copy_batch(&batches)?;
        let (mut anchors, mut start) = (Vec::<(u32, Sid)>::new(), 0);
        for part in parts {
            for (row, sid) in &part.anchors {
                if anchors.last().is_none_or(|it| it.1 != *sid) {
                    anchors.push((start + row, *sid));
                }
            }
            start += part.rows.rows() as u32;
        }
        Ok(InsertChunk::with_anchors(rows, None, anchors, budget))
    }

    fn can_join(&self) -> bool {
        self.offsets.is_none()
    }

    fn bytes(&self) -> usize {
        self.charge.bytes()
    }
}

impl ValueChunk {
    /// Values that are flat and do not share memory that is not charged here.
    pub(crate) fn new(values: Vector, budget: &Arc<Budget>) -> ValueChunk {
        let bytes = values.retained_bytes() + size_of::<ValueChunk>();
        ValueChunk { values, charge: Charge::new(budget, bytes) }
    }
}

impl Chunk for ValueChunk {
    fn span(&self) -> u32 {
        self.values.len() as u32
    }

    fn join(parts: &[&ValueChunk], budget: &Arc<Budget>) -> Result<ValueChunk> {
        let vectors: Vec<Vector> = parts.iter().map(|it| it.values.clone()).collect();
        Ok(ValueChunk::new(copy_vector(&vectors)?, budget))
    }

    fn can_join(&self) -> bool {
        true
    }

    fn bytes(&self) -> usize {
        self.charge.bytes()
    }
}

impl LayerValues {
    /// Where the inserted row `id` is.
    pub fn find(&self, id: u32) -> Option<InsertedAt> {
        let (chunk, first) = self.inserts.find(id)?;
        let inserted = self.inserts.get(chunk)?;
        let row = inserted.row(id - first)?;
        Some(InsertedAt { chunk, row, sid: inserted.sid(row) })
    }

    /// The values of `column`, if any row was modified there.
    pub fn column(&self, column: Column) -> Option<&ColumnValues> {
        self.columns.get(column as usize).map(|it| &**it)
    }

    /// The columns that have values.
    pub fn columns(&self) -> impl Iterator<Item = (Column, &ColumnValues)> {
        (0..).zip(self.columns.iter().map(|it| &**it)).filter(|it| it.1.end() > 0)
    }

    /// Appends values of `column`; the number of the first.
    pub(crate) fn append_column(
        &mut self,
        column: Column,
        chunk: Arc<ValueChunk>,
        budget: &Arc<Budget>,
    ) -> Result<u32> {
        let column = column as usize;
        if column >= self.columns.len() {
            self.columns.resize_with(column + 1, Arc::default);
        }
        let values = Arc::make_mut(&mut self.columns[column]);
        let first = values.end();
        values.push(first, chunk, budget)?;
        Ok(first)
    }

    /// Bytes of all chunks, shared ones included.
    pub fn retained_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(|it| it.retained_bytes()).sum();
        self.inserts.retained_bytes() + columns
    }
}
