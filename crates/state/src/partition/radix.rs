//! Rows in the order of partitions, by bits of the hash of their keys.
//!
//! ```text
//! block of rows   hashes ── partitions ── counting sort ── the place of each row among all
//! column          values of a block ── scatter ── the column of all partitions
//! ```
//!
//! Columns of fixed width without nulls are written to their place at once, block by block, so that
//! a block's values and places stay in the cache. Others are joined and gathered.

use arrow_buffer::ArrowNativeType;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_kernels::scatter::{count_lanes, place_rows, scatter};
use volley_types::{Type, match_width};
use volley_vector::{Batch, Buffer, Values, Vector, hash_columns};

/// An odd number: the multiplier of hashes of partitions, another one than those of exchanges.
const PARTITION_MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rows whose values are scattered at a time.
const BLOCK_ROWS: usize = 8192;

/// Which partition a row is in: some bits of the hash of its keys.
#[derive(Clone, Copy, Debug)]
pub struct RadixFunction<'a> {
    /// The key columns.
    pub keys: &'a [usize],
    /// How many of the highest bits are left out: those of partitions around these.
    pub skipped_bits: u8,
    /// How many bits count: there are 2 to the power of this many partitions, at most 2^32.
    pub bits: u8,
}

impl RadixFunction<'_> {
    /// Appends the partition of each row of a loaded batch; `hashes` is scratch.
    ///
    /// # Errors
    ///
    /// Unsupported: keys without a hash.
    pub fn append(&self, batch: &Batch, hashes: &mut Vec<u64>, out: &mut Vec<u32>) -> Result<()> {
        if self.bits == 0 {
            out.resize(out.len() + batch.rows(), 0);
            return Ok(());
        }
        let keys: Vec<Vector> = self.keys.iter().map(|it| batch.column(*it).clone()).collect();
        hashes.resize(batch.rows(), 0);
        hash_columns(&keys, hashes)?;
        let (skipped, bits) = (u32::from(self.skipped_bits), u32::from(self.bits));
        let dropped = u64::BITS.saturating_sub(bits);
        let mixed = |hash: &u64| hash.wrapping_mul(PARTITION_MIX).wrapping_shl(skipped) >> dropped;
        out.extend(hashes.iter().map(|it| mixed(it) as u32));
        Ok(())
    }
}

/// A counting sort of rows by partition; rows of a partition keep their order.
#[derive(Debug)]
pub struct RadixSort {
    /// The partition of each row.
    partitions: Vec<u32>,
    /// Where each partition begins; at last, the number of rows.
    starts: Vec<u32>,
}

impl RadixSort {
    /// Of the rows of loaded batches, fewer than 2^32.
    ///
    /// # Errors
    ///
    /// As [`RadixFunction::append`].
    pub fn new(function: &RadixFunction<'_>, batches: &[Batch]) -> Result<RadixSort> {
        let rows = batches.iter().map(Batch::rows).sum();
        let (mut partitions, mut hashes) = (Vec::with_capacity(rows), Vec::new());
        for batch in batches {
            let mut row = 0;
            while row < batch.rows() {
                let block = batch.slice(row, BLOCK_ROWS.min(batch.rows() - row));
                function.append(&block, &mut hashes, &mut partitions)?;
                row += block.rows();
            }
        }
        Ok(RadixSort::of_partitions(partitions, 1 << function.bits))
    }

    /// Of rows whose partitions, below `count`, are known.
    pub fn of_partitions(partitions: Vec<u32>, count: usize) -> RadixSort {
        let mut counts = vec![0u32; count];
        count_lanes(&partitions, &mut counts);
        let mut starts = vec![0u32];
        for count in counts {
            starts.push(starts.last().copied().unwrap_or(0) + count);
        }
        RadixSort { partitions, starts }
    }

    /// The rows of each partition, by their positions in the sorted rows.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|it| it[0] as usize..it[1] as usize)
    }

    /// The rows in order, if all columns are of fixed width, flat and without nulls. `batches` are
    /// those of [`RadixSort::new`].
    ///
    /// # Errors
    ///
    /// Internal: columns of other types.
    pub fn scattered(&self, types: &[Type], batches: &[Batch]) -> Result<Option<Batch>> {
        let is_plain = |it: &Vector| {
            let has_nulls = it.null_buffer().is_some();
            !has_nulls && it.flat_values().is_some_and(|it| it.fixed_bytes().is_some())
        };
        let is_scattered = batches.iter().all(|it| it.columns().iter().all(is_plain));
        if batches.is_empty() || !is_scattered {
            return Ok(None);
        }
        let rows = self.partitions.len();
        let columns = types.iter().map(|it| scattered_column(it, rows));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        let (mut next, mut places) = (self.starts.clone(), Vec::new());
        let mut partitions = self.partitions.as_slice();
        for batch in batches {
            for start in (0..batch.rows()).step_by(BLOCK_ROWS) {
                let end = batch.rows().min(start + BLOCK_ROWS);
                let (block, rest) = partitions.split_at(end - start);
                partitions = rest;
                places.resize(block.len(), 0);
                place_rows(block, &mut next, &mut places);
                for (column, values) in columns.iter_mut().zip(batch.columns()) {
                    column.scatter(values, start, &places)?;
                }
            }
        }
        let columns = columns.into_iter().map(|it| it.finish()).collect::<Result<_>>()?;
        Ok(Some(Batch::new(columns, rows)))
    }

    /// The same for any columns; `all` has the rows of all batches.
    ///
    /// # Errors
    ///
    /// As [`Batch::gather`].
    pub fn gathered(&self, all: &Batch) -> Result<Batch> {
        let mut next = self.starts.clone();
        let mut order = vec![0_u32; self.partitions.len()];
        for (row, partition) in self.partitions.iter().enumerate() {
            let place = &mut next[*partition as usize];
            order[*place as usize] = row as u32;
            *place += 1;
        }
        all.gather(&order)
    }
}

/// A column whose values are written to their places.
trait ScatteredColumn {
    /// Writes the values of a column from row `start` on.
    fn scatter(&mut self, column: &Vector, start: usize, places: &[u32]) -> Result<()>;

    fn finish(self: Box<Self>) -> Result<Vector>;
}

/// Values of one width.
struct WidthColumn<T> {
    data_type: Type,
    out: Vec<T>,
}

impl<T: ArrowNativeType> ScatteredColumn for WidthColumn<T> {
    fn scatter(&mut self, column: &Vector, start: usize, places: &[u32]) -> Result<()> {
        let values = column.flat_values().and_then(Values::width::<T>);
        let values = values.and_then(|it| it.get(start..start + places.len()));
        scatter(values.ok_or_else(other_layout)?, places, &mut self.out);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vector> {
        let values = Buffer::from_vec(self.out);
        let values = Values::from_fixed_bytes(self.data_type.physical(), values);
        Ok(Vector::flat(self.data_type, values.ok_or_else(other_layout)?, None))
    }
}

fn scattered_column(data_type: &Type, rows: usize) -> Result<Box<dyn ScatteredColumn>> {
    let data_type = data_type.clone();
    match_width!(data_type.physical(), T => {
        Ok(Box::new(WidthColumn { data_type, out: vec![T::default(); rows] }))
    }, else Err(other_layout()))
}

fn other_layout() -> Error {
    Error::internal("values of another layout than their column's type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(bits: u8) -> RadixFunction<'static> {
        RadixFunction { keys: &[0], skipped_bits: 2, bits }
    }

    fn batch(first: i64, rows: i64) -> Batch {
        let keys: Vec<i64> = (first..first + rows).collect();
        let keys = Vector::native::<i64>(Type::BigInt, keys, None);
        let dates: Vec<i32> = (0..rows).map(|it| it as i32).collect();
        let dates = Vector::native::<i32>(Type::Date, dates, None);
        Batch::new(vec![keys, dates], rows as usize)
    }

    #[test]
    fn scattered_rows_are_those_that_are_gathered() -> Result<()> {
        let types = [Type::BigInt, Type::Date];
        for batches in [vec![batch(0, 0)], vec![batch(5, 1)], vec![batch(0, 20_000), batch(-7, 3)]]
        {
            for bits in [0, 1, 10] {
                let sort = RadixSort::new(&function(bits), &batches)?;
                let all = Batch::concat(&types, &batches)?;
                let gathered = sort.gathered(&all)?;
                let scattered = sort.scattered(&types, &batches)?.expect("columns are plain");
                for (one, other) in scattered.columns().iter().zip(gathered.columns()) {
                    assert_eq!(one.to_values()?, other.to_values()?);
                }
                assert_eq!(*sort.starts.last().expect("it has one"), all.rows() as u32);
            }
        }
        Ok(())
    }

    #[test]
    fn columns_with_nulls_and_texts_are_gathered() -> Result<()> {
        for column in [Vector::nulls(Type::BigInt, 3), Vector::from_values(Type::Varchar, &[])] {
            let (rows, types) = (column.len(), [column.data_type().clone()]);
            let batches = [Batch::new(vec![column], rows)];
            let sort = RadixSort::new(&function(3), &batches)?;
            assert!(sort.scattered(&types, &batches)?.is_none());
        }
        let sort = RadixSort::new(&function(3), &[])?;
        assert!(sort.scattered(&[Type::Varchar], &[])?.is_none());
        Ok(())
    }
}
