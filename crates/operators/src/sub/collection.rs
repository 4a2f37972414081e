//! Collections: rows of a batch as values.

use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_state::charge::BatchCharge;
use volley_types::{Schema, Type};
use volley_vector::{Batch, Decoded, Nested, NullBuffer, Values, Vector};

/// Rows that are collected until the input ends.
pub(super) struct CollectedRows {
    types: Vec<Type>,
    batches: Vec<Batch>,
    charge: BatchCharge,
}

impl CollectedRows {
    /// Rows with these columns, charged to `pool`.
    pub(super) fn new(types: Vec<Type>, pool: &Pool) -> CollectedRows {
        CollectedRows { types, batches: Vec::new(), charge: BatchCharge::new(pool) }
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// Out of memory; what a loader reports.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = self.charge.keep(batch.loaded()?)?;
        self.batches.push(batch);
        Ok(())
    }

    /// The rows as they came.
    ///
    /// # Errors
    ///
    /// More rows than a collection can have.
    pub(super) fn batches(&self) -> Result<&[Batch]> {
        let rows: usize = self.batches.iter().map(Batch::rows).sum();
        match i32::try_from(rows) {
            Ok(_) => Ok(&self.batches),
            Err(_) => Err(Error::unsupported(format!("a collection of {rows} rows"))),
        }
    }

    /// Charges other rows in the place of these, which are dropped.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn replace(&mut self, rows: &Batch) -> Result<()> {
        self.charge.add(rows)?;
        self.batches.clear();
        self.charge.clear();
        self.charge.add(rows)
    }

    /// All rows in one batch. They stay charged until this is dropped.
    ///
    /// # Errors
    ///
    /// Out of memory; more rows than a collection can have.
    pub(super) fn take(&mut self) -> Result<Batch> {
        self.batches()?;
        let batches = std::mem::take(&mut self.batches);
        let all = match batches.as_slice() {
            [] => empty(&self.types),
            [one] => one.clone(),
            several => Batch::concat(&self.types, several)?,
        };
        self.charge.clear();
        self.charge.add(&all)?;
        Ok(all)
    }
}

fn empty(types: &[Type]) -> Batch {
    Batch::new(types.iter().map(|it| Vector::nulls(it.clone(), 0)).collect(), 0)
}

/// One collection per range of rows of `batch`, whose columns are `schema`.
pub(super) fn collections(batch: Batch, schema: &Schema, ranges: &[Range<usize>]) -> Vector {
    let element = Type::row(schema.fields.iter().cloned());
    let rows = batch.rows();
    let values = Values::Row { children: batch.into_columns().into(), len: rows };
    let elements = Arc::new(Vector::flat(element.clone(), values, None));
    // Ranges are those of at most `i32::MAX` rows.
    let offsets: Vec<i32> = ranges.iter().map(|it| it.start as i32).collect();
    let sizes: Vec<i32> = ranges.iter().map(|it| it.len() as i32).collect();
    let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
    Vector::flat(Type::array(element), Values::Array(nested), None)
}

/// The rows of the collection at `row`; a batch without rows for a null.
///
/// # Errors
///
/// Internal: not a collection.
pub(super) fn rows_of(collections: &Vector, row: usize, types: &[Type]) -> Result<Batch> {
    let one = collections.slice(row, 1).loaded()?;
    let decoded = Decoded::new(&one)?;
    if decoded.is_null(0) {
        return Ok(empty(types));
    }
    let Values::Array(nested) = decoded.values() else {
        return match decoded.values() {
            Values::Null(_) => Ok(empty(types)),
            _ => Err(Error::internal("a value that is no collection")),
        };
    };
    let range = nested.range(decoded.index(0));
    if range.is_empty() {
        return Ok(empty(types));
    }
    let elements = nested.elements.loaded()?.slice(range.start, range.len());
    let flat = elements.flatten()?;
    let columns: Vec<Vector> = match flat.flat_values() {
        Some(Values::Row { children, .. }) => {
            children.iter().map(Vector::loaded).collect::<Result<_>>()?
        }
        _ => types.iter().map(|it| Vector::nulls(it.clone(), range.len())).collect(),
    };
    let columns = match flat.null_buffer() {
        Some(nulls) if nulls.null_count() > 0 => {
            columns.into_iter().map(|it| masked(it, nulls)).collect()
        }
        _ => columns,
    };
    Ok(Batch::new(columns, range.len()))
}

/// The column with further nulls.
fn masked(column: Vector, nulls: &NullBuffer) -> Vector {
    let positions: Vec<u32> = (0..column.len() as u32).collect();
    Vector::dictionary(positions.into(), Arc::new(column), Some(nulls.clone()))
}
