//! Writing segments from batches.

use super::{BLOCK_ROWS, SEGMENT_ROWS_MAX, Segment, SegmentColumn, ZONE_ROWS};
use crate::{
    ChunkFiles, ChunkWriter, StoredBlock, TableDescription,
    block::{BlockKind, NO_COLUMN},
    bounds::{bounds_of, union, write_bounds},
};
use std::sync::{Arc, OnceLock};
use volley_codec::{Options, encode};
use volley_connector::{Bounds, TableId};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_pdt::bytes::Output;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Cuts rows into segments and blocks, and writes them. It holds the rows of one block.
#[derive(Debug)]
pub struct SegmentWriter {
    table: TableId,
    types: Arc<[Type]>,
    chunks: ChunkWriter,
    options: Options,
    pending: Vec<Batch>,
    pending_rows: usize,
    /// Of the rows that are pending.
    reservation: Reservation,
    open: Option<OpenSegment>,
    written: Vec<Arc<Segment>>,
}

/// A segment that is partly written.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) id: u32,
    pub(super) rows: u32,
    pub(super) columns: Vec<SegmentColumn>,
    pub(super) zones: Vec<Vec<Bounds>>,
}

impl SegmentWriter {
    /// A writer of segments of `table`; rows that are not written yet are charged to `pool`.
    pub fn new(
        files: &Arc<ChunkFiles>,
        table: TableId,
        types: &Arc<[Type]>,
        pool: &Pool,
    ) -> SegmentWriter {
        SegmentWriter {
            table,
            types: Arc::clone(types),
            chunks: ChunkWriter::new(files),
            options: Options::default(),
            pending: Vec::new(),
            pending_rows: 0,
            reservation: pool.reservation(),
            open: None,
            written: Vec::new(),
        }
    }

    /// Describes the table in the files that are written, for a salvage without a manifest.
    ///
    /// # Errors
    ///
    /// Unsupported: opaque types.
    pub fn describe(&mut self, description: &TableDescription) -> Result<()> {
        self.chunks.describe(description)
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// I/O; out of memory; unsupported: opaque types; cancelled.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let mut start = 0;
        while start < batch.rows() {
            check_cancelled()?;
            let rows = (BLOCK_ROWS as usize - self.pending_rows).min(batch.rows() - start);
            let part = batch.slice(start, rows).loaded()?;
            self.reservation.grow(part.retained_bytes())?;
            self.pending.push(part);
            self.pending_rows += rows;
            start += rows;
            if self.pending_rows == BLOCK_ROWS as usize {
                self.write_block()?;
            }
        }
        Ok(())
    }

    /// Writes the last rows and makes all segments durable.
    ///
    /// # Errors
    ///
    /// As [`SegmentWriter::write`]; then nothing that was written can be used.
    pub fn finish(mut self) -> Result<Vec<Arc<Segment>>> {
        if self.pending_rows > 0 {
            self.write_block()?;
        }
        self.close_segment()?;
        self.chunks.finish()?;
        Ok(self.written)
    }

    fn write_block(&mut self) -> Result<()> {
        let rows = self.pending_rows;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => OpenSegment {
                id: self.chunks.files().ids().next_segment()?,
                rows: 0,
                columns: Vec::new(),
                zones: vec![Vec::new(); self.types.len()],
            },
        };
        let types = Arc::clone(&self.types);
        for (index, data_type) in types.iter().enumerate() {
            check_cancelled()?;
            let vectors: Vec<Vector> =
                self.pending.iter().map(|it| it.column(index).clone()).collect();
            let column = Vector::concat(data_type, &vectors)?;
            if column.data_type() != data_type {
                return Err(Error::internal("values of another type than the table's"));
            }
            // Dictionaries and runs of the source are found again by the codecs.
            let column = column.flatten()?;
            let zones: Vec<Bounds> = zone_bounds(&column)?;
            let block = self.write_column(&open, index, &column)?;
            open.add(index, block, &zones, rows as u32);
        }
        open.rows += rows as u32;
        self.pending.clear();
        self.pending_rows = 0;
        self.reservation.shrink(self.reservation.bytes());
        let is_full = open.rows >= SEGMENT_ROWS_MAX;
        self.open = Some(open);
        if is_full { self.close_segment() } else { Ok(()) }
    }

    fn write_column(
        &mut self,
        open: &OpenSegment,
        index: usize,
        column: &Vector,
    ) -> Result<StoredBlock> {
        let bytes = encode(column, self.options)?;
        let mut segment = Segment::empty(self.table, open.id, 0);
        segment.rows = open.rows + column.len() as u32;
        let number = open.rows / BLOCK_ROWS;
        self.chunks.append(&segment.identity(BlockKind::Column, index as u32, number), &bytes)
    }

    fn close_segment(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut segment = Segment {
            table: self.table,
            id: open.id,
            rows: open.rows,
            columns: open.columns,
            zones_block: None,
            zones: OnceLock::new(),
        };
        segment.write_zones(&open.zones, &self.types, &mut self.chunks)?;
        self.written.push(Arc::new(segment));
        Ok(())
    }
}

impl Segment {
    /// Appends the block of zones.
    pub(super) fn write_zones(
        &mut self,
        zones: &[Vec<Bounds>],
        types: &[Type],
        chunks: &mut ChunkWriter,
    ) -> Result<()> {
        let mut output = Output::default();
        for (zones, data_type) in zones.iter().zip(types) {
            write_bounds(zones, data_type, &mut output)?;
        }
        let identity = self.identity(BlockKind::Zones, NO_COLUMN, 0);
        self.zones_block = Some(chunks.append(&identity, &output.bytes)?);
        Ok(())
    }
}

impl OpenSegment {
    pub(super) fn add(&mut self, index: usize, block: StoredBlock, zones: &[Bounds], rows: u32) {
        let nothing = Bounds { nulls: Some(0), ..Bounds::default() };
        let (mut bounds, mut bounded) = (nothing, 0u64);
        for (zone, rows) in zones.iter().zip(zone_lengths(rows)) {
            bounds = union(&bounds, bounded, zone, rows.into());
            bounded += u64::from(rows);
        }
        match self.columns.get_mut(index) {
            Some(column) => {
                let before = self.rows.into();
                column.bounds = union(&column.bounds, before, &bounds, rows.into());
                column.blocks.push(block);
            }
            None => {
                let (blocks, written_for) = (vec![block], self.id);
                self.columns.push(SegmentColumn { blocks, bounds, written_for });
            }
        }
        if let Some(of_column) = self.zones.get_mut(index) {
            of_column.extend_from_slice(zones);
        }
    }
}

fn zone_lengths(rows: u32) -> impl Iterator<Item = u32> {
    (0..rows).step_by(ZONE_ROWS as usize).map(move |it| ZONE_ROWS.min(rows - it))
}

pub(super) fn zone_bounds(column: &Vector) -> Result<Vec<Bounds>> {
    let mut start = 0;
    let zones = zone_lengths(column.len() as u32).map(|rows| {
        let zone = column.slice(start, rows as usize);
        start += rows as usize;
        bounds_of(&zone)
    });
    zones.collect()
}
