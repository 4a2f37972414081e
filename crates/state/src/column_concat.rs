//! Concatenates kept batches, a column per step: the sub-operator of operators that need all rows
//! at once.

use crate::BatchCharge;
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::{PhysicalType, Type};
use volley_vector::{Batch, Values, Vector};

/// Batches on their way to one batch. The rows are charged to the charge that holds the parts.
#[derive(Debug)]
pub struct ColumnConcat {
    types: Vec<Type>,
    rows: usize,
    /// The parts of every column that is not yet joined, the last column first.
    parts: Vec<Vec<Vector>>,
    columns: Vec<Vector>,
}

impl ColumnConcat {
    /// Joins `batches` of loaded columns of `types`.
    pub fn new(types: &[Type], batches: Vec<Batch>) -> ColumnConcat {
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

    /// Concatenates the next column, and releases from `charge` what only its parts held. After the
    /// last column, returns the concatenated batch, flat and reserved.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub fn step(&mut self, charge: &mut BatchCharge) -> Result<Option<Batch>> {
        let Some(column) = self.parts.pop() else {
            return Ok(Some(Batch::new(std::mem::take(&mut self.columns), self.rows)));
        };
        let data_type = &self.types[self.columns.len()];
        // Refused before it is allocated; counted as what it is afterwards.
        let mut estimate = charge.pool().reservation();
        estimate.resize(self.rows.saturating_mul(row_bytes(data_type)))?;
        let joined = Vector::concat_checked(data_type, &column, &check_cancelled)?;
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

/// The maximum bytes for concatenating batches like this one, beyond the batches themselves: the
/// widest column twice, and the growth of columns that become flat.
pub fn concat_bytes(batch: &Batch) -> usize {
    let columns = || batch.columns().iter();
    let widest = columns().map(joined_bytes).max().unwrap_or(0);
    let grows = columns().filter(|it| it.flat_values().is_none());
    let grown: usize = grows.map(|it| row_bytes(it.data_type())).sum();
    widest.saturating_mul(2).saturating_add(batch.rows().saturating_mul(grown))
}

/// What a column takes in a joined one, elements of nested values included where it is flat.
pub fn joined_bytes(column: &Vector) -> usize {
    let rows = column.len().saturating_mul(row_bytes(column.data_type()));
    let inner = match column.flat_values() {
        Some(Values::Row { children, .. }) => children.iter().map(joined_bytes).sum(),
        Some(Values::Array(nested) | Values::Map(nested)) => {
            let elements: usize = nested.sizes.iter().map(|it| *it as usize).sum();
            let all = nested.elements.len().max(1);
            (joined_bytes(&nested.elements) as u128 * elements as u128 / all as u128) as usize
        }
        _ => 0,
    };
    rows.saturating_add(inner)
}

/// What a flat vector takes per row; elements of nested values are not counted.
pub fn row_bytes(data_type: &Type) -> usize {
    match data_type.physical() {
        PhysicalType::Null | PhysicalType::Boolean => 1,
        PhysicalType::I8 => 1,
        PhysicalType::I16 => 2,
        PhysicalType::I32 | PhysicalType::F32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Field, Value};

    #[test]
    fn what_joining_takes_counts_the_elements_of_nested_values() {
        let of = |data_type: Type, value: Value| {
            let column = Vector::from_values(data_type, &vec![value; 10]);
            concat_bytes(&Batch::new(vec![column], 10))
        };
        assert_eq!(of(Type::BigInt, Value::BigInt(1)), 2 * 10 * 8);
        let array = Value::Array(vec![Value::BigInt(1); 7].into());
        assert_eq!(of(Type::array(Type::BigInt), array), 2 * 10 * (16 + 7 * 8));
        let fields = vec![Field::new("a", Type::BigInt), Field::new("b", Type::Varchar)];
        let row = Value::Row(vec![Value::BigInt(1), Value::text("x")].into());
        assert_eq!(of(Type::row(fields), row), 2 * 10 * (16 + 8 + 16));
    }
}
