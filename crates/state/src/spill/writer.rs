//! Writing batches to a file.

use super::{BLOCK_BYTES, BLOCK_ROWS_MAX, SpillReader, Spilled, WRITER_BYTES};
use std::sync::Arc;
use volley_error::Result;
use volley_memory::{
    Pool, Reservation, check_cancelled,
    spill::{SpillFile, SpillSpace},
};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::{Encoder, encoded_bytes, flat_bytes};

/// Writes batches to a file that is made with the first block.
pub struct SpillWriter {
    run: SpillRun,
    /// Rows of the next block.
    encoder: Encoder,
    charge: Reservation,
}

/// A finished sequence of batches in a file. Dropping it removes the file after the last reader.
#[derive(Debug)]
pub struct SpillRun {
    types: Arc<[Type]>,
    space: SpillSpace,
    file: Option<SpillFile>,
    rows: usize,
}

impl SpillWriter {
    /// What a writer charges when it is made.
    pub const BYTES: usize = WRITER_BYTES;

    /// A writer of batches of `types` to a file of `space`; charges its buffers to `pool`.
    ///
    /// # Errors
    ///
    /// Out of memory. Unsupported: opaque types, whose objects have no form on disk.
    pub fn new(space: &SpillSpace, types: &[Type], pool: &Pool) -> Result<SpillWriter> {
        let run = SpillRun { types: types.into(), space: space.clone(), file: None, rows: 0 };
        run.append_to(pool)
    }

    /// Writes the rows of a batch, and keeps nothing of it. Loads lazy columns.
    ///
    /// # Errors
    ///
    /// What a loader reports; the limit of the space; I/O; cancelled; out of memory for rows that
    /// are larger than a block. The writer must not be used after an error.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = batch.clone().loaded()?;
        let (rows, bytes) = (batch.rows(), flat_bytes(&batch)?);
        let is_large = rows > BLOCK_ROWS_MAX / 2 || bytes > BLOCK_BYTES / 2;
        let fits = self.encoder.rows() + rows <= BLOCK_ROWS_MAX
            && self.encoder.bytes() + bytes <= BLOCK_BYTES;
        if is_large || !fits {
            self.flush()?;
        }
        if is_large {
            return self.write_large(&batch);
        }
        self.encoder.append(&batch, 0..rows)?;
        self.run.rows += rows;
        Ok(())
    }

    /// Rows so far.
    #[cfg(test)]
    pub fn rows(&self) -> usize {
        self.run.rows
    }

    /// Bytes on disk so far.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.run.bytes()
    }

    /// Writes what is held back; the run of everything.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::write`].
    pub fn finish(mut self) -> Result<SpillRun> {
        self.flush()?;
        Ok(self.run)
    }

    /// Writes a batch as blocks of its own, in which encodings are kept.
    fn write_large(&mut self, batch: &Batch) -> Result<()> {
        let (rows, bytes) = (batch.rows(), encoded_bytes(batch)?);
        let blocks = bytes.div_ceil(BLOCK_BYTES).max(rows.div_ceil(BLOCK_ROWS_MAX));
        if rows <= 1 || blocks <= 1 {
            return self.write_block(batch, bytes);
        }
        let block_rows = rows.div_ceil(blocks);
        for start in (0..rows).step_by(block_rows) {
            // Cut again when its rows are larger than the others.
            self.write_large(&batch.slice(start, block_rows.min(rows - start)))?;
        }
        Ok(())
    }

    fn write_block(&mut self, batch: &Batch, bytes: usize) -> Result<()> {
        let is_oversized = bytes > BLOCK_BYTES;
        if is_oversized {
            // Collected, encoded and compressed.
            self.charge.resize(bytes.saturating_mul(3).saturating_add(WRITER_BYTES))?;
        }
        let mut block = self.run.space.buffer();
        self.encoder.encode(batch, &mut block)?;
        self.run.append(&block)?;
        self.run.rows += batch.rows();
        if is_oversized {
            self.encoder = Encoder::new(&self.run.types)?;
            drop(block);
            self.charge.resize(WRITER_BYTES)?;
        }
        Ok(())
    }

    /// Writes the collected rows.
    fn flush(&mut self) -> Result<()> {
        if self.encoder.rows() == 0 {
            return Ok(());
        }
        let mut block = self.run.space.buffer();
        self.encoder.take(&mut block)?;
        self.run.append(&block)
    }
}

impl SpillRun {
    /// All rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The run as what an operator spilled.
    pub fn spilled(&self) -> Spilled {
        Spilled { runs: usize::from(self.rows() > 0), rows: self.rows(), bytes: self.bytes() }
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, SpillFile::bytes)
    }

    /// The types of the columns.
    #[cfg(test)]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// A writer of further rows, behind these; charges its buffers to `pool`.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn append_to(self, pool: &Pool) -> Result<SpillWriter> {
        let mut charge = pool.reservation();
        charge.resize(WRITER_BYTES)?;
        Ok(SpillWriter { encoder: Encoder::new(&self.types)?, charge, run: self })
    }

    /// Reads the rows from the first one on, in batches of at most `batch_rows`; what the reader
    /// holds is charged to `pool`. Several readers may read a run at once.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn read(&self, pool: &Pool, batch_rows: usize) -> Result<SpillReader> {
        let file = self.file.as_ref().map(SpillFile::reader);
        SpillReader::new(file, self.types.clone(), self.space.clone(), pool, batch_rows)
    }

    fn append(&mut self, block: &[u8]) -> Result<()> {
        check_cancelled()?;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.space.create_file()?),
        };
        file.append(block).map(drop)
    }
}
