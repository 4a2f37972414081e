//! Rows that every task writes into the memory of the task that reads them, at exact offsets.
//!
//! ```text
//! WindowHistogram   first pass: counts the rows of each lane, and the nulls of each column
//! WindowPort::scan  rows of the ranks below, and of all: where to write, how much room there is
//! WindowWriter      second pass: buffers by lane and column, put into the lane's window when full
//! finish            all ranks have written; the lane's window is one batch, and nothing is copied
//!
//! window of a lane  column 0 | column 1 | ... | a byte per row for each column with nulls
//! rows of a column  those of rank 0, then those of rank 1, ...: each in the order of its input
//! ```
//!
//! Each rank has one lane. All ranks make the same calls in the same order. There are no pages, no
//! requests and no flow control: a reader has the whole of its lane once all have written, which
//! joins and groups of partitions need anyway. Sources: the window delivery of Modularis, sections
//! 3.2 and 4; Barthels et al., "Distributed join algorithms on thousands of cores", VLDB 2017.
//!
//! Columns of fixed width only; texts and nested values cross as pages.

mod layout;
mod threads;
mod writer;
#[cfg(test)]
mod tests;

pub use threads::ThreadPort;
pub use writer::WindowWriter;

use crate::{LaneFunction, Partitioning};
use layout::{Region, regions_of};
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type, match_width};
use volley_vector::{Batch, Buffer, Decoded};

/// What connects a rank with the memory of all ranks. One thread has it. The calls of `scan`,
/// `allocate` and [`WindowMemory::close`] wait until all ranks have made them.
pub trait WindowPort {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// Adds numbers of all ranks, one by one. `values` has the same length in all ranks.
    ///
    /// # Errors
    ///
    /// I/O: a rank is lost.
    fn scan(&mut self, values: &[u64]) -> Result<Scan>;

    /// Makes memory of `bytes` zeros in this rank, which all ranks can write to. Each rank has its
    /// own size.
    ///
    /// # Errors
    ///
    /// I/O: a rank is lost. Out of memory.
    fn allocate(&mut self, bytes: usize) -> Result<Box<dyn WindowMemory>>;
}

/// The sums of numbers over ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Over the ranks below this one.
    pub below: Vec<u64>,
    /// Over all ranks.
    pub total: Vec<u64>,
}

/// Memory of all ranks while it is written.
pub trait WindowMemory {
    /// Writes `bytes` to the memory of rank `to`. The buffer must not be read by the caller until
    /// it comes back: the answer is a buffer of the same length for the next bytes, this one or an
    /// earlier one, with any content.
    ///
    /// # Errors
    ///
    /// Internal: bytes beyond the memory of the rank. I/O: a rank is lost.
    fn put(&mut self, to: usize, offset: usize, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>>;

    /// Waits until all ranks have written all; the memory of this rank.
    ///
    /// # Errors
    ///
    /// I/O: a rank is lost.
    fn close(self: Box<Self>) -> Result<Buffer>;
}

/// Counts the rows of an exchange that writes to windows: the first pass over them.
pub struct WindowHistogram {
    function: LaneFunction,
    columns: Vec<WindowColumn>,
    /// Rows by lane.
    rows: Vec<u64>,
    lanes: Vec<u32>,
}

/// A column of a window.
#[derive(Clone, Debug)]
struct WindowColumn {
    data_type: Type,
    /// Bytes of a value.
    width: usize,
    /// Nulls of this rank, later of all.
    nulls: u64,
}

impl WindowHistogram {
    /// Of columns of `types`, with a lane for each of `ranks` ranks.
    ///
    /// # Errors
    ///
    /// Unsupported: a type without a fixed width; a partitioning that copies rows.
    pub fn new(
        partitioning: Partitioning,
        types: &[Type],
        ranks: usize,
    ) -> Result<WindowHistogram> {
        let function = LaneFunction::new(partitioning, ranks);
        if function.is_replicated() {
            let error = Error::unsupported("copies of rows in windows");
            return Err(error.hint("broadcasts cross as pages"));
        }
        let columns = types.iter().map(WindowColumn::new).collect::<Result<_>>()?;
        let rows = vec![0; function.lanes()];
        Ok(WindowHistogram { function, columns, rows, lanes: Vec::new() })
    }

    /// Counts rows.
    ///
    /// # Errors
    ///
    /// Internal: another number of columns.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        if batch.columns().len() != self.columns.len() {
            return Err(Error::internal("rows with other columns than those of the window"));
        }
        let batch = batch.clone().loaded()?;
        self.lanes.clear();
        self.function.append(&batch, &mut self.lanes)?;
        let mut counts = vec![0u32; self.rows.len()];
        volley_kernels::scatter::count_lanes(&self.lanes, &mut counts);
        self.rows.iter_mut().zip(counts).for_each(|(rows, count)| *rows += u64::from(count));
        for (column, vector) in self.columns.iter_mut().zip(batch.columns()) {
            let decoded = Decoded::new(vector)?;
            if decoded.has_nulls() {
                let nulls = (0..decoded.len()).filter(|row| decoded.is_null(*row)).count();
                column.nulls += nulls as u64;
            }
        }
        Ok(())
    }

    /// The rows of each lane that were counted in this rank.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Makes the windows of all ranks; the rows that were counted are written next, once more.
    ///
    /// # Errors
    ///
    /// As those of [`WindowPort`]; internal: another number of ranks.
    pub fn open(self, port: &mut dyn WindowPort) -> Result<WindowWriter> {
        let WindowHistogram { function, mut columns, rows, .. } = self;
        if rows.len() != port.ranks() {
            return Err(Error::internal("lanes of a window for another number of ranks"));
        }
        let mut counts = rows.clone();
        counts.extend(columns.iter().map(|it| it.nulls));
        let mut sums = port.scan(&counts)?;
        let nulls = sums.total.split_off(rows.len());
        columns.iter_mut().zip(nulls).for_each(|(column, nulls)| column.nulls = nulls);
        let regions = regions_of(&columns);
        let own = sums.total.get(port.rank()).copied().unwrap_or(0);
        let memory = port.allocate(layout::room(&regions, own)?)?;
        WindowWriter::new(function, columns, regions, &rows, (&sums, own), memory)
    }
}

impl WindowColumn {
    fn new(data_type: &Type) -> Result<WindowColumn> {
        let width = match data_type.physical() {
            PhysicalType::Null => 0,
            PhysicalType::Boolean => 1,
            PhysicalType::View => return Err(not_fixed(data_type)),
            physical => match_width!(physical, T => size_of::<T>(),
                else return Err(not_fixed(data_type))),
        };
        Ok(WindowColumn { data_type: data_type.clone(), width, nulls: 0 })
    }
}

fn not_fixed(data_type: &Type) -> Error {
    let error = Error::unsupported(format!("column of type {data_type} in a window"));
    error.hint("windows have columns of fixed width; others cross as pages")
}

impl Region {
    fn is_of(&self, column: usize) -> bool {
        self.column == column
    }
}
