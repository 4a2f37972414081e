//! Statistics of batches in memory: rows, nulls, and the range of integer-like columns.

use volley_connector::{ColumnStatistics, TableStatistics};
use volley_types::{Schema, Type, Value, match_integer};
use volley_vector::{Batch, Vector};

/// Statistics of the (flat) batches.
pub(crate) fn statistics_of(schema: &Schema, batches: &[Batch]) -> TableStatistics {
    let column = |(index, data_type): (usize, &Type)| {
        let columns = || batches.iter().map(move |it| it.column(index));
        let nulls =
            columns().map(|it| it.null_buffer().map_or(0, |it| it.null_count())).sum::<usize>();
        let range = columns().filter_map(range_of).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        ColumnStatistics {
            min: range.and_then(|it| integer_value(data_type, it.0)),
            max: range.and_then(|it| integer_value(data_type, it.1)),
            nulls: Some(nulls as u64),
            distinct: None,
        }
    };
    TableStatistics {
        rows: Some(batches.iter().map(|it| it.rows() as u64).sum()),
        columns: schema.types().enumerate().map(column).collect(),
        is_exact: true,
    }
}

/// The smallest and largest integer of a flat vector with an integer layout, nulls apart.
fn range_of(vector: &Vector) -> Option<(i128, i128)> {
    let values = vector.flat_values()?;
    let valid = |row: &usize| vector.null_buffer().is_none_or(|it| it.is_valid(*row));
    match_integer!(values.physical(), T => {
        let slice = values.native::<T>()?;
        let rows = (0..slice.len()).filter(valid);
        rows.map(|row| i128::from(slice[row])).fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((min, max)) => Some((value.min(min), value.max(max))),
        })
    }, else None)
}

fn integer_value(data_type: &Type, value: i128) -> Option<Value> {
    Some(match data_type {
        Type::TinyInt => Value::TinyInt(value.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(value.try_into().ok()?),
        Type::Integer => Value::Integer(value.try_into().ok()?),
        Type::BigInt => Value::BigInt(value.try_into().ok()?),
        Type::HugeInt => Value::HugeInt(value),
        Type::Decimal { .. } => Value::Decimal(value),
        Type::Date => Value::Date(value.try_into().ok()?),
        Type::Time => Value::Time(value.try_into().ok()?),
        Type::Timestamp => Value::Timestamp(value.try_into().ok()?),
        _ => return None,
    })
}
