//! Reading what was written.

use super::READER_BYTES;
use std::sync::Arc;
use volley_error::Result;
use volley_memory::{
    Pool, Reservation, check_cancelled,
    spill::{SpillFileReader, SpillSpace},
};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::decode;

/// Reads the batches of a run, one after the other.
#[derive(Debug)]
pub struct SpillReader {
    types: Arc<[Type]>,
    space: SpillSpace,
    /// `None` when the run has no rows.
    file: Option<SpillFileReader>,
    batch_rows: usize,
    /// The block that is being handed out, and the first row that was not.
    block: Option<(Batch, usize)>,
    charge: Reservation,
}

impl SpillReader {
    pub(super) fn new(
        file: Option<SpillFileReader>,
        types: Arc<[Type]>,
        space: SpillSpace,
        pool: &Pool,
        batch_rows: usize,
    ) -> Result<SpillReader> {
        let mut charge = pool.reservation();
        charge.resize(READER_BYTES)?;
        Ok(SpillReader { types, space, file, batch_rows, block: None, charge })
    }

    /// The next rows, at least one; `None` at the end. The batch may share its memory with the
    /// block that it is from, which stays charged to the reader until the next one is read.
    ///
    /// # Errors
    ///
    /// Corruption, I/O, cancelled; out of memory for a block that is larger than usual.
    pub fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some((block, start)) = &mut self.block
                && *start < block.rows()
            {
                let rows = self.batch_rows.min(block.rows() - *start);
                let batch = block.slice(*start, rows);
                *start += rows;
                return Ok(Some(batch));
            }
            self.block = None;
            match self.read_block()? {
                Some(block) => self.block = Some((block, 0)),
                None => {
                    self.file = None;
                    self.charge.clear();
                    return Ok(None);
                }
            }
        }
    }

    fn read_block(&mut self) -> Result<Option<Batch>> {
        check_cancelled()?;
        let Some(file) = &mut self.file else { return Ok(None) };
        let Some(bytes) = file.next_bytes()? else { return Ok(None) };
        // As bytes, compressed and not, and decoded.
        self.charge.resize(bytes.saturating_mul(3).max(READER_BYTES))?;
        let mut encoded = self.space.buffer();
        file.next(&mut encoded)?;
        let block = decode(&encoded, &self.types)?;
        self.charge.resize(block.retained_bytes().max(READER_BYTES))?;
        Ok(Some(block))
    }
}
