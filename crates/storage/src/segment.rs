//! Segments: consecutive rows of a table, column by column, that never change.
//!
//! ```text
//! Segment    id, rows
//!   columns  bounds of all rows; a block per 131,072 rows
//!   zones    one block: bounds of each column per 8192 rows, read when they are needed
//! ```
//!
//! A block is a codec column: the unit of reading, of checksums and of scans.
//!
//! A segment whose changes modified some columns only is written again as a segment with new blocks
//! of these columns. It takes the blocks of the other columns as they are: their headers name the
//! segment that they were written for.

mod columns;
mod write;
#[cfg(test)]
mod tests;

pub use write::SegmentWriter;

use crate::{
    ChunkFiles, StoredBlock,
    block::{BlockAddress, BlockIdentity, BlockKind, NO_COLUMN},
    bounds::{read_bounds, write_bounds},
    chunk_file::ChunkFile,
    points::PointCache,
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use volley_codec::ColumnReader;
use volley_connector::{Bounds, TableId};
use volley_error::{Error, Result};
use volley_pdt::bytes::{Input, Output};
use volley_types::Type;
use volley_vector::Buffer;

/// Rows of a block; the last one of a column may have fewer.
pub const BLOCK_ROWS: u32 = 1 << 17;

/// Rows of a zone.
pub const ZONE_ROWS: u32 = 8192;

/// The most rows of a segment that is written.
pub const SEGMENT_ROWS_MAX: u32 = 1 << 20;

/// Rows of a table on disk.
#[derive(Debug)]
pub struct Segment {
    table: TableId,
    id: u32,
    rows: u32,
    columns: Vec<SegmentColumn>,
    zones_block: Option<StoredBlock>,
    zones: OnceLock<Arc<Zones>>,
}

/// A column of a segment.
#[derive(Clone, Debug)]
pub(crate) struct SegmentColumn {
    pub(crate) blocks: Vec<StoredBlock>,
    pub(crate) bounds: Bounds,
    /// The segment that the blocks were written for: what their headers say.
    pub(crate) written_for: u32,
}

/// Bounds by column and zone.
pub type Zones = Vec<Vec<Bounds>>;

impl Segment {
    /// A segment without rows, to which changes may insert some.
    pub fn empty(table: TableId, id: u32, columns: usize) -> Segment {
        let bounds = Bounds { nulls: Some(0), ..Bounds::default() };
        let column = SegmentColumn { blocks: Vec::new(), bounds, written_for: id };
        let columns = vec![column; columns];
        Segment { table, id, rows: 0, columns, zones_block: None, zones: OnceLock::new() }
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Its rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// How many blocks each column has.
    pub fn blocks(&self) -> u32 {
        self.rows.div_ceil(BLOCK_ROWS)
    }

    /// The rows of block `number`.
    pub fn block_rows(&self, number: u32) -> Range<u32> {
        let start = number.saturating_mul(BLOCK_ROWS).min(self.rows);
        start..start.saturating_add(BLOCK_ROWS).min(self.rows)
    }

    /// Bytes of its blocks, headers included.
    pub fn stored_bytes(&self) -> u64 {
        self.stored_blocks().map(|it| it.stored_bytes()).sum()
    }

    /// A block of a column.
    pub(crate) fn block(&self, column: usize, number: u32) -> Option<&StoredBlock> {
        self.columns.get(column)?.blocks.get(number as usize)
    }

    /// What reads of single rows keep; `None` without blocks.
    pub(crate) fn point_cache(&self) -> Option<&PointCache> {
        self.stored_blocks().next().map(|it| it.file.points())
    }

    /// The file that was written for it: that of its zones. `None` without rows.
    pub(crate) fn own_file(&self) -> Option<&Arc<ChunkFile>> {
        self.zones_block.as_ref().map(|it| &it.file)
    }

    /// Bytes of a block of a column.
    pub fn block_bytes(&self, column: usize, number: u32) -> u64 {
        self.block(column, number).map_or(0, StoredBlock::stored_bytes)
    }

    /// The number of the file that a block of a column is in; 0 without one.
    pub(crate) fn block_file(&self, column: usize, number: u32) -> u32 {
        self.block(column, number).map_or(0, |it| it.file.number())
    }

    /// Bounds of a column's values.
    pub fn bounds(&self, column: usize) -> Bounds {
        self.columns.get(column).map(|it| it.bounds.clone()).unwrap_or_default()
    }

    /// Bounds of all zones.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    pub fn zones(&self, types: &[Type]) -> Result<Arc<Zones>> {
        if let Some(zones) = self.zones.get() {
            return Ok(Arc::clone(zones));
        }
        let zones = match &self.zones_block {
            None => vec![Vec::new(); self.columns.len()],
            Some(block) => {
                let bytes = block.read(&self.identity(BlockKind::Zones, NO_COLUMN, 0))?;
                let mut input = Input::new(&bytes, "block of zones");
                let zones = types.iter().map(|it| read_bounds(&mut input, it));
                let zones = zones.collect::<Result<Vec<_>>>()?;
                input.finish()?;
                let count = self.rows.div_ceil(ZONE_ROWS) as usize;
                if zones.iter().any(|it| it.len() != count) {
                    return Err(Error::corruption("zones of another segment"));
                }
                zones
            }
        };
        Ok(Arc::clone(self.zones.get_or_init(|| Arc::new(zones))))
    }

    /// Opens a block of a column; its rows are counted from the start of the block. Blocks that
    /// were read before may come from memory.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    pub fn open(&self, column: usize, number: u32, data_type: &Type) -> Result<ColumnReader> {
        self.open_by(StoredBlock::read_cached, column, number, data_type)
    }

    /// As [`Segment::open`], from the file.
    pub(crate) fn open_from_file(
        &self,
        column: usize,
        number: u32,
        data_type: &Type,
    ) -> Result<ColumnReader> {
        self.open_by(StoredBlock::read, column, number, data_type)
    }

    fn open_by(
        &self,
        read: impl Fn(&StoredBlock, &BlockIdentity) -> Result<Buffer>,
        column: usize,
        number: u32,
        data_type: &Type,
    ) -> Result<ColumnReader> {
        let block = self
            .block(column, number)
            .ok_or_else(|| Error::internal("a block that a segment does not have"))?;
        let bytes = read(block, &self.identity(BlockKind::Column, column as u32, number))?;
        let reader = ColumnReader::open(bytes, data_type)?;
        if reader.rows() != self.block_rows(number).len() {
            return Err(Error::corruption("a block of another number of rows"));
        }
        Ok(reader)
    }

    fn identity(&self, kind: BlockKind, column: u32, number: u32) -> BlockIdentity {
        let is_column = kind == BlockKind::Column;
        let rows = if is_column { self.block_rows(number) } else { 0..self.rows };
        let stored = self.columns.get(column as usize).filter(|_| is_column);
        BlockIdentity {
            kind,
            table: self.table.0,
            column,
            segment: stored.map_or(self.id, |it| it.written_for),
            number,
            first_row: rows.start,
            rows: rows.end - rows.start,
        }
    }

    /// All blocks.
    pub(crate) fn stored_blocks(&self) -> impl Iterator<Item = &StoredBlock> {
        self.columns.iter().flat_map(|it| &it.blocks).chain(&self.zones_block)
    }

    /// Writes what is needed to open the segment again.
    pub(crate) fn write(&self, types: &[Type], output: &mut Output) -> Result<()> {
        output.number(self.id.into());
        output.number(self.rows.into());
        for (column, data_type) in self.columns.iter().zip(types) {
            column.blocks.iter().for_each(|it| it.write(output));
            write_bounds(std::slice::from_ref(&column.bounds), data_type, output)?;
        }
        output.optional(self.zones_block.as_ref(), StoredBlock::write);
        Ok(())
    }

    /// Reads what [`Segment::write`] wrote. No block is read.
    pub(crate) fn read(
        input: &mut Input<'_>,
        table: TableId,
        types: &[Type],
        files: &ChunkFiles,
    ) -> Result<Segment> {
        let (id, rows) = (input.u32()?, input.u32()?);
        let blocks = rows.div_ceil(BLOCK_ROWS);
        let columns = types.iter().map(|data_type| {
            let blocks = (0..blocks).map(|_| StoredBlock::read_from(input, files));
            let blocks = blocks.collect::<Result<Vec<_>>>()?;
            let bounds = read_bounds(input, data_type)?.pop();
            let bounds = bounds.ok_or_else(|| input.corrupt("a column without bounds"))?;
            Ok(SegmentColumn { blocks, bounds, written_for: id })
        });
        let columns = columns.collect::<Result<_>>()?;
        let zones_block = input.optional(|it| StoredBlock::read_from(it, files))?;
        Ok(Segment { table, id, rows, columns, zones_block, zones: OnceLock::new() })
    }
}

impl StoredBlock {
    /// Bytes in the file, the header included.
    pub(crate) fn stored_bytes(&self) -> u64 {
        u64::from(self.address.bytes) + crate::block::HEADER_BYTES as u64
    }

    pub(crate) fn write(&self, output: &mut Output) {
        output.number(self.address.file.into());
        output.number(self.address.offset);
        output.number(self.address.bytes.into());
    }

    pub(crate) fn read_from(input: &mut Input<'_>, files: &ChunkFiles) -> Result<StoredBlock> {
        let (file, offset, bytes) = (input.u32()?, input.number()?, input.u32()?);
        if offset > i64::MAX as u64 {
            return Err(input.corrupt("a block beyond every file"));
        }
        let address = BlockAddress { file, offset, bytes };
        Ok(StoredBlock { file: files.existing_file(file)?, address })
    }
}
