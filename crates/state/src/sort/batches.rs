//! Sorts kept batches: the code that OrderBy and TopN share.
//!
//! ```text
//! SortInput    batches, with the memory for sorting them reserved
//!   start
//! BatchSort    keys      key columns are concatenated, one per step
//!              order     row numbers are sorted
//!              take      rows are gathered out of the batches, a number at a time
//! ```
//!
//! Only keys are concatenated: other columns stay in their batches, mostly with their encodings.

use super::{
    RowSorter,
    emit::{Sorted, Taken},
    sort_bytes_per_row,
};
use crate::{
    BatchCharge, StateSizes,
    column_concat::{ColumnConcat, joined_bytes},
    compact::compact_batch,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use volley_types::{SortKey, Type};
use volley_vector::{Batch, Parts, Vector};

/// What is sorted, and by what.
#[derive(Clone)]
pub struct SortShape {
    /// The types of all columns.
    pub types: Arc<[Type]>,
    /// Most significant first.
    pub keys: Arc<[SortKey]>,
    /// Where the sort works in another way.
    pub sizes: StateSizes,
}

/// Batches that are to be sorted.
pub struct SortInput {
    shape: SortShape,
    batches: Vec<Batch>,
    rows: usize,
    charge: BatchCharge,
    /// What the joined keys will take.
    key_bytes: usize,
    /// What the sort will take of a row beside them.
    sort_bytes: usize,
    /// Charged for that.
    ahead: Reservation,
}

/// Batches that are emitted in order.
pub struct BatchSort {
    shape: SortShape,
    rows: usize,
    charge: BatchCharge,
    ahead: Reservation,
    phase: Phase,
}

enum Phase {
    Keys(Vec<Batch>, ColumnConcat),
    Order(Vec<Batch>, RowSorter),
    Sorted(Sorted),
    Done,
}

impl SortInput {
    /// No batches of `shape`; those to come are charged to `pool`.
    pub fn new(shape: SortShape, pool: &Pool) -> SortInput {
        SortInput {
            sort_bytes: sort_bytes_per_row(&shape.types, &shape.keys),
            shape,
            batches: Vec::new(),
            rows: 0,
            charge: BatchCharge::new(pool),
            key_bytes: 0,
            ahead: pool.reserve_ahead(),
        }
    }

    /// Adds a batch.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = Parts::prepare(compact_batch(batch.loaded()?)?)?;
        let batch = self.charge.keep(batch)?;
        self.rows += batch.rows();
        let keys = self.shape.keys.iter();
        self.key_bytes += keys.map(|it| joined_bytes(batch.column(it.column))).sum::<usize>();
        self.batches.push(batch);
        self.ahead.resize(self.rows.saturating_mul(self.sort_bytes).saturating_add(self.key_bytes))
    }

    /// The rows of all batches.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The last row, if there is one.
    pub fn last_row(&self) -> Option<Batch> {
        self.batches.last().map(|it| it.slice(it.rows() - 1, 1))
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.charge.bytes() + self.ahead.bytes()
    }

    /// Takes all batches, with what is charged for them.
    pub fn take(&mut self) -> SortInput {
        let empty = SortInput::new(self.shape.clone(), self.charge.pool());
        std::mem::replace(self, empty)
    }

    /// Adds the batches of another input, behind all others.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn append(&mut self, other: SortInput) -> Result<()> {
        if self.rows == 0 {
            *self = other;
            return Ok(());
        }
        let SortInput { batches, mut charge, mut ahead, .. } = other;
        ahead.clear();
        charge.clear();
        batches.into_iter().try_for_each(|it| self.push(it))
    }

    /// Begins to sort.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn start(mut self) -> Result<BatchSort> {
        let SortShape { types, keys, .. } = &self.shape;
        let key_types: Vec<Type> = keys.iter().map(|it| types[it.column].clone()).collect();
        let keys_of = |it: &Batch| Batch::new(self.shape.key_columns(it), it.rows());
        let key_batches: Vec<Batch> = self.batches.iter().map(keys_of).collect();
        // Concatenating releases its share; the batches keep theirs.
        key_batches.iter().try_for_each(|it| self.charge.add(it))?;
        let concat = ColumnConcat::new(&key_types, key_batches);
        self.ahead.resize(self.rows.saturating_mul(self.sort_bytes))?;
        Ok(BatchSort {
            shape: self.shape,
            rows: self.rows,
            charge: self.charge,
            ahead: self.ahead,
            phase: Phase::Keys(self.batches, concat),
        })
    }
}

impl SortShape {
    /// The key columns of `batch`, most significant first.
    pub fn key_columns(&self, batch: &Batch) -> Vec<Vector> {
        self.keys.iter().map(|it| batch.column(it.column).clone()).collect()
    }
}

impl BatchSort {
    /// Does a few milliseconds of work; true when rows can be taken.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub fn step(&mut self) -> Result<bool> {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Keys(batches, mut concat) => match concat.step(&mut self.charge)? {
                None => Phase::Keys(batches, concat),
                Some(keys) => {
                    let ahead = self.ahead.commit();
                    let columns = keys.into_columns();
                    let sorter = RowSorter::new(columns, self.rows, &self.shape.keys, ahead)?;
                    Phase::Order(batches, sorter)
                }
            },
            Phase::Order(batches, mut sorter) => match sorter.step()? {
                false => Phase::Order(batches, sorter),
                true => Phase::Sorted(self.sorted(&batches, sorter)?),
            },
            sorted => {
                self.phase = sorted;
                return Ok(true);
            }
        };
        Ok(false)
    }

    fn sorted(&mut self, batches: &[Batch], mut sorter: RowSorter) -> Result<Sorted> {
        for key in sorter.keep_order_alone() {
            self.charge.remove(&Batch::new(vec![key], self.rows));
        }
        Sorted::new(&self.shape, batches, sorter, self.charge.pool())
    }

    /// At most `count` of the next rows, flat. All memory is released with the last ones.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits; internal: rows are not sorted yet.
    pub fn take(&mut self, count: usize) -> Result<Taken> {
        let sorted = match &mut self.phase {
            Phase::Sorted(sorted) => sorted,
            Phase::Done => return Ok(Taken::End),
            _ => return Err(Error::internal("rows that are not sorted")),
        };
        let taken = sorted.take(count)?;
        if matches!(taken, Taken::End) {
            self.phase = Phase::Done;
            self.charge.clear();
        }
        Ok(taken)
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        let sorter = match &self.phase {
            Phase::Order(_, sorter) => sorter.bytes(),
            Phase::Sorted(sorted) => sorted.bytes(),
            _ => 0,
        };
        self.charge.bytes() + self.ahead.bytes() + sorter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_memory::Pool;
    use volley_testkit::RandomColumns;
    use volley_types::Value;

    /// All rows in order, taken by `count` with nearly so much memory left, and how often there
    /// was only progress.
    fn sorted(
        shape: &SortShape,
        batches: &[Batch],
        (count, left): (usize, usize),
    ) -> (Vec<Batch>, usize) {
        const LIMIT: usize = 64 << 20;
        let pool = &Pool::root("test", Some(LIMIT));
        let mut input = SortInput::new(shape.clone(), pool);
        batches.iter().try_for_each(|it| input.push(it.clone())).unwrap();
        let mut sort = input.start().unwrap();
        while !sort.step().unwrap() {}
        let mut others = pool.reservation();
        others.grow((LIMIT - left).saturating_sub(pool.stats().bytes)).unwrap();
        let (mut rows, mut progress) = (Vec::new(), 0);
        loop {
            match sort.take(count).unwrap() {
                Taken::Rows(batch) => rows.push(batch),
                Taken::Progress => progress += 1,
                Taken::End => break,
            }
        }
        drop(others);
        assert_eq!(pool.stats().bytes, 0);
        (rows, progress)
    }

    fn text(columns: &[Value]) -> String {
        format!("{columns:?}")
    }

    #[test]
    fn rows_are_gathered_as_they_are_from_joined_batches() {
        let mut random = RandomColumns::new(5);
        let pool = Pool::root("test", None);
        for data_type in RandomColumns::key_types() {
            let types = [data_type, Type::TinyInt, Type::BigInt];
            let key = |column| SortKey { column, descending: column == 0, nulls_first: false };
            let shape = SortShape {
                types: types.clone().into(),
                keys: [key(1), key(2)].into(),
                sizes: StateSizes::SMALL,
            };
            let batches = random.batches(&types, 4000, 90);
            let joined = Batch::concat(&types, &batches).unwrap();
            let keys = vec![joined.column(1).clone(), joined.column(2).clone()];
            let mut sorter =
                RowSorter::new(keys, joined.rows(), &shape.keys, pool.reservation()).unwrap();
            while !sorter.step().unwrap() {}
            let expected = joined.gather(&sorter.rows(0, joined.rows())).unwrap();
            drop(sorter);
            // In blocks, without, and where there is no memory for a block.
            let much = 32 << 20;
            for (count, left, steps) in
                [(7, much, 64 * 4), (7, 0, 2), (1024, much, 0), (1 << 20, much, 0)]
            {
                let (rows, progress) = sorted(&shape, &batches, (count, left));
                assert!((steps..=steps + 4).contains(&progress), "{count}: {progress}");
                assert!(rows.iter().all(|it| it.rows() <= count));
                let found = Batch::concat(&types, &rows).unwrap();
                for (found, expected) in found.columns().iter().zip(expected.columns()) {
                    let (found, expected) = (found.to_values(), expected.to_values());
                    assert!(text(&found.unwrap()) == text(&expected.unwrap()), "{types:?}");
                }
            }
        }
    }
}
