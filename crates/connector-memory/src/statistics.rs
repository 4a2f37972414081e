//! Statistics of batches in memory: rows, nulls, and the range of integer-like columns.

use crate::batch::StoredBatch;
use volley_connector::{ColumnStatistics, TableStatistics};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::{Schema, Type, Value, custom::TimestampUnit, match_integer};
use volley_vector::{Rows, Vector};

/// Statistics of the rows of batches that were not deleted; fails when the query is cancelled.
pub(crate) fn statistics_of(schema: &Schema, batches: &[StoredBatch]) -> Result<TableStatistics> {
    let column = |(index, data_type)| statistics_of_column(index, data_type, batches);
    Ok(TableStatistics {
        rows: Some(batches.iter().map(|it| it.rows() as u64).sum()),
        columns: schema.types().enumerate().map(column).collect::<Result<_>>()?,
        is_exact: true,
    })
}

fn statistics_of_column(
    index: usize,
    data_type: &Type,
    batches: &[StoredBatch],
) -> Result<ColumnStatistics> {
    let mut nulls = 0;
    let mut range: Option<(i128, i128)> = None;
    for batch in batches {
        check_cancelled()?;
        let (column, live) = (batch.batch().column(index), batch.live());
        nulls += nulls_of(column, live);
        if let Some(other) = range_of(column, live) {
            range = Some(range.map_or(other, |it| (it.0.min(other.0), it.1.max(other.1))));
        }
    }
    Ok(ColumnStatistics {
        min: range.and_then(|it| integer_value(data_type, it.0)),
        max: range.and_then(|it| integer_value(data_type, it.1)),
        nulls: Some(nulls as u64),
        distinct: None,
    })
}

/// How many of the rows are null.
fn nulls_of(vector: &Vector, live: Option<&Rows>) -> usize {
    match (vector.null_buffer(), live) {
        (None, _) => 0,
        (Some(nulls), None) => nulls.null_count(),
        (Some(nulls), Some(live)) => {
            let mut count = 0;
            live.for_each(|row| count += usize::from(nulls.is_null(row)));
            count
        }
    }
}

/// The smallest and largest integer of the rows of a flat vector with an integer layout, nulls
/// apart.
fn range_of(vector: &Vector, live: Option<&Rows>) -> Option<(i128, i128)> {
    let values = vector.flat_values()?;
    let valid = |row: &usize| {
        vector.null_buffer().is_none_or(|it| it.is_valid(*row))
            && live.is_none_or(|it| it.contains(*row))
    };
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
    let is_stored_number = data_type.unsigned().is_some() || TimestampUnit::of(data_type).is_some();
    let stored = if is_stored_number { data_type.storage() } else { data_type };
    Some(match stored {
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
