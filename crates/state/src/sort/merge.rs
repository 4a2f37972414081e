//! Merges sorted runs: the sub-operator of sorts that several drivers share, or that do not fit in
//! memory.
//!
//! ```text
//! missing   runs whose next batch has not arrived
//! heap      the runs that have rows, the one whose next row comes first on top
//! compare   a prefix of the first key (`key_prefixes`), then the keys by value, then the runs:
//!           rows with equal keys keep the order of the runs
//! emit      rows are gathered out of the runs' batches
//! ```

use super::{Tie, key_prefixes};
use crate::spill::SpillReader;
use std::{cmp::Ordering, task::Waker};
use volley_error::Result;
use volley_types::{SortKey, Type};
use volley_vector::{Batch, Decoded, Parts, Pick};

/// Rows of sorted runs in order.
pub struct RunMerge<R> {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    runs: Vec<Run<R>>,
    /// The current batch of each run.
    parts: Parts,
    /// Runs that have rows; each comes before those at twice its place and one or two on.
    heap: Vec<u32>,
    /// Runs whose rows are all emitted, and whose next batch was not requested or has not arrived.
    missing: Vec<u32>,
    /// What compares the current batches of two runs, the first of which is the smaller number;
    /// made when it is first needed. At that number times the number of runs, plus the other.
    ties: Vec<Option<Vec<Tie>>>,
}

/// Where the rows of a run come from.
pub trait SortedRun {
    /// The next rows; at least one.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    fn next(&mut self, waker: &Waker) -> Result<RunStep>;
}

impl SortedRun for SpillReader {
    fn next(&mut self, _waker: &Waker) -> Result<RunStep> {
        Ok(SpillReader::next(self)?.map_or(RunStep::End, RunStep::Batch))
    }
}

/// What a run answers.
pub enum RunStep {
    /// The rows that come next.
    Batch(Batch),
    /// They are on their way: the waker is woken then.
    Wait,
    /// There are no more.
    End,
}

/// What a merge answers.
#[derive(Debug)]
pub enum MergeStep {
    /// The rows that come next.
    Batch(Batch),
    /// A run has to wait.
    Wait,
    /// There are no more.
    End,
}

/// A run, and where it stands.
struct Run<R> {
    source: R,
    batch: Batch,
    /// Of the first key in `batch`.
    prefixes: Vec<u64>,
    row: usize,
}

impl<R: SortedRun> RunMerge<R> {
    /// Merges runs of rows of `types` that are each sorted by `keys`, into batches of at most
    /// `batch_rows`.
    pub fn new(
        types: &[Type],
        keys: &[SortKey],
        sources: Vec<R>,
        batch_rows: usize,
    ) -> RunMerge<R> {
        let run = |source| {
            let batch = Batch::new(Vec::new(), 0);
            Run { source, batch, prefixes: Vec::new(), row: 0 }
        };
        let runs: Vec<Run<R>> = sources.into_iter().map(run).collect();
        let mut ties = Vec::new();
        ties.resize_with(runs.len() * runs.len(), || None);
        RunMerge {
            types: types.to_vec(),
            keys: keys.to_vec(),
            batch_rows,
            parts: Parts::new(types, runs.len()),
            heap: Vec::with_capacity(runs.len()),
            missing: (0..runs.len() as u32).collect(),
            runs,
            ties,
        }
    }

    /// The next rows.
    ///
    /// # Errors
    ///
    /// Those of the runs; out of memory.
    pub fn next(&mut self, waker: &Waker) -> Result<MergeStep> {
        while let Some(run) = self.missing.last().copied() {
            match self.runs[run as usize].source.next(waker)? {
                RunStep::Wait => return Ok(MergeStep::Wait),
                RunStep::Batch(batch) => self.begin(run, batch)?,
                RunStep::End => {}
            }
            self.missing.pop();
        }
        let mut order = Vec::with_capacity(self.batch_rows);
        let mut exhausted = None;
        while order.len() < self.batch_rows && exhausted.is_none() {
            let Some(least) = self.heap.first().copied() else { break };
            let run = &mut self.runs[least as usize];
            order.push(Pick { part: least, row: run.row as u32 });
            run.row += 1;
            match run.row < run.batch.rows() {
                true => self.sift_down(0)?,
                false => exhausted = Some(least),
            }
        }
        if order.is_empty() {
            return Ok(MergeStep::End);
        }
        let batch = self.take(&order)?;
        if let Some(run) = exhausted {
            self.end_batch(run)?;
        }
        Ok(MergeStep::Batch(batch))
    }

    /// Puts a run's next rows into the heap.
    fn begin(&mut self, run: u32, batch: Batch) -> Result<()> {
        let prefixes = prefixes(&batch, &self.keys)?;
        self.parts.set(run as usize, &batch)?;
        let place = &mut self.runs[run as usize];
        (place.batch, place.prefixes, place.row) = (batch, prefixes, 0);
        self.heap.push(run);
        self.sift_up(self.heap.len() - 1)
    }

    /// Forgets the batch of the run on top of the heap.
    fn end_batch(&mut self, run: u32) -> Result<()> {
        let (runs, number) = (self.runs.len(), run as usize);
        for other in 0..runs {
            self.ties[number * runs + other] = None;
            self.ties[other * runs + number] = None;
        }
        self.runs[number].batch = Batch::new(Vec::new(), 0);
        self.parts.clear(number);
        self.missing.push(run);
        self.heap.swap_remove(0);
        self.sift_down(0)
    }

    /// Moves the run at `place` up until it comes behind the one above it.
    fn sift_up(&mut self, mut place: usize) -> Result<()> {
        while place > 0 {
            let above = (place - 1) / 2;
            if !self.comes_before(self.heap[place], self.heap[above])? {
                return Ok(());
            }
            self.heap.swap(place, above);
            place = above;
        }
        Ok(())
    }

    /// The rows just passed.
    fn take(&self, order: &[Pick]) -> Result<Batch> {
        let first = order[0];
        if order.iter().all(|it| it.part == first.part) {
            // They stand next to each other.
            let rows = &self.runs[first.part as usize].batch;
            return Batch::concat(&self.types, &[rows.slice(first.row as usize, order.len())]);
        }
        self.parts.gather(order)
    }

    /// Moves the run at `place` down until it comes before those below it.
    fn sift_down(&mut self, mut place: usize) -> Result<()> {
        loop {
            let mut first = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len()
                    && self.comes_before(self.heap[child], self.heap[first])?
                {
                    first = child;
                }
            }
            if first == place {
                return Ok(());
            }
            self.heap.swap(place, first);
            place = first;
        }
    }

    fn comes_before(&mut self, left: u32, right: u32) -> Result<bool> {
        let (a, b) = (&self.runs[left as usize], &self.runs[right as usize]);
        let (a_prefix, b_prefix) = (a.prefixes[a.row], b.prefixes[b.row]);
        if a_prefix != b_prefix {
            return Ok(a_prefix < b_prefix);
        }
        let order = match left < right {
            true => self.compare(left, right)?,
            false => self.compare(right, left)?.reverse(),
        };
        Ok(order.then(left.cmp(&right)).is_lt())
    }

    /// Compares the next rows of two runs by value; `left` is the smaller number.
    fn compare(&mut self, left: u32, right: u32) -> Result<Ordering> {
        let place = left as usize * self.runs.len() + right as usize;
        let (a, b) = (&self.runs[left as usize], &self.runs[right as usize]);
        let ties = match &mut self.ties[place] {
            Some(ties) => ties,
            empty => {
                let column = |run: &Run<R>, key: &SortKey| run.batch.column(key.column).clone();
                let tie = |key: &SortKey| Tie::new(&column(a, key), &column(b, key), *key);
                empty.insert(self.keys.iter().map(tie).collect::<Result<Vec<_>>>()?)
            }
        };
        Ok(compare_rows(ties, a.row, b.row))
    }
}

fn compare_rows(ties: &[Tie], left: usize, right: usize) -> Ordering {
    let mut orders = ties.iter().map(|it| it.compare(left, right));
    orders.find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
}

fn prefixes(batch: &Batch, keys: &[SortKey]) -> Result<Vec<u64>> {
    match keys.first() {
        Some(key) => Ok(key_prefixes(&Decoded::new(batch.column(key.column))?, *key)),
        None => Ok(vec![0; batch.rows()]),
    }
}
