//! Writing some columns of a segment again.
//!
//! ```text
//! segment 4   a: blocks of segment 4    b: blocks of segment 4    zones of segment 4
//!             b was modified
//! segment 9   a: blocks of segment 4    b: blocks of segment 9    zones of segment 9
//! ```

use super::{
    Segment, SegmentColumn,
    write::{OpenSegment, zone_bounds},
};
use crate::{
    ChunkFiles, ChunkWriter, StoredBlock, TableDescription,
    block::{BlockIdentity, BlockKind},
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use volley_codec::{Options, encode};
use volley_connector::{Bounds, TableId};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_pdt::bytes::{Input, Output};
use volley_types::Type;
use volley_vector::Vector;

/// Reads all rows of a block of a column: column and rows.
pub(crate) type ReadRows<'f> = &'f dyn Fn(usize, Range<u32>) -> Result<Vector>;

impl Segment {
    /// A new segment of the same rows. Its columns `columns` are written with what `read` returns,
    /// one block after the other; the others are those of this segment.
    ///
    /// # Errors
    ///
    /// I/O, corruption; out of memory; cancelled; those of `read`.
    pub(crate) fn with_new_columns(
        &self,
        columns: &[usize],
        types: &[Type],
        (files, description): (&Arc<ChunkFiles>, Option<TableDescription>),
        read: ReadRows<'_>,
    ) -> Result<Segment> {
        let mut zones = (*self.zones(types)?).clone();
        let mut next = Segment {
            table: self.table,
            id: files.ids().next_segment()?,
            rows: self.rows,
            columns: self.columns.clone(),
            zones_block: None,
            zones: OnceLock::new(),
        };
        for index in columns {
            if let Some(column) = next.columns.get_mut(*index) {
                column.written_for = next.id;
            }
        }
        let mut chunks = ChunkWriter::new(files);
        if let Some(description) = description {
            chunks.describe(&description.replacing(&[self]).with_origins_of(&next))?;
        }
        for index in columns {
            let (column, of_column) = next.write_column(*index, &mut chunks, read)?;
            let places = next.columns.get_mut(*index).zip(zones.get_mut(*index));
            let places = places.ok_or_else(|| Error::internal("a column that does not exist"))?;
            (*places.0, *places.1) = (column, of_column);
        }
        next.write_zones(&zones, types, &mut chunks)?;
        chunks.finish()?;
        Ok(next)
    }

    /// Writes a column, and returns it with the bounds of its zones.
    fn write_column(
        &self,
        index: usize,
        chunks: &mut ChunkWriter,
        read: ReadRows<'_>,
    ) -> Result<(SegmentColumn, Vec<Bounds>)> {
        let (columns, zones) = (Vec::new(), vec![Vec::new()]);
        let mut open = OpenSegment { id: self.id, rows: 0, columns, zones };
        for number in 0..self.blocks() {
            check_cancelled()?;
            let rows = self.block_rows(number);
            let values = read(index, rows.clone())?.flatten()?;
            if values.len() != rows.len() {
                return Err(Error::internal("other rows than those of the block"));
            }
            let zones = zone_bounds(&values)?;
            let identity = self.identity(BlockKind::Column, index as u32, number);
            let identity = BlockIdentity { segment: self.id, ..identity };
            let block = chunks.append(&identity, &encode(&values, Options::default())?)?;
            open.add(0, block, &zones, rows.len() as u32);
            open.rows = rows.end;
        }
        let written = open.columns.pop().zip(open.zones.pop());
        written.ok_or_else(|| Error::internal("a column of a segment without rows"))
    }

    /// Whether all blocks were written for this segment: none is that of a segment before it.
    pub fn has_own_blocks(&self) -> bool {
        self.columns.iter().all(|it| it.written_for == self.id)
    }

    /// Writes which columns have blocks of other segments. [`Segment::write`] does not.
    pub(crate) fn write_origins(&self, output: &mut Output) {
        output.count(self.origins().count());
        for (column, segment) in self.origins() {
            output.number(column.into());
            output.number(segment.into());
        }
    }

    /// The columns with blocks of other segments, and these.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (u32, u32)> {
        let columns = self.columns.iter().zip(0u32..);
        let others = columns.filter(|it| it.0.written_for != self.id);
        others.map(|(column, index)| (index, column.written_for))
    }

    /// A segment of blocks that were found without its descriptor: nothing is known of its values.
    /// `columns` has the segment that each column's blocks were written for, and the blocks.
    pub(crate) fn found(
        table: TableId,
        id: u32,
        rows: u32,
        columns: Vec<(u32, Vec<StoredBlock>)>,
    ) -> Segment {
        let column = |(written_for, blocks)| {
            let bounds = Bounds::default();
            SegmentColumn { blocks, bounds, written_for }
        };
        let columns = columns.into_iter().map(column).collect();
        Segment { table, id, rows, columns, zones_block: None, zones: OnceLock::new() }
    }

    /// Reads what [`Segment::write_origins`] wrote.
    pub(crate) fn with_origins(mut self, input: &mut Input<'_>) -> Result<Segment> {
        for (index, segment) in input.all(|it| Ok((it.u32()?, it.u32()?)))? {
            match self.columns.get_mut(index as usize) {
                Some(column) => column.written_for = segment,
                None => return Err(input.corrupt("a column that does not exist")),
            }
        }
        Ok(self)
    }
}
