//! Sorts batches that are kept: the part that OrderBy and TopN share.
//!
//! ```text
//! SortInput    batches, charged with what sorting them will take
//!   start
//! BatchSort    keys      key columns are joined, one per step
//!              order     row numbers are sorted
//!              take      rows are gathered out of the batches, so many at a time
//! ```
//!
//! Only keys are joined: other columns stay in their batches, mostly encoded as they came.
//!
//! Each value of rows in a new order is a miss of all caches, and of the one for addresses as well
//! where there are many. So a 64th of many rows is gathered at a time, in the order in which they
//! stand in memory, and put in order in the cache:
//!
//! ```text
//! order    7 900 3 | 5 901 4 | ...        row numbers
//! block    3 4 5 7 900 901                gathered, a column per step
//! put out  7 900 3, then 5 901 4          gathered out of the block
//! ```

use super::{RowSorter, sort_bytes_per_row};
use crate::{
    BatchCharge,
    column_concat::{ColumnConcat, joined_bytes},
    compact::compact_batch,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::{Batch, Parts, Pick, Vector};

/// What is sorted, and by what.
#[derive(Clone)]
pub(crate) struct SortShape {
    pub(crate) types: Arc<[Type]>,
    pub(crate) keys: Arc<[SortKey]>,
}

/// Batches that are to be sorted.
pub(crate) struct SortInput {
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

/// Batches on their way to be put out in order.
pub(crate) struct BatchSort {
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

/// What [`BatchSort::take`] answers.
pub(crate) enum Taken {
    /// The next rows.
    Rows(Batch),
    /// They are on their way: take again.
    Progress,
    /// There are no more.
    End,
}

/// A block of sorted rows is one of so many of all: on average 8 of its values stand in a page of
/// memory.
const BLOCKS: usize = 64;

/// Fewer rows than make blocks of this many fit the last cache, column by column.
const BLOCK_ROWS_MIN: usize = if cfg!(test) { 40 } else { 128 << 10 };

/// Sorted rows; those before the position are in the block or were taken.
struct Sorted {
    parts: Parts,
    places: Places,
    sorter: RowSorter,
    position: usize,
    /// 0: rows are gathered at once.
    block_rows: usize,
    block: Block,
    block_charge: BatchCharge,
}

/// Neighbors in the order, as they stand in memory.
#[derive(Default)]
struct Block {
    picks: Vec<Pick>,
    /// The rows of all picks, as far as columns are gathered.
    columns: Vec<Vector>,
    /// Of each row in order, which of the picks it is; those before the position were taken.
    order: Vec<u32>,
    position: usize,
}

/// Where the rows are that have been numbered through all batches.
struct Places {
    /// The number of each batch's first row, and that of all rows.
    starts: Vec<u32>,
    /// The batch of every row whose number is divisible by [`Places::STRIDE`], and the last one.
    batches: Vec<u32>,
}

impl SortInput {
    /// No batches of `shape`; those to come are charged to `pool`.
    pub(crate) fn new(shape: SortShape, pool: &Pool) -> SortInput {
        SortInput {
            sort_bytes: sort_bytes_per_row(&shape.types, &shape.keys),
            shape,
            batches: Vec::new(),
            rows: 0,
            charge: BatchCharge::new(pool),
            key_bytes: 0,
            ahead: pool.promise(),
        }
    }

    /// Adds a batch.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports.
    pub(crate) fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = Parts::prepare(compact_batch(batch.loaded()?)?)?;
        let batch = self.charge.keep(batch)?;
        self.rows += batch.rows();
        let keys = self.shape.keys.iter();
        self.key_bytes += keys.map(|it| joined_bytes(batch.column(it.column))).sum::<usize>();
        self.batches.push(batch);
        self.ahead.resize(self.rows.saturating_mul(self.sort_bytes).saturating_add(self.key_bytes))
    }

    /// The rows of all batches.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The last row, if there is one.
    pub(crate) fn last_row(&self) -> Option<Batch> {
        self.batches.last().map(|it| it.slice(it.rows() - 1, 1))
    }

    /// What is sorted, and by what.
    pub(crate) fn shape(&self) -> &SortShape {
        &self.shape
    }

    /// Bytes charged.
    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes() + self.ahead.bytes()
    }

    /// Takes all batches, with what is charged for them.
    pub(crate) fn take(&mut self) -> SortInput {
        let empty = SortInput::new(self.shape.clone(), self.charge.pool());
        std::mem::replace(self, empty)
    }

    /// Adds the batches of another input, behind all others.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn append(&mut self, other: SortInput) -> Result<()> {
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
    pub(crate) fn start(mut self) -> Result<BatchSort> {
        let SortShape { types, keys } = &self.shape;
        let key_types: Vec<Type> = keys.iter().map(|it| types[it.column].clone()).collect();
        let key_batches: Vec<Batch> =
            self.batches.iter().map(|it| self.shape.keys_of(it)).collect();
        // Joining gives back what it holds of them; the batches go on to hold it.
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
    fn keys_of(&self, batch: &Batch) -> Batch {
        let columns = self.keys.iter().map(|it| batch.column(it.column).clone());
        Batch::new(columns.collect(), batch.rows())
    }
}

impl BatchSort {
    /// Does a few milliseconds of work; true when rows can be taken.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub(crate) fn step(&mut self) -> Result<bool> {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Keys(batches, mut concat) => match concat.step(&mut self.charge)? {
                None => Phase::Keys(batches, concat),
                Some(keys) => {
                    let ahead = self.ahead.redeem();
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
        for key in sorter.keep_order_alone()? {
            self.charge.remove(&Batch::new(vec![key], self.rows));
        }
        let mut parts = Parts::new(&self.shape.types, batches.len());
        for (number, batch) in batches.iter().enumerate() {
            parts.set(number, batch)?;
        }
        Ok(Sorted {
            parts,
            places: Places::new(batches),
            sorter,
            position: 0,
            block_rows: block_rows(self.rows),
            block: Block::default(),
            block_charge: BatchCharge::new(self.charge.pool()),
        })
    }

    /// At most `count` of the next rows, flat. All memory is given back with the last ones.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits; internal: rows are not sorted yet.
    pub(crate) fn take(&mut self, count: usize) -> Result<Taken> {
        let sorted = match &mut self.phase {
            Phase::Sorted(sorted) => sorted,
            Phase::Done => return Ok(Taken::End),
            _ => return Err(Error::internal("rows that are not sorted")),
        };
        let taken = sorted.take(count, self.rows, self.shape.types.len())?;
        if matches!(taken, Taken::End) {
            self.phase = Phase::Done;
            self.charge.clear();
        }
        Ok(taken)
    }

    /// Bytes charged.
    pub(crate) fn bytes(&self) -> usize {
        let sorter = match &self.phase {
            Phase::Order(_, sorter) => sorter.bytes(),
            Phase::Sorted(sorted) => sorted.bytes(),
            _ => 0,
        };
        self.charge.bytes() + self.ahead.bytes() + sorter
    }
}

impl Sorted {
    fn take(&mut self, count: usize, rows: usize, columns: usize) -> Result<Taken> {
        if self.block.columns.len() < columns && !self.block.order.is_empty() {
            self.gather_next_column()?;
            return Ok(Taken::Progress);
        }
        if self.block.position < self.block.order.len() {
            return self.block.take(count).map(Taken::Rows);
        }
        self.leave_block();
        let start = self.position;
        self.position = (start + count.max(self.block_rows)).min(rows);
        let order = self.sorter.rows(start, self.position);
        if order.is_empty() {
            return Ok(Taken::End);
        }
        if order.len() <= count {
            let picks: Vec<Pick> = order.iter().map(|it| self.places.pick(*it)).collect();
            return self.parts.gather(&picks).map(Taken::Rows);
        }
        self.block = Block::new(&order, &self.places);
        Ok(Taken::Progress)
    }

    /// Gathers a column of the block; where there is no memory for it, there are no blocks from
    /// then on.
    fn gather_next_column(&mut self) -> Result<()> {
        let block = &mut self.block;
        let column = self.parts.gather_column(block.columns.len(), &block.picks)?;
        let charged = Batch::new(vec![column.clone()], column.len());
        if self.block_charge.add(&charged).is_ok() {
            block.columns.push(column);
        } else {
            self.position -= block.order.len();
            self.block_rows = 0;
            self.leave_block();
        }
        Ok(())
    }

    fn leave_block(&mut self) {
        self.block = Block::default();
        self.block_charge.clear();
    }

    /// Bytes charged.
    fn bytes(&self) -> usize {
        self.sorter.bytes() + self.block_charge.bytes()
    }
}

/// The rows of a block of so many; 0 where blocks are of no use.
fn block_rows(rows: usize) -> usize {
    Some(rows / BLOCKS).filter(|it| *it >= BLOCK_ROWS_MIN).unwrap_or(0)
}

impl Block {
    fn new(rows: &[u32], places: &Places) -> Block {
        let numbered = (0..).zip(rows).map(|(place, row): (u64, _)| u64::from(*row) << 32 | place);
        let mut ascending: Vec<u64> = numbered.collect();
        ascending.sort_unstable();
        let mut order = vec![0; rows.len()];
        for (number, it) in (0..).zip(&ascending) {
            order[*it as u32 as usize] = number;
        }
        let picks = ascending.iter().map(|it| places.pick((*it >> 32) as u32)).collect();
        Block { picks, columns: Vec::new(), order, position: 0 }
    }

    fn take(&mut self, count: usize) -> Result<Batch> {
        let end = (self.position + count).min(self.order.len());
        let order = &self.order[self.position..end];
        self.position = end;
        let columns = self.columns.iter().map(|it| it.gather(order));
        Ok(Batch::new(columns.collect::<Result<_>>()?, order.len()))
    }
}

impl Places {
    const STRIDE: usize = 1024;

    fn new(batches: &[Batch]) -> Places {
        let (mut starts, mut strides) = (vec![0], Vec::new());
        let mut rows = 0;
        for (number, batch) in batches.iter().enumerate() {
            rows += batch.rows();
            starts.push(rows as u32);
            strides.resize(rows.div_ceil(Places::STRIDE), number as u32);
        }
        strides.push(batches.len().saturating_sub(1) as u32);
        Places { starts, batches: strides }
    }

    #[inline]
    fn pick(&self, row: u32) -> Pick {
        let stride = row as usize / Places::STRIDE;
        let (first, last) = (self.batches[stride] as usize, self.batches[stride + 1] as usize);
        let later = &self.starts[first + 1..=last];
        let part = match later {
            [] => first,
            [start] => first + usize::from(row >= *start),
            _ => first + later.partition_point(|it| *it <= row),
        };
        Pick { part: part as u32, row: row - self.starts[part] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use volley_memory::Pool;
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
        let mut random = Random::new(5);
        let pool = Pool::root("test", None);
        for data_type in Random::key_types() {
            let types = [data_type, Type::TinyInt, Type::BigInt];
            let key = |column| SortKey { column, descending: column == 0, nulls_first: false };
            let shape = SortShape { types: types.clone().into(), keys: [key(1), key(2)].into() };
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

    #[test]
    fn rows_are_found_in_batches_of_any_size() {
        for sizes in [&[1, 2000, 1, 1, 1, 1021, 1024, 5, 5000, 3][..], &[1024, 1024], &[1], &[700]]
        {
            let batch = |it: &usize| {
                let numbers: Vec<i64> = (0..*it as i64).collect();
                Batch::new(vec![Vector::native::<i64>(Type::BigInt, numbers, None)], *it)
            };
            let places = Places::new(&sizes.iter().map(batch).collect::<Vec<_>>());
            let mut row = 0;
            for (part, size) in sizes.iter().enumerate() {
                for at in 0..*size as u32 {
                    assert_eq!(places.pick(row), Pick { part: part as u32, row: at }, "{row}");
                    row += 1;
                }
            }
        }
    }
}
