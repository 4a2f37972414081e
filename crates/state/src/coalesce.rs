//! Collects small batches into larger ones.

use crate::BatchCharge;
use volley_error::Result;
use volley_memory::Pool;
use volley_types::Type;
use volley_vector::Batch;

/// Batches are held while at most this many inputs bring no rows: a LIMIT above may wait for just
/// these rows, of an input that never ends.
const VAIN_INPUTS_MAX: usize = 64;

/// Joins small batches to larger ones. Batches that have many rows already pass as they are.
#[derive(Debug)]
pub struct Coalescer {
    types: Vec<Type>,
    /// Batches with at least this many rows are passed on.
    enough_rows: usize,
    /// Or with this number of bytes: few rows may be large, and small batches share large columns.
    enough_bytes: usize,
    parts: Vec<Batch>,
    rows: usize,
    /// How many inputs brought no batch since one is held.
    vain_inputs: usize,
    charge: BatchCharge,
}

impl Coalescer {
    /// Emits batches of at least `enough_rows` rows, or of fewer large rows; reserves what it holds
    /// in `pool`.
    pub fn new(types: Vec<Type>, enough_rows: usize, pool: &Pool) -> Coalescer {
        let charge = BatchCharge::new(pool);
        let enough_bytes = pool.batch_bytes();
        let (parts, rows, vain_inputs) = (Vec::new(), 0, 0);
        Coalescer { types, enough_rows, enough_bytes, parts, rows, vain_inputs, charge }
    }

    /// The rows that are held back.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of what is held back.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Takes a small batch; answers a large one when there are enough rows. The batch's columns
    /// must be loaded and should be compact: what they share with others stays alive.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn push(&mut self, batch: Batch) -> Result<Option<Batch>> {
        if self.parts.is_empty() && batch.rows() >= self.enough_rows {
            return Ok(Some(batch));
        }
        let batch = self.charge.keep(batch)?;
        self.rows += batch.rows();
        self.parts.push(batch);
        let is_enough = self.rows >= self.enough_rows || self.bytes() > self.enough_bytes;
        if is_enough { self.flush() } else { Ok(None) }
    }

    /// An input brought no batch: answers what is held if there were many of these.
    ///
    /// # Errors
    ///
    /// As [`Coalescer::flush`].
    pub fn pass_vain_input(&mut self) -> Result<Option<Batch>> {
        self.vain_inputs += usize::from(!self.parts.is_empty());
        if self.vain_inputs > VAIN_INPUTS_MAX { self.flush() } else { Ok(None) }
    }

    /// What is held, as one batch.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits.
    pub fn flush(&mut self) -> Result<Option<Batch>> {
        if self.parts.is_empty() {
            return Ok(None);
        }
        let parts = std::mem::take(&mut self.parts);
        (self.rows, self.vain_inputs) = (0, 0);
        self.charge.clear();
        match parts.len() {
            1 => Ok(parts.into_iter().next()),
            _ => Batch::concat(&self.types, &parts).map(Some),
        }
    }
}
