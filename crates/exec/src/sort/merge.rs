//! Merges sorted runs: the sub-operator of sorts that do not fit in memory.
//!
//! ```text
//! heap      the runs that have rows, the one whose next row comes first on top
//! compare   a prefix of the first key (`key_prefixes`), then the keys by value, then the runs:
//!           rows with equal keys keep the order of the runs
//! put out   what each run gives to a batch is a slice; slices are joined and put in order
//! ```

use super::{Tie, key_prefixes};
use crate::spill::SpillReader;
use std::cmp::Ordering;
use volley_error::Result;
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::{Batch, Decoded};

/// Rows of sorted runs in order.
pub(crate) struct RunMerge {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    runs: Vec<Run>,
    /// Runs that have rows; each comes before those at twice its place and one or two on.
    heap: Vec<u32>,
    /// What compares the current batches of two runs, the first of which is the smaller number;
    /// made when it is first needed. At that number times the number of runs, plus the other.
    ties: Vec<Option<Vec<Tie>>>,
}

/// A run, and where it stands.
struct Run {
    reader: SpillReader,
    batch: Batch,
    /// Of the first key in `batch`.
    prefixes: Vec<u64>,
    row: usize,
}

impl RunMerge {
    /// Merges runs of rows of `types` that are each sorted by `keys`, into batches of at most
    /// `batch_rows`.
    ///
    /// # Errors
    ///
    /// Those of reading the runs.
    pub(crate) fn new(
        types: &[Type],
        keys: &[SortKey],
        readers: Vec<SpillReader>,
        batch_rows: usize,
    ) -> Result<RunMerge> {
        let mut merge = RunMerge {
            types: types.to_vec(),
            keys: keys.to_vec(),
            batch_rows,
            runs: Vec::with_capacity(readers.len()),
            heap: Vec::with_capacity(readers.len()),
            ties: Vec::new(),
        };
        for mut reader in readers {
            let Some(batch) = reader.next()? else { continue };
            let prefixes = prefixes(&batch, keys)?;
            merge.runs.push(Run { reader, batch, prefixes, row: 0 });
        }
        merge.ties.resize_with(merge.runs.len() * merge.runs.len(), || None);
        merge.heap = (0..merge.runs.len() as u32).collect();
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(place)?;
        }
        Ok(merge)
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    ///
    /// Those of reading the runs; out of memory.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>> {
        let mut order = Vec::with_capacity(self.batch_rows);
        let mut is_exhausted = false;
        while order.len() < self.batch_rows && !is_exhausted {
            let Some(least) = self.heap.first().copied() else { break };
            order.push(least);
            let run = &mut self.runs[least as usize];
            run.row += 1;
            is_exhausted = run.row == run.batch.rows();
            if !is_exhausted {
                self.sift_down(0)?;
            }
        }
        if order.is_empty() {
            return Ok(None);
        }
        let batch = self.take(&order)?;
        if is_exhausted {
            self.refill()?;
        }
        Ok(Some(batch))
    }

    /// The rows just passed, of the runs in `order`.
    fn take(&self, order: &[u32]) -> Result<Batch> {
        let mut counts = vec![0u32; self.runs.len()];
        order.iter().for_each(|it| counts[*it as usize] += 1);
        let mut parts = Vec::new();
        let mut places = vec![0u32; self.runs.len()];
        let mut rows = 0;
        for ((run, count), place) in self.runs.iter().zip(&counts).zip(&mut places) {
            if *count > 0 {
                parts.push(run.batch.slice(run.row - *count as usize, *count as usize));
            }
            *place = rows;
            rows += count;
        }
        let joined = Batch::concat(&self.types, &parts)?;
        if parts.len() == 1 {
            return Ok(joined);
        }
        let positions: Vec<u32> = order
            .iter()
            .map(|run| {
                let place = &mut places[*run as usize];
                *place += 1;
                *place - 1
            })
            .collect();
        joined.gather(&positions)
    }

    /// Reads on in the run on top of the heap.
    fn refill(&mut self) -> Result<()> {
        let top = self.heap[0];
        let (runs, number) = (self.runs.len(), top as usize);
        for other in 0..runs {
            self.ties[number * runs + other] = None;
            self.ties[other * runs + number] = None;
        }
        let run = &mut self.runs[top as usize];
        match run.reader.next()? {
            Some(batch) => {
                run.prefixes = prefixes(&batch, &self.keys)?;
                (run.batch, run.row) = (batch, 0);
            }
            None => {
                run.batch = Batch::new(Vec::new(), 0);
                self.heap.swap_remove(0);
            }
        }
        self.sift_down(0)
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
                let column = |run: &Run, key: &SortKey| run.batch.column(key.column).clone();
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
