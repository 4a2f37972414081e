//! Encodes rows in every driver, for a sink that takes the rows of one stream.
//!
//! ```text
//! drivers   batches ── Encode ── (bytes, rows)
//!                                   └── gathered in their order ── TableWrite appends the bytes
//! ```

use super::first_rows;
use volley_connector::{RowEncoder, RowSink};
use volley_error::{Error, Result};
use volley_exec::Transform;
use volley_memory::Reservation;
use volley_types::{Type, Value};
use volley_vector::{Batch, Buffer, Decoded, StringValues, StringView, Values, Vector};

/// What encoded rows may take for each byte of their values: quotes and escapes, and digits.
const BYTES_PER_BYTE: usize = 4;

/// Makes batches of one row: bytes, and the number of rows that they encode.
pub(super) struct Encode {
    encoder: Box<dyn RowEncoder>,
    /// For the bytes while they are made.
    reservation: Reservation,
    /// Rows of a batch that are not encoded yet.
    pending: Option<Batch>,
}

impl Encode {
    pub(super) fn new(encoder: Box<dyn RowEncoder>, reservation: Reservation) -> Encode {
        Encode { encoder, reservation, pending: None }
    }
}

impl Transform for Encode {
    fn name(&self) -> &'static str {
        "encode rows"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        self.pending = Some(batch.loaded()?);
        self.more()
    }

    fn more(&mut self) -> Result<Option<Batch>> {
        let Some(batch) = self.pending.take() else { return Ok(None) };
        let (rows, flat_bytes) = first_rows(&batch)?;
        self.reservation.resize(flat_bytes.saturating_mul(BYTES_PER_BYTE))?;
        let bytes = self.encoder.encode(&batch.slice(0, rows))?;
        self.reservation.clear();
        if rows < batch.rows() {
            self.pending = Some(batch.slice(rows, batch.rows() - rows));
        }
        Ok(Some(encoded(bytes, rows)))
    }
}

fn encoded(bytes: Vec<u8>, rows: usize) -> Batch {
    let view = StringView::new(&bytes, 0, 0);
    let strings = StringValues::new(vec![view].into(), vec![Buffer::from_vec(bytes)].into());
    let bytes = Vector::strings(Type::Varbinary, strings, None);
    let rows = Vector::constant(Type::BigInt, &Value::BigInt(rows as i64), 1);
    Batch::new(vec![bytes, rows], 1)
}

/// Appends encoded rows to a sink; returns how many there are.
pub(super) fn append_encoded(batch: &Batch, sink: &mut dyn RowSink) -> Result<i64> {
    let other = || Error::internal("encoded rows of another layout");
    let [bytes, counts] = batch.columns() else { return Err(other()) };
    let (bytes, mut rows) = (Decoded::new(bytes)?, 0);
    let Values::View(strings) = bytes.values() else { return Err(other()) };
    for row in 0..batch.rows() {
        sink.append(strings.bytes(bytes.index(row)))?;
        let Value::BigInt(count) = counts.value(row)? else { return Err(other()) };
        rows += count;
    }
    Ok(rows)
}
