//! One side of a merge join: sorted rows as they come, until they are cut off.

use std::{cmp::Ordering, collections::VecDeque, task::Waker};
use volley_error::Result;
use volley_memory::Pool;
use volley_plan::SortKey;
use volley_state::{
    BatchCharge,
    queue::QueueReader,
    sort::{MergeStep, RunMerge, RunStep, SortedRun, Tie},
};
use volley_types::Type;
use volley_vector::Batch;

/// Sorted rows.
pub(super) struct Side {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    /// `None` at the end.
    source: Option<Source>,
    /// Rows that came and were not cut off.
    pending: VecDeque<Batch>,
    charge: BatchCharge,
}

enum Source {
    One(QueueReader),
    Several(RunMerge<QueueReader>),
}

/// A key up to which rows are cut off: one row of key columns.
pub(super) struct Bound(Batch);

impl Bound {
    /// The order of the bounds of two sides with the same sort directions.
    pub(super) fn compare(&self, other: &Bound, keys: &[SortKey]) -> Result<Ordering> {
        for (index, key) in keys.iter().enumerate() {
            let tie = Tie::new(self.0.column(index), other.0.column(index), *key)?;
            let order = tie.compare(0, 0);
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    /// Whether the key at a position is null.
    pub(super) fn is_null(&self, index: usize) -> Result<bool> {
        Ok(volley_vector::Decoded::new(self.0.column(index))?.is_null(0))
    }
}

impl Side {
    /// Rows of `types` that each of `readers` gets sorted by `keys`.
    pub(super) fn new(
        types: &[Type],
        keys: Vec<SortKey>,
        mut readers: Vec<QueueReader>,
        batch_rows: usize,
        pool: &Pool,
    ) -> Side {
        let source = match readers.len() {
            1 => readers.pop().map(Source::One),
            _ => Some(Source::Several(RunMerge::new(types, &keys, readers, batch_rows))),
        };
        Side {
            types: types.to_vec(),
            keys,
            source,
            pending: VecDeque::new(),
            charge: BatchCharge::new(pool),
        }
    }

    /// The types of the columns.
    pub(super) fn types(&self) -> &[Type] {
        &self.types
    }

    /// The keys, in this side's columns.
    pub(super) fn keys(&self) -> &[SortKey] {
        &self.keys
    }

    /// Whether no rows will come any more.
    pub(super) fn has_ended(&self) -> bool {
        self.source.is_none()
    }

    /// Whether no rows wait.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// What waits: batches and bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.pending.len(), self.charge.bytes())
    }

    /// Nothing of it is needed any more.
    pub(super) fn close(&mut self) {
        self.source = None;
        self.pending.clear();
        self.charge.clear();
    }

    /// Takes the next rows, or notes the end; false when they have not come: the waker is woken
    /// then.
    pub(super) fn pull(&mut self, waker: &Waker) -> Result<bool> {
        let step = match &mut self.source {
            None => return Ok(true),
            Some(Source::One(queue)) => queue.next(waker)?,
            Some(Source::Several(merge)) => match merge.next(waker)? {
                MergeStep::Batch(batch) => RunStep::Batch(batch),
                MergeStep::Wait => RunStep::Wait,
                MergeStep::End => RunStep::End,
            },
        };
        match step {
            RunStep::Wait => return Ok(false),
            RunStep::End => self.source = None,
            RunStep::Batch(batch) => {
                self.charge.add(&batch)?;
                self.pending.push_back(batch);
            }
        }
        Ok(true)
    }

    /// The key of the last row that came; `None` when no row waits.
    pub(super) fn last(&self) -> Option<Bound> {
        let batch = self.pending.back()?;
        let columns: Vec<usize> = self.keys.iter().map(|it| it.column).collect();
        Some(Bound(batch.slice(batch.rows() - 1, 1).project(&columns)))
    }

    /// Whether a row behind the bound has come, or none will come.
    pub(super) fn is_complete(&self, bound: &Bound) -> Result<bool> {
        let Some(batch) = self.pending.back() else { return Ok(self.has_ended()) };
        let is_behind = self.compare(batch, bound)?(batch.rows() - 1).is_gt();
        Ok(is_behind || self.has_ended())
    }

    /// Whether the first row that waits has the bound's key.
    pub(super) fn begins_with(&self, bound: &Bound) -> Result<bool> {
        let Some(batch) = self.pending.front() else { return Ok(false) };
        Ok(self.compare(batch, bound)?(0).is_eq())
    }

    /// Cuts off the rows whose order to the bound `is_before` accepts.
    pub(super) fn take(
        &mut self,
        bound: &Bound,
        is_before: fn(Ordering) -> bool,
    ) -> Result<Vec<Batch>> {
        let mut taken = Vec::new();
        while let Some(batch) = self.pending.pop_front() {
            let compare = self.compare(&batch, bound)?;
            let count = partition_point(batch.rows(), |row| is_before(compare(row)));
            if count == 0 {
                self.pending.push_front(batch);
                break;
            }
            self.charge.remove(&batch);
            taken.push(batch.slice(0, count));
            if count < batch.rows() {
                let rest = batch.slice(count, batch.rows() - count);
                self.charge.add(&rest)?;
                self.pending.push_front(rest);
                break;
            }
        }
        Ok(taken)
    }

    /// Cuts off all rows that have come.
    pub(super) fn take_all(&mut self) -> Vec<Batch> {
        self.charge.clear();
        self.pending.drain(..).collect()
    }

    /// What compares rows of a batch with a bound.
    fn compare(&self, batch: &Batch, bound: &Bound) -> Result<impl Fn(usize) -> Ordering + use<>> {
        let columns = self.keys.iter().zip(bound.0.columns());
        let ties = columns.map(|(key, bound)| Tie::new(batch.column(key.column), bound, *key));
        let ties = ties.collect::<Result<Vec<_>>>()?;
        Ok(move |row: usize| {
            let mut orders = ties.iter().map(|it| it.compare(row, 0));
            orders.find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

/// The number of rows, of which the first ones satisfy a predicate, that do.
pub(super) fn partition_point(rows: usize, predicate: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        match predicate(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
