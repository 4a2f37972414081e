//! One lane of a queue: batches by number, in memory or in runs on disk, and where readers stand.

use super::already_read;
use crate::{
    BatchCharge,
    barrier::Waiters,
    spill::{SpillReader, SpillRun},
};
use std::{collections::VecDeque, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_vector::Batch;
use volley_wire::flat_bytes;

/// What all lanes of a queue hold.
#[derive(Debug)]
pub(super) struct Totals {
    /// Bytes of the batches in memory.
    pub(super) charge: BatchCharge,
    /// Batches in memory.
    pub(super) batches: usize,
    /// Runs that a reader has not begun to read.
    pub(super) runs: usize,
    /// Rows of all batches that were ever pushed.
    pub(super) pushed_rows: usize,
}

/// Batches of one lane, numbered from the very first.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// By the number of the first batch.
    entries: VecDeque<(usize, Entry)>,
    /// The number of the next batch that is pushed.
    end: usize,
    /// By reader; `None` when it was dropped.
    cursors: Vec<Option<Cursor>>,
    /// Readers that wait.
    pub(super) waiting: Waiters,
}

#[derive(Debug)]
enum Entry {
    Batch(Batch),
    Run(Arc<Run>),
}

/// Consecutive batches on disk.
#[derive(Debug)]
pub(super) struct Run {
    run: SpillRun,
    /// By batch: the rows up to its end.
    ends: Vec<usize>,
    /// The most rows of a batch that is read.
    batch_rows: usize,
}

/// Where a reader stands.
#[derive(Debug)]
struct Cursor {
    /// The number of the next batch; that after the run, while one is read.
    next: usize,
    reading: Reading,
}

/// What a cursor reads from disk.
#[derive(Debug)]
enum Reading {
    None,
    /// The run that begins at or before the position will be read with this.
    Prepared(RunReader),
    /// The run before the position.
    Open(RunReader),
    /// A thread reads the next rows of the run before the position.
    Taken,
}

/// Reads a run from one of its batches on.
#[derive(Debug)]
pub(super) struct RunReader {
    reader: SpillReader,
    /// Rows before that batch that were not read yet.
    skipped_rows: usize,
}

/// What a reader finds.
pub(super) enum Next {
    /// The next batch.
    Batch(Batch),
    /// The next rows are on disk. The reader must come back ([`Lane::put_back`]).
    Run(RunReader),
    /// Another thread reads the next rows from disk.
    Reading,
    /// All batches that were pushed are read.
    Empty,
}

/// Batches and readers that are not needed.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    _entries: VecDeque<(usize, Entry)>,
    _reading: Vec<Reading>,
}

impl Totals {
    pub(super) fn new(charge: BatchCharge) -> Totals {
        Totals { charge, batches: 0, runs: 0, pushed_rows: 0 }
    }

    /// Counts the removal of everything.
    pub(super) fn clear(&mut self) {
        self.charge.clear();
        (self.batches, self.runs) = (0, 0);
    }

    fn remove(&mut self, entry: &Entry) {
        match entry {
            Entry::Batch(batch) => {
                self.charge.remove(batch);
                self.batches -= 1;
            }
            Entry::Run(_) => self.runs -= 1,
        }
    }
}

impl Lane {
    pub(super) fn has_readers(&self) -> bool {
        self.cursors.iter().any(Option::is_some)
    }

    /// Whether a reader waits for a batch.
    pub(super) fn is_awaited(&self) -> bool {
        self.has_readers() && !self.waiting.is_empty()
    }

    /// A new reader of all batches from the first on.
    ///
    /// # Errors
    ///
    /// Internal, when the first batches are gone.
    pub(super) fn add_cursor(&mut self) -> Result<usize> {
        if self.first() > 0 {
            return Err(already_read());
        }
        let cursor = Some(Cursor { next: 0, reading: Reading::None });
        match self.cursors.iter().position(Option::is_none) {
            Some(free) => {
                self.cursors[free] = cursor;
                Ok(free)
            }
            None => {
                self.cursors.push(cursor);
                Ok(self.cursors.len() - 1)
            }
        }
    }

    /// The number of the first batch that is not dropped.
    fn first(&self) -> usize {
        self.entries.front().map_or(self.end, |it| it.0)
    }

    /// Appends a batch.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push(&mut self, batch: Batch, totals: &mut Totals) -> Result<()> {
        let batch = totals.charge.keep(batch)?;
        totals.batches += 1;
        totals.pushed_rows += batch.rows();
        self.entries.push_back((self.end, Entry::Batch(batch)));
        self.end += 1;
        Ok(())
    }

    /// Takes what comes next for a reader.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn next(&mut self, cursor: usize, totals: &mut Totals) -> Result<Next> {
        let is_only = self.cursors.len() == 1;
        let Some(Some(cursor)) = self.cursors.get_mut(cursor) else { return Ok(Next::Empty) };
        let mut prepared = None;
        match std::mem::replace(&mut cursor.reading, Reading::None) {
            Reading::None => {}
            Reading::Prepared(reader) => prepared = Some(reader),
            Reading::Open(reader) => {
                cursor.reading = Reading::Taken;
                return Ok(Next::Run(reader));
            }
            Reading::Taken => {
                cursor.reading = Reading::Taken;
                return Ok(Next::Reading);
            }
        }
        if cursor.next >= self.end {
            return Ok(Next::Empty);
        }
        let index = index_of(&self.entries, cursor.next);
        match self.entries.get(index) {
            Some((start, Entry::Run(run))) => {
                let open = || run.open(cursor.next - start, totals.charge.pool());
                let reader = prepared.map_or_else(open, Ok)?;
                cursor.next = start + run.ends.len();
                cursor.reading = Reading::Taken;
                self.trim(totals);
                Ok(Next::Run(reader))
            }
            Some((_, Entry::Batch(batch))) if !is_only => {
                let batch = batch.clone();
                cursor.next += 1;
                self.trim(totals);
                Ok(Next::Batch(batch))
            }
            _ => {
                cursor.next += 1;
                match self.pop_front(totals) {
                    Some(Entry::Batch(batch)) => Ok(Next::Batch(batch)),
                    _ => Err(Error::internal("a queue lost a batch")),
                }
            }
        }
    }

    /// Takes the reader of a run again, unless the lane was emptied meanwhile; `None` when all of
    /// the run was read.
    pub(super) fn put_back(&mut self, cursor: usize, reader: Option<RunReader>) {
        if let Some(Some(cursor)) = self.cursors.get_mut(cursor)
            && matches!(cursor.reading, Reading::Taken)
        {
            cursor.reading = reader.map_or(Reading::None, Reading::Open);
        }
    }

    /// Forgets a reader. What only it needed is removed from `totals`.
    pub(super) fn close_cursor(&mut self, cursor: usize, totals: &mut Totals) -> Dropped {
        let closed = self.cursors.get_mut(cursor).and_then(Option::take);
        if self.has_readers() {
            self.trim(totals);
            return Dropped {
                _reading: closed.into_iter().map(|it| it.reading).collect(),
                ..Dropped::default()
            };
        }
        self.entries.iter().for_each(|it| totals.remove(&it.1));
        let _entries = std::mem::take(&mut self.entries);
        Dropped { _entries, _reading: closed.into_iter().map(|it| it.reading).collect() }
    }

    /// Empties the lane; the caller clears the totals.
    pub(super) fn clear(&mut self) -> Dropped {
        let mut dropped =
            Dropped { _entries: std::mem::take(&mut self.entries), ..Dropped::default() };
        for cursor in self.cursors.iter_mut().flatten() {
            cursor.next = self.end;
            dropped._reading.push(std::mem::replace(&mut cursor.reading, Reading::None));
        }
        dropped
    }

    /// Drops what all readers have taken.
    fn trim(&mut self, totals: &mut Totals) {
        let first = self.cursors.iter().flatten().map(|it| it.next).min().unwrap_or(self.end);
        while let Some((start, entry)) = self.entries.front()
            && start + entry.batches() <= first
        {
            self.pop_front(totals);
        }
    }

    fn pop_front(&mut self, totals: &mut Totals) -> Option<Entry> {
        let (_, entry) = self.entries.pop_front()?;
        totals.remove(&entry);
        Some(entry)
    }

    /// The number of the next batch that is pushed.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// The first batches in memory, as many as make a run of about `run_bytes`, up to number
    /// `before`, to the next batch that a reader takes or to one on disk; and the number of the
    /// first.
    ///
    /// # Errors
    ///
    /// None: columns are loaded.
    pub(super) fn next_run(
        &self,
        before: usize,
        run_bytes: usize,
    ) -> Result<Option<(usize, Vec<Batch>)>> {
        let is_batch = |it: &(usize, Entry)| matches!(it.1, Entry::Batch(_)) && it.0 < before;
        let Some(first) = self.entries.iter().position(is_batch) else { return Ok(None) };
        let start = self.entries[first].0;
        let is_cut = |number: usize| {
            let mut cursors = self.cursors.iter().flatten();
            number >= before || number > start && cursors.any(|it| it.next == number)
        };
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for (number, entry) in self.entries.range(first..) {
            match entry {
                Entry::Batch(batch) if bytes < run_bytes && !is_cut(*number) => {
                    bytes += flat_bytes(batch)?;
                    batches.push(batch.clone());
                }
                _ => break,
            }
        }
        Ok(Some((start, batches)))
    }

    /// Puts a run in the place of its batches, the first of them number `start`; readers may have
    /// taken some meanwhile.
    pub(super) fn replace(&mut self, start: usize, run: Run, totals: &mut Totals) {
        let from = self.entries.partition_point(|it| it.0 < start);
        let to = self.entries.partition_point(|it| it.0 < start + run.ends.len());
        if from >= to {
            return;
        }
        self.entries.drain(from..to).for_each(|it| totals.remove(&it.1));
        self.entries.insert(from, (start, Entry::Run(Arc::new(run))));
        totals.runs += 1;
    }

    /// Reserves the memory for reading the runs that come next for readers. Where there is none, it
    /// is reserved when they are read.
    pub(super) fn prepare_readers(&mut self, totals: &Totals) {
        for cursor in self.cursors.iter_mut().flatten() {
            if let Reading::None = cursor.reading
                && let Some((start, entry)) = self.entries.get(index_of(&self.entries, cursor.next))
                && let Entry::Run(run) = entry
                && let Some(batch) =
                    cursor.next.checked_sub(*start).filter(|it| *it < run.ends.len())
                && let Ok(reader) = run.open(batch, totals.charge.pool())
            {
                cursor.reading = Reading::Prepared(reader);
            }
        }
    }
}

/// The position of the entry with batch `number`, which was not dropped.
fn index_of(entries: &VecDeque<(usize, Entry)>, number: usize) -> usize {
    match entries.front() {
        // Most readers stand in the first one.
        Some((start, entry)) if number < start + entry.batches() => 0,
        _ => entries.partition_point(|it| it.0 <= number).saturating_sub(1),
    }
}

impl Entry {
    /// How many batches it stands for.
    fn batches(&self) -> usize {
        match self {
            Entry::Batch(_) => 1,
            Entry::Run(run) => run.ends.len(),
        }
    }
}

impl Run {
    /// A run, by batch the rows up to its end, and the most rows of a batch that is read.
    pub(super) fn new(run: SpillRun, ends: Vec<usize>, batch_rows: usize) -> Run {
        Run { run, ends, batch_rows }
    }

    /// A reader that begins with batch number `batch` of the run; reads nothing yet.
    fn open(&self, batch: usize, pool: &Pool) -> Result<RunReader> {
        let reader = self.run.read(pool, self.batch_rows)?;
        let skipped_rows = batch.checked_sub(1).map_or(0, |it| self.ends[it]);
        Ok(RunReader { reader, skipped_rows })
    }
}

impl RunReader {
    /// The next rows; `None` at the end of the run.
    ///
    /// # Errors
    ///
    /// As [`SpillReader::next`].
    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        while let Some(batch) = self.reader.next()? {
            let skipped = std::mem::take(&mut self.skipped_rows);
            match batch.rows() {
                rows if rows <= skipped => self.skipped_rows = skipped - rows,
                _ if skipped == 0 => return Ok(Some(batch)),
                rows => return Ok(Some(batch.slice(skipped, rows - skipped))),
            }
        }
        Ok(None)
    }
}
