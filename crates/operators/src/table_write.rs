//! Writes rows to tables and files.
//!
//! Batches are written in slices that are small also when their columns are made flat (a constant
//! may stand for a thousand large arrays), with a look at the task between two of them. What the
//! sink holds is charged, and it writes out what it holds once that is too much.
//!
//! Columns behind those that are written say which rows violate a constraint. They are looked at
//! before any row of the batch is written.

mod checks;
mod encode;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use checks::RowChecks;
use encode::append_encoded;
use std::sync::Arc;
use volley_connector::{BatchIndex, RowSink, TableWriter};
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, SourceOrder, Step, StepContext};
use volley_memory::Reservation;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};
use volley_wire::flat_bytes;

/// The number of bytes written at once, as flat columns; or a row.
const SLICE_BYTES: usize = 4 << 20;

/// The most bytes that a sink holds: this, or a part of the memory limit.
const HELD_MAX: usize = 128 << 20;
const HELD_SHARE: usize = 8;

/// Writes every batch to a sink, completes it when the input has ended, and returns the number of
/// rows. A sink that is dropped before leaves nothing behind.
pub struct TableWrite {
    checks: RowChecks,
    input: InputRows,
    place: Option<Place>,
    /// `None` once withdrawn.
    sink: Option<Box<dyn RowSink>>,
    /// What the sink holds.
    reservation: Reservation,
    /// The most bytes that the sink may hold between batches.
    held_max: usize,
    /// Rows to write.
    pending: Option<Batch>,
    rows: i64,
    input_done: bool,
    complete: bool,
}

/// What comes in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputRows {
    /// The columns to write.
    Plain,
    /// What an [`Encode`](encode::Encode) of every driver made of them.
    Encoded,
}

/// Where a driver's input is in the order of its source.
struct Place {
    order: Arc<SourceOrder>,
    driver: usize,
    /// What the sink knows.
    begun: Option<BatchIndex>,
}

impl TableWrite {
    /// Opens a sink of the driver.
    ///
    /// # Errors
    ///
    /// I/O; a type that the format cannot hold.
    fn new(
        writer: &dyn TableWriter,
        checks: RowChecks,
        cx: &OperatorContext,
    ) -> Result<TableWrite> {
        Ok(TableWrite::to_sink(writer.open()?, checks, cx.pool.reservation()))
    }

    /// Tells the sink where the input is in the order of its source.
    fn at(self, order: Option<&Arc<SourceOrder>>, driver: usize) -> TableWrite {
        let place = |order| Place { order: Arc::clone(order), driver, begun: None };
        TableWrite { place: order.map(place), ..self }
    }

    /// The operator for rows that are encoded.
    fn of_encoded(self) -> TableWrite {
        TableWrite { input: InputRows::Encoded, ..self }
    }

    fn to_sink(sink: Box<dyn RowSink>, checks: RowChecks, reservation: Reservation) -> TableWrite {
        TableWrite {
            checks,
            input: InputRows::Plain,
            place: None,
            sink: Some(sink),
            held_max: (reservation.pool().limit_bytes() / HELD_SHARE).min(HELD_MAX),
            reservation,
            pending: None,
            rows: 0,
            input_done: false,
            complete: false,
        }
    }
}

impl Operator for TableWrite {
    fn name(&self) -> &'static str {
        "table write"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if let (Some(place), Some(sink)) = (&mut self.place, &mut self.sink) {
            let index = place.order.index(place.driver);
            if place.begun != Some(index) {
                sink.begin(index)?;
                place.begun = Some(index);
            }
        }
        self.pending = Some(self.checks.checked(input)?.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(sink) = &mut self.sink else { return Ok(Step::Finished) };
        if self.input == InputRows::Encoded
            && let Some(batch) = self.pending.take()
        {
            self.rows += append_encoded(&batch, sink.as_mut())?;
        }
        if let Some(batch) = self.pending.take() {
            let (rows, bytes) = first_rows(&batch)?;
            write(sink.as_mut(), &batch.slice(0, rows), bytes, &mut self.reservation)?;
            reclaim(sink.as_mut(), self.held_max, &mut self.reservation)?;
            self.rows += rows as i64;
            if rows < batch.rows() {
                self.pending = Some(batch.slice(rows, batch.rows() - rows));
                return Ok(Step::Yield);
            }
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if self.complete {
            return Ok(Step::Finished);
        }
        sink.finish()?;
        self.reservation.clear();
        self.complete = true;
        let rows = Vector::constant(Type::BigInt, &Value::BigInt(self.rows), 1);
        Ok(Step::Output(Batch::new(vec![rows], 1)))
    }

    fn abort(&mut self) {
        self.sink = None;
        self.reservation.clear();
    }
}

/// How many of the first rows take about [`SLICE_BYTES`], at least one, and what they take, flat.
fn first_rows(batch: &Batch) -> Result<(usize, usize)> {
    let mut rows = batch.rows();
    loop {
        let bytes = flat_bytes(&batch.slice(0, rows))?;
        if bytes <= SLICE_BYTES || rows <= 1 {
            return Ok((rows, bytes));
        }
        let share = rows as u128 * SLICE_BYTES as u128 / bytes as u128;
        // The first rows may be larger than others, and so the next look is at half of them at
        // most.
        rows = (share as usize).clamp(1, rows.div_ceil(2));
    }
}

/// Writes a batch of this number of flat bytes, and reserves memory for that.
fn write(
    sink: &mut dyn RowSink,
    batch: &Batch,
    flat_bytes: usize,
    reservation: &mut Reservation,
) -> Result<()> {
    let more = sink.write_bytes(flat_bytes);
    if reservation.resize(sink.held_bytes().saturating_add(more)).is_err() {
        sink.reclaim()?;
        reservation.resize(sink.held_bytes().saturating_add(more))?;
    }
    sink.write(batch)
}

/// Charges what the sink holds; lets it write that when it is more than `held_max`, or more than
/// there is.
fn reclaim(sink: &mut dyn RowSink, held_max: usize, reservation: &mut Reservation) -> Result<()> {
    let held = sink.held_bytes();
    if held <= held_max && reservation.resize(held).is_ok() {
        return Ok(());
    }
    sink.reclaim()?;
    reservation.resize(sink.held_bytes())
}
