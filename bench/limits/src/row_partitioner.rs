//! Partitioning row by row: the plain way, with a builder for every column of every partition.

use volley::{Batch, Decoded, Result, Type, Vector};
use volley_kernels::hash::{NULL_HASH, hash_bits, hash_bytes};
use volley_types::Native;
use volley_vector::{BooleanBuffer, NullBuffer, StringBuilder};

/// Splits batches by the hash of their first column.
pub struct RowPartitioner {
    batch_rows: usize,
    /// Made with the first batch.
    partitions: Vec<Partition>,
    partitions_wanted: usize,
}

/// The rows of a partition that were not emitted.
#[derive(Default)]
struct Partition {
    rows: usize,
    builders: Vec<Box<dyn Builder>>,
}

/// A column to which values are added one at a time.
trait Builder {
    /// Adds row `row` of a column of the same type.
    fn append(&mut self, column: &Decoded<'_>, row: usize);

    /// The values so far; none are left.
    fn finish(&mut self) -> Vector;
}

impl RowPartitioner {
    /// A partitioner whose batches have `batch_rows` rows, except the last ones.
    pub fn new(partitions: usize, batch_rows: usize) -> RowPartitioner {
        RowPartitioner { batch_rows, partitions: Vec::new(), partitions_wanted: partitions }
    }

    /// Adds the rows of a batch; returns the batches that became full.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn split(&mut self, batch: &Batch) -> Result<Vec<Batch>> {
        if self.partitions.is_empty() {
            let partition = || Partition { rows: 0, builders: builders(batch) };
            self.partitions = (0..self.partitions_wanted).map(|_| partition()).collect();
        }
        let columns = batch.columns().iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let mut full = Vec::new();
        for row in 0..batch.rows() {
            let target = hash(&columns[0], row) % self.partitions.len() as u64;
            let partition = &mut self.partitions[target as usize];
            for (builder, column) in partition.builders.iter_mut().zip(&columns) {
                builder.append(column, row);
            }
            partition.rows += 1;
            if partition.rows == self.batch_rows {
                full.push(partition.finish());
            }
        }
        Ok(full)
    }

    /// The batches that are not full.
    pub fn finish(&mut self) -> Vec<Batch> {
        let partitions = self.partitions.iter_mut();
        partitions.filter(|it| it.rows > 0).map(Partition::finish).collect()
    }
}

impl Partition {
    fn finish(&mut self) -> Batch {
        let columns = self.builders.iter_mut().map(|it| it.finish()).collect();
        Batch::new(columns, std::mem::take(&mut self.rows))
    }
}

fn hash(key: &Decoded<'_>, row: usize) -> u64 {
    match key.data_type() {
        _ if key.is_null(row) => NULL_HASH,
        Type::BigInt => hash_bits(key.native::<i64>()[key.index(row)].cast_unsigned()),
        _ => hash_bytes(key.bytes(row)),
    }
}

fn builders(batch: &Batch) -> Vec<Box<dyn Builder>> {
    let builder = |column: &Vector| -> Box<dyn Builder> {
        match column.data_type() {
            Type::Boolean => Box::<Booleans>::default(),
            Type::Integer | Type::Date => Box::new(Numbers::<i32>::new(column)),
            Type::Double => Box::new(Numbers::<f64>::new(column)),
            Type::Varchar => Box::<Texts>::default(),
            _ => Box::new(Numbers::<i64>::new(column)),
        }
    };
    batch.columns().iter().map(builder).collect()
}

/// Whether rows are valid.
type Valid = Vec<bool>;

fn take_nulls(valid: &mut Valid) -> Option<NullBuffer> {
    let bits: BooleanBuffer = valid.drain(..).collect();
    Some(bits.into())
}

struct Numbers<T> {
    data_type: Type,
    values: Vec<T>,
    valid: Valid,
}

impl<T> Numbers<T> {
    fn new(column: &Vector) -> Numbers<T> {
        Numbers { data_type: column.data_type().clone(), values: Vec::new(), valid: Vec::new() }
    }
}

impl<T: Native> Builder for Numbers<T> {
    fn append(&mut self, column: &Decoded<'_>, row: usize) {
        let is_null = column.is_null(row);
        let value = if is_null { T::default() } else { column.native::<T>()[column.index(row)] };
        self.values.push(value);
        self.valid.push(!is_null);
    }

    fn finish(&mut self) -> Vector {
        let room = Vec::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, room);
        Vector::native::<T>(self.data_type.clone(), values, take_nulls(&mut self.valid))
    }
}

#[derive(Default)]
struct Booleans {
    values: Vec<bool>,
    valid: Valid,
}

impl Builder for Booleans {
    fn append(&mut self, column: &Decoded<'_>, row: usize) {
        let is_null = column.is_null(row);
        self.values.push(!is_null && column.boolean(row));
        self.valid.push(!is_null);
    }

    fn finish(&mut self) -> Vector {
        Vector::boolean(self.values.drain(..).collect(), take_nulls(&mut self.valid))
    }
}

#[derive(Default)]
struct Texts {
    values: StringBuilder,
    valid: Valid,
}

impl Builder for Texts {
    fn append(&mut self, column: &Decoded<'_>, row: usize) {
        let is_null = column.is_null(row);
        self.values.push(if is_null { b"" } else { column.bytes(row) });
        self.valid.push(!is_null);
    }

    fn finish(&mut self) -> Vector {
        let room = StringBuilder::with_capacity(self.values.len());
        let values = std::mem::replace(&mut self.values, room).finish();
        Vector::strings(Type::Varchar, values, take_nulls(&mut self.valid))
    }
}
