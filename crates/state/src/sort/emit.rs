//! Emits sorted rows of batches that were not concatenated.
//!
//! Each value of rows in a new order misses all caches, and with many rows also the TLB. Therefore
//! 1/64 of the rows is gathered at a time in memory order, and then permuted within the cache:
//!
//! ```text
//! order    7 900 3 | 5 901 4 | ...        row numbers
//! block    3 4 5 7 900 901                gathered, a column per step
//! emit     7 900 3, then 5 901 4          gathered out of the block
//! ```

use super::{RowSorter, SortShape};
use crate::BatchCharge;
use volley_error::Result;
use volley_memory::Pool;
use volley_vector::{Batch, Parts, Pick, Vector};

/// The next sorted rows.
pub enum Taken {
    /// The next rows.
    Rows(Batch),
    /// They are on their way: take again.
    Progress,
    /// There are no more.
    End,
}

/// The number of blocks of sorted rows: on average 8 values of a block are in a page of memory.
const BLOCKS: usize = 64;

/// Sorted rows; those before the position are in the block or were taken.
pub(super) struct Sorted {
    rows: usize,
    columns: usize,
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

impl Sorted {
    /// Rows of `batches`, all of columns of `types`, in the order of a sorter that is done. Blocks
    /// are charged to `pool`.
    ///
    /// # Errors
    ///
    /// Internal: values of another layout.
    pub(super) fn new(
        shape: &SortShape,
        batches: &[Batch],
        sorter: RowSorter,
        pool: &Pool,
    ) -> Result<Sorted> {
        let mut parts = Parts::new(&shape.types, batches.len());
        for (number, batch) in batches.iter().enumerate() {
            parts.set(number, batch)?;
        }
        let rows = batches.iter().map(Batch::rows).sum();
        Ok(Sorted {
            rows,
            columns: shape.types.len(),
            parts,
            places: Places::new(batches),
            sorter,
            position: 0,
            block_rows: block_rows(rows, shape.sizes.sort_block_rows),
            block: Block::default(),
            block_charge: BatchCharge::new(pool),
        })
    }

    /// At most `count` of the next rows, flat.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits.
    pub(super) fn take(&mut self, count: usize) -> Result<Taken> {
        if self.block.columns.len() < self.columns && !self.block.order.is_empty() {
            self.gather_next_column()?;
            return Ok(Taken::Progress);
        }
        if self.block.position < self.block.order.len() {
            return self.block.take(count).map(Taken::Rows);
        }
        self.leave_block();
        let start = self.position;
        self.position = (start + count.max(self.block_rows)).min(self.rows);
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

    /// Bytes charged beside the batches.
    pub(super) fn bytes(&self) -> usize {
        self.sorter.bytes() + self.block_charge.bytes()
    }
}

/// The rows of a block for this number of rows, at least `least`; 0 if blocks do not pay.
fn block_rows(rows: usize, least: usize) -> usize {
    Some(rows / BLOCKS).filter(|it| *it >= least).unwrap_or(0)
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
    use volley_types::Type;

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
