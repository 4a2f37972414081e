//! Joins kept batches to one, a column per step: the sub-operator of whoever needs all rows at
//! once.

use crate::{BatchCharge, driver::check_stopped};
use volley_error::Result;
use volley_types::{PhysicalType, Type};
use volley_vector::{Batch, Vector};

/// Batches on their way to one batch. The rows are charged to the charge that holds the parts.
#[derive(Debug)]
pub(crate) struct ColumnConcat {
    types: Vec<Type>,
    rows: usize,
    /// The parts of every column that is not yet joined, the last column first.
    parts: Vec<Vec<Vector>>,
    columns: Vec<Vector>,
}

impl ColumnConcat {
    /// Joins `batches` of loaded columns of `types`.
    pub(crate) fn new(types: &[Type], batches: Vec<Batch>) -> ColumnConcat {
        let rows = batches.iter().map(Batch::rows).sum();
        let mut parts: Vec<Vec<Vector>> = vec![Vec::with_capacity(batches.len()); types.len()];
        for batch in batches {
            for (column, parts) in batch.into_columns().into_iter().zip(parts.iter_mut().rev()) {
                parts.push(column);
            }
        }
        let columns = Vec::with_capacity(types.len());
        ColumnConcat { types: types.to_vec(), rows, parts, columns }
    }

    /// Joins the next column, and gives back to `charge` what its parts alone held; the joined
    /// batch, flat and charged, when there is no further column.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub(crate) fn step(&mut self, charge: &mut BatchCharge) -> Result<Option<Batch>> {
        let Some(column) = self.parts.pop() else {
            return Ok(Some(Batch::new(std::mem::take(&mut self.columns), self.rows)));
        };
        let data_type = &self.types[self.columns.len()];
        // Refused before it is allocated; counted as what it is afterwards.
        let mut estimate = charge.pool().reservation();
        estimate.resize(self.rows.saturating_mul(row_bytes(data_type)))?;
        let joined = Vector::concat_checked(data_type, &column, &check_stopped)?;
        drop(estimate);
        charge.add(&Batch::new(vec![joined.clone()], self.rows))?;
        for part in column {
            let rows = part.len();
            charge.remove(&Batch::new(vec![part], rows));
        }
        self.columns.push(joined);
        Ok(None)
    }
}

/// At most so many bytes does joining batches like this one take beyond the batches themselves: the
/// widest column twice, and what columns grow by when they become flat.
pub(crate) fn concat_bytes(batch: &Batch) -> usize {
    let columns = || batch.columns().iter();
    let widest = columns().map(|it| row_bytes(it.data_type())).max().unwrap_or(0);
    let grows = columns().filter(|it| it.flat_values().is_none());
    let grown: usize = grows.map(|it| row_bytes(it.data_type())).sum();
    batch.rows().saturating_mul(2 * widest + grown)
}

/// What a flat vector takes per row; elements of nested values are not counted.
pub(crate) fn row_bytes(data_type: &Type) -> usize {
    match data_type.physical() {
        PhysicalType::Null | PhysicalType::Boolean => 1,
        PhysicalType::I8 => 1,
        PhysicalType::I16 => 2,
        PhysicalType::I32 | PhysicalType::F32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        _ => 16,
    }
}
