//! Writes rows into the windows of their lanes.
//!
//! ```text
//! block of rows   lanes ── counting sort ── rows by lane
//! lane            for each region: values of its rows ── buffer ── put when full
//! ```

use super::{
    Scan, WindowColumn, WindowMemory,
    layout::{Content, Region, starts},
};
use crate::LaneFunction;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_kernels::scatter::{count_lanes, place_rows};
use volley_types::PhysicalType;
use volley_vector::{Batch, BooleanBuffer, Buffer, Decoded, Indices, NullBuffer, Values, Vector};

/// Rows of a buffer: 64 KiB of a column of 8 bytes.
const BUFFER_ROWS: usize = 8192;

/// Rows that are sorted by lane at a time: their values stay in the cache.
const BLOCK_ROWS: usize = 4096;

/// Writes rows into the windows of all ranks: the second pass over those that were counted.
pub struct WindowWriter {
    function: LaneFunction,
    columns: Vec<WindowColumn>,
    regions: Vec<Region>,
    lanes: Vec<LaneWriter>,
    memory: Box<dyn WindowMemory>,
    /// The rows of this rank's window.
    rows: u64,
    scratch: Scratch,
}

/// What is written to one lane.
struct LaneWriter {
    /// Where its regions begin.
    starts: Vec<usize>,
    /// The row that is put next, and the one after this rank's last.
    next: u64,
    end: u64,
    /// By region, and the rows that all of them have.
    buffers: Vec<Vec<u8>>,
    filled: usize,
}

/// Rows of a block by lane.
#[derive(Default)]
struct Scratch {
    lanes: Vec<u32>,
    places: Vec<u32>,
    order: Vec<u32>,
    /// Positions of values of a column that is not flat.
    positions: Vec<u32>,
}

impl WindowWriter {
    /// `own`: rows by lane of this rank; `sums`: those of the ranks below and of all, and the rows
    /// of this rank's window.
    pub(super) fn new(
        function: LaneFunction,
        columns: Vec<WindowColumn>,
        regions: Vec<Region>,
        own: &[u64],
        (sums, rows): (&Scan, u64),
        memory: Box<dyn WindowMemory>,
    ) -> Result<WindowWriter> {
        let mut lanes = Vec::new();
        for ((own, below), total) in own.iter().zip(&sums.below).zip(&sums.total) {
            lanes.push(LaneWriter {
                starts: starts(&regions, *total)?,
                next: *below,
                end: below + own,
                buffers: regions.iter().map(|it| vec![0; it.width * BUFFER_ROWS]).collect(),
                filled: 0,
            });
        }
        let scratch = Scratch::default();
        Ok(WindowWriter { function, columns, regions, lanes, memory, rows, scratch })
    }

    /// Writes rows.
    ///
    /// # Errors
    ///
    /// Internal: rows that were not counted. I/O: a rank is lost.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        if batch.columns().len() != self.columns.len() {
            return Err(Error::internal("rows with other columns than those of the window"));
        }
        let batch = batch.clone().loaded()?;
        let mut row = 0;
        while row < batch.rows() {
            let rows = BLOCK_ROWS.min(batch.rows() - row);
            self.write_block(&batch.slice(row, rows))?;
            row += rows;
        }
        Ok(())
    }

    fn write_block(&mut self, block: &Batch) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let lanes = self.sort(block, &mut scratch)?;
        let decoded = block.columns().iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let columns = decoded.iter().map(Source::new).collect::<Result<Vec<_>>>()?;
        for (lane, range) in lanes.into_iter().enumerate() {
            self.write_lane(lane, range, &columns, &mut scratch)?;
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Sorts the rows of a block by lane: `order` has the rows, the answer those of each lane.
    fn sort(&mut self, block: &Batch, scratch: &mut Scratch) -> Result<Vec<Range<usize>>> {
        scratch.lanes.clear();
        self.function.append(block, &mut scratch.lanes)?;
        let mut counts = vec![0u32; self.lanes.len()];
        count_lanes(&scratch.lanes, &mut counts);
        let (mut next, mut end, mut ranges) = (Vec::new(), 0u32, Vec::new());
        for count in counts {
            next.push(end);
            ranges.push(end as usize..(end + count) as usize);
            end += count;
        }
        scratch.places.resize(scratch.lanes.len(), 0);
        place_rows(&scratch.lanes, &mut next, &mut scratch.places);
        scratch.order.resize(scratch.lanes.len(), 0);
        for (row, place) in (0..).zip(&scratch.places) {
            scratch.order[*place as usize] = row;
        }
        Ok(ranges)
    }

    fn write_lane(
        &mut self,
        lane: usize,
        range: Range<usize>,
        columns: &[Source<'_>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { order, positions, .. } = scratch;
        let mut rows = &order[range];
        while !rows.is_empty() {
            let to = &mut self.lanes[lane];
            let (now, rest) = rows.split_at(rows.len().min(BUFFER_ROWS - to.filled));
            if to.next + (to.filled + now.len()) as u64 > to.end {
                return Err(uncounted());
            }
            for (region, buffer) in self.regions.iter().zip(&mut to.buffers) {
                let bytes = to.filled * region.width..(to.filled + now.len()) * region.width;
                columns[region.column].copy(region, now, positions, &mut buffer[bytes])?;
            }
            to.filled += now.len();
            if to.filled == BUFFER_ROWS {
                self.put(lane)?;
            }
            rows = rest;
        }
        Ok(())
    }

    /// Puts what the buffers of a lane have.
    fn put(&mut self, lane: usize) -> Result<()> {
        let to = &mut self.lanes[lane];
        for (number, region) in self.regions.iter().enumerate() {
            let len = to.filled * region.width;
            let offset = to.starts[number] + to.next as usize * region.width;
            let buffer = std::mem::take(&mut to.buffers[number]);
            to.buffers[number] = self.memory.put(lane, offset, buffer, len)?;
        }
        to.next += to.filled as u64;
        to.filled = 0;
        Ok(())
    }

    /// Writes what is left, and waits until all ranks have; the rows of this rank's lane.
    ///
    /// # Errors
    ///
    /// Internal: fewer rows than were counted. I/O: a rank is lost.
    pub fn finish(mut self) -> Result<Batch> {
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].filled > 0 {
                self.put(lane)?;
            }
            if self.lanes[lane].next != self.lanes[lane].end {
                return Err(uncounted());
            }
        }
        let starts = starts(&self.regions, self.rows)?;
        let memory = self.memory.close()?;
        let rows = self.rows as usize;
        let read = |region: Option<usize>| {
            let region = region?;
            let bytes = rows * self.regions.get(region)?.width;
            Some(memory.slice_with_length(*starts.get(region)?, bytes))
        };
        let find = |column: usize, content: Content| {
            self.regions.iter().position(|it| it.is_of(column) && it.content == content)
        };
        let columns = self.columns.iter().enumerate().map(|(column, it)| {
            let values = read(find(column, Content::Values));
            let validity = read(find(column, Content::Validity));
            vector(it, rows, values, validity)
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, rows))
    }
}

/// The rows of a column of a window.
fn vector(
    column: &WindowColumn,
    rows: usize,
    values: Option<Buffer>,
    validity: Option<Buffer>,
) -> Result<Vector> {
    let (data_type, physical) = (column.data_type.clone(), column.data_type.physical());
    let Some(bytes) = values else { return Ok(Vector::nulls(data_type, rows)) };
    let bits = |bytes: &Buffer| BooleanBuffer::collect_bool(rows, |row| bytes[row] != 0);
    let values = match physical {
        PhysicalType::Boolean => Values::Boolean(bits(&bytes)),
        physical => Values::from_fixed_bytes(physical, bytes)
            .ok_or_else(|| Error::internal("a column of a window without a fixed width"))?,
    };
    let nulls = validity.map(|it| NullBuffer::new(bits(&it)));
    Ok(Vector::flat(data_type, values, nulls))
}

/// A column of a block.
struct Source<'a> {
    decoded: &'a Decoded<'a>,
    values: SourceValues<'a>,
}

enum SourceValues<'a> {
    /// All rows are null.
    Nulls,
    Bits(&'a BooleanBuffer),
    Bytes(&'a [u8]),
}

impl<'a> Source<'a> {
    fn new(decoded: &'a Decoded<'a>) -> Result<Source<'a>> {
        let values =
            match decoded.values() {
                Values::Null(_) => SourceValues::Nulls,
                Values::Boolean(bits) => SourceValues::Bits(bits),
                values => SourceValues::Bytes(values.fixed_bytes().ok_or_else(|| {
                    Error::internal("a column of a window without a fixed width")
                })?),
            };
        Ok(Source { decoded, values })
    }

    /// Writes a region's bytes of `rows`.
    fn copy(
        &self,
        region: &Region,
        rows: &[u32],
        positions: &mut Vec<u32>,
        out: &mut [u8],
    ) -> Result<()> {
        if region.content == Content::Validity {
            for (out, row) in out.iter_mut().zip(rows) {
                *out = u8::from(!self.decoded.is_null(*row as usize));
            }
            return Ok(());
        }
        match self.values {
            SourceValues::Nulls => out.fill(0),
            SourceValues::Bits(bits) => {
                for (out, row) in out.iter_mut().zip(rows) {
                    *out = bits.value(self.decoded.index(*row as usize)).into();
                }
            }
            SourceValues::Bytes(values) => {
                let rows = match self.decoded.indices() {
                    Indices::Identity => rows,
                    _ => {
                        positions.clear();
                        let index = |row: &u32| self.decoded.index(*row as usize) as u32;
                        positions.extend(rows.iter().map(index));
                        positions
                    }
                };
                copy_values(values, region.width, rows, out)?;
            }
        }
        Ok(())
    }
}

/// Writes the values of `rows`, `width` bytes each.
fn copy_values(values: &[u8], width: usize, rows: &[u32], out: &mut [u8]) -> Result<()> {
    match width {
        1 => copy_width::<1>(values, rows, out),
        2 => copy_width::<2>(values, rows, out),
        4 => copy_width::<4>(values, rows, out),
        8 => copy_width::<8>(values, rows, out),
        16 => copy_width::<16>(values, rows, out),
        _ => return Err(Error::internal(format!("values of {width} bytes in a window"))),
    }
    Ok(())
}

fn copy_width<const W: usize>(values: &[u8], rows: &[u32], out: &mut [u8]) {
    let (values, _) = values.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for (out, row) in out.iter_mut().zip(rows) {
        *out = values[*row as usize];
    }
}

fn uncounted() -> Error {
    Error::internal("rows of a window other than those that were counted")
        .hint("both passes over the input of a window must have the same rows")
}
