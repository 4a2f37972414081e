//! The build side as the probe side goes over it, once per probe batch.

use super::lookup::Lookup;
use std::sync::Arc;
use volley_error::Result;
use volley_memory::Pool;
use volley_state::spill::{SpillReader, SpillRun};
use volley_vector::Batch;

/// A finished build side.
#[derive(Clone)]
pub(super) enum BuildSide {
    /// One batch, maybe without rows, and its index.
    Memory(Arc<Batch>, Option<Arc<Lookup>>),
    /// Where memory was short.
    Disk(Arc<[SpillRun]>),
}

/// A walk over a build side, block by block. In memory, there is one.
pub(super) struct Blocks {
    side: BuildSide,
    pool: Pool,
    batch_rows: usize,
    /// Of the run before this one.
    reader: Option<SpillReader>,
    next_run: usize,
    block: Option<Block>,
}

/// Some build rows, and where they stand among all.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) rows: Arc<Batch>,
    pub(super) start: usize,
}

impl BuildSide {
    pub(super) fn rows(&self) -> usize {
        match self {
            BuildSide::Memory(rows, _) => rows.rows(),
            BuildSide::Disk(runs) => runs.iter().map(SpillRun::rows).sum(),
        }
    }
}

impl Blocks {
    /// Before the first block; blocks on disk have up to `batch_rows` rows, and are charged to
    /// `pool`.
    pub(super) fn new(side: BuildSide, batch_rows: usize, pool: &Pool) -> Blocks {
        Blocks { side, pool: pool.clone(), batch_rows, reader: None, next_run: 0, block: None }
    }

    pub(super) fn is_on_disk(&self) -> bool {
        matches!(self.side, BuildSide::Disk(_))
    }

    /// The index of all rows.
    pub(super) fn lookup(&self) -> Option<Arc<Lookup>> {
        match &self.side {
            BuildSide::Memory(_, lookup) => lookup.clone(),
            BuildSide::Disk(_) => None,
        }
    }

    /// All rows.
    pub(super) fn rows(&self) -> usize {
        self.side.rows()
    }

    /// The block that the walk is at; `None` at the end.
    pub(super) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    /// Goes to the first block.
    ///
    /// # Errors
    ///
    /// As [`SpillReader::next`].
    pub(super) fn rewind(&mut self) -> Result<()> {
        self.stop();
        match &self.side {
            BuildSide::Memory(rows, _) => {
                self.block = Some(Block { rows: Arc::clone(rows), start: 0 });
                Ok(())
            }
            BuildSide::Disk(_) => self.read(0),
        }
    }

    /// Goes to the next block.
    ///
    /// # Errors
    ///
    /// As [`SpillReader::next`].
    pub(super) fn advance(&mut self) -> Result<()> {
        match (self.block.take(), &self.side) {
            (Some(block), BuildSide::Disk(_)) => self.read(block.start + block.rows.rows()),
            _ => Ok(()),
        }
    }

    /// Goes to the end.
    pub(super) fn stop(&mut self) {
        (self.reader, self.next_run, self.block) = (None, 0, None);
    }

    /// Reads the next rows, which begin with number `start`.
    fn read(&mut self, start: usize) -> Result<()> {
        let BuildSide::Disk(runs) = &self.side else { return Ok(()) };
        loop {
            if let Some(reader) = &mut self.reader
                && let Some(rows) = reader.next()?
            {
                self.block = Some(Block { rows: Arc::new(rows), start });
                return Ok(());
            }
            self.reader = None;
            let Some(run) = runs.get(self.next_run) else { return Ok(()) };
            self.reader = Some(run.read(&self.pool, self.batch_rows)?);
            self.next_run += 1;
        }
    }
}
