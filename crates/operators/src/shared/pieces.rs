//! The batches that readers have not taken yet: in memory, or in runs on disk.

use std::{collections::VecDeque, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_state::{
    BatchCharge,
    spill::{SpillReader, SpillRun},
};
use volley_vector::Batch;
use volley_wire::flat_bytes;

/// A run is about so large: memory comes back with each, and a reader that took batches while they
/// were written looks for its next one in the run.
const RUN_BYTES: usize = if cfg!(test) { 64 << 10 } else { 64 << 20 };

/// Batches by number, counted from the very first.
#[derive(Debug)]
pub(super) struct Pieces {
    /// By the number of the first batch.
    pieces: VecDeque<(usize, Piece)>,
    /// The number of the next batch that comes.
    end: usize,
    charge: BatchCharge,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Batch(Batch),
    Run(Arc<Run>),
}

/// Neighboring batches on disk.
#[derive(Debug)]
pub(super) struct Run {
    run: SpillRun,
    /// Per batch: the rows up to its end.
    ends: Vec<usize>,
}

impl Pieces {
    pub(super) fn new(pool: &Pool) -> Pieces {
        Pieces { pieces: VecDeque::new(), end: 0, charge: BatchCharge::new(pool) }
    }

    /// What the batches in memory take.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Appends a batch.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = self.charge.keep(batch)?;
        self.pieces.push_back((self.end, Piece::Batch(batch)));
        self.end += 1;
        Ok(())
    }

    /// The piece with batch `number`, and its first batch; `None` when it has not come.
    pub(super) fn at(&self, number: usize) -> Option<(usize, Piece)> {
        if number >= self.end {
            return None;
        }
        let after = self.pieces.partition_point(|it| it.0 <= number);
        self.pieces.get(after.checked_sub(1)?).cloned()
    }

    /// Drops the batches before number `first`.
    pub(super) fn trim(&mut self, first: usize) {
        while let Some((start, piece)) = self.pieces.front()
            && start + piece.batches() <= first
        {
            self.pop_front();
        }
    }

    fn pop_front(&mut self) {
        if let Some((_, Piece::Batch(batch))) = self.pieces.pop_front() {
            self.charge.remove(&batch);
        }
    }

    /// The first batches in memory that make a run, up to the next one that is a cursor's or on
    /// disk.
    ///
    /// # Errors
    ///
    /// None: columns are loaded.
    pub(super) fn first_batches(
        &self,
        cursors: &[Option<usize>],
    ) -> Result<Option<(usize, Vec<Batch>)>> {
        let is_batch = |it: &(usize, Piece)| matches!(it.1, Piece::Batch(_));
        let Some(first) = self.pieces.iter().position(is_batch) else { return Ok(None) };
        let start = self.pieces[first].0;
        let is_cut = |number: usize| number > start && cursors.contains(&Some(number));
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for (number, piece) in self.pieces.range(first..) {
            match piece {
                Piece::Batch(batch) if bytes < RUN_BYTES && !is_cut(*number) => {
                    bytes += flat_bytes(batch)?;
                    batches.push(batch.clone());
                }
                _ => break,
            }
        }
        Ok(Some((start, batches)))
    }

    /// Puts a run into the place of its batches, of which the first has number `start`; some may
    /// have gone.
    pub(super) fn replace(&mut self, start: usize, run: Run) {
        let from = self.pieces.partition_point(|it| it.0 < start);
        let to = self.pieces.partition_point(|it| it.0 < start + run.ends.len());
        for (_, piece) in self.pieces.drain(from..to) {
            if let Piece::Batch(batch) = piece {
                self.charge.remove(&batch);
            }
        }
        if from < to {
            self.pieces.insert(from, (start, Piece::Run(Arc::new(run))));
        }
    }
}

impl Piece {
    /// How many batches it stands for.
    pub(super) fn batches(&self) -> usize {
        match self {
            Piece::Batch(_) => 1,
            Piece::Run(run) => run.ends.len(),
        }
    }
}

impl Run {
    pub(super) fn new(run: SpillRun, ends: Vec<usize>) -> Run {
        Run { run, ends }
    }

    /// The first rows of batch number `batch`, counted within the run, and a reader of all that
    /// comes after.
    ///
    /// # Errors
    ///
    /// As [`SpillReader::next`]; out of memory.
    pub(super) fn read_from(
        &self,
        batch: usize,
        pool: &Pool,
        batch_rows: usize,
    ) -> Result<(Batch, SpillReader)> {
        let mut reader = self.run.read(pool, batch_rows)?;
        let mut before = batch.checked_sub(1).map_or(0, |it| self.ends[it]);
        while let Some(rows) = reader.next()? {
            if before < rows.rows() {
                return Ok((rows.slice(before, rows.rows() - before), reader));
            }
            before -= rows.rows();
        }
        Err(Error::internal("a run of shared rows is shorter than it was"))
    }
}
