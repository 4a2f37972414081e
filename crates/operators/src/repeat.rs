//! Repeats rows as often as a column says.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use volley_error::{Error, Result};
use volley_exec::Transform;
use volley_vector::{Batch, Decoded, ScalarBuffer};

/// Repeats each row as often as its last column says, without that column.
pub struct Repeat {
    batch_rows: usize,
    pending: Option<Pending>,
}

/// A batch whose repetitions are being emitted.
struct Pending {
    rows: Batch,
    counts: Vec<i64>,
    /// The first row with repetitions left.
    position: usize,
}

impl Repeat {
    /// Emits batches of at most `batch_rows` rows.
    pub fn new(batch_rows: usize) -> Repeat {
        Repeat { batch_rows, pending: None }
    }
}

impl Pending {
    /// The next rows, at most `batch_rows` of them; empty at the end.
    fn next_codes(&mut self, batch_rows: usize) -> Vec<u32> {
        let mut codes = Vec::new();
        while self.position < self.counts.len() && codes.len() < batch_rows {
            let count = &mut self.counts[self.position];
            let times = (*count).clamp(0, (batch_rows - codes.len()) as i64);
            codes.resize(codes.len() + times as usize, self.position as u32);
            *count -= times;
            if *count <= 0 {
                self.position += 1;
            }
        }
        codes
    }
}

impl Transform for Repeat {
    fn name(&self) -> &'static str {
        "repeat"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let rows = batch.rows();
        let mut columns = batch.loaded()?.into_columns();
        let last = columns.pop().ok_or_else(|| Error::internal("repeat without a count"))?;
        let decoded = Decoded::new(&last)?;
        let values = decoded.native::<i64>();
        let count = |row: usize| {
            if decoded.is_null(row) { None } else { values.get(decoded.index(row)).copied() }
        };
        let counts = (0..rows).map(count).collect::<Option<Vec<_>>>();
        let counts = counts.ok_or_else(|| Error::internal("repeat count is null"))?;
        self.pending = Some(Pending { rows: Batch::new(columns, rows), counts, position: 0 });
        self.more()
    }

    fn more(&mut self) -> Result<Option<Batch>> {
        let Some(pending) = &mut self.pending else { return Ok(None) };
        let codes: ScalarBuffer<u32> = pending.next_codes(self.batch_rows).into();
        if codes.is_empty() {
            self.pending = None;
            return Ok(None);
        }
        Ok(Some(pending.rows.wrap(&codes)))
    }
}
