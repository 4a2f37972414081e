//! Statistics of batches in memory: rows, nulls, and the range of integer-like columns.
//!
//! Each stored batch keeps a summary of each of its columns. A summary is computed on first use and
//! shared by all versions of the table that share the column. Statistics of the table merge the
//! summaries, and a scan skips batches by them.

use crate::batch::StoredBatch;
use volley_connector::{Bounds, ColumnStatistics, TableStatistics};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_types::{Native, Schema, Type, Value, custom::TimestampUnit, match_integer};
use volley_vector::{Rows, Vector};

/// A summary of a column of one batch, without deleted rows. All figures are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSummary {
    /// How many values are null.
    nulls: usize,
    /// The least and the greatest value of an integer layout; `None` without values, and for other
    /// layouts.
    range: Option<(i128, i128)>,
}

impl ColumnSummary {
    /// The summary of a flat vector's rows that were not deleted; `live` is `None` for all rows.
    pub fn new(vector: &Vector, live: Option<&Rows>) -> ColumnSummary {
        let Some(nulls) = vector.null_buffer() else {
            return ColumnSummary { nulls: 0, range: range_of(vector, live) };
        };
        let mut valid = live.cloned().unwrap_or_else(|| Rows::all(vector.len()));
        let rows = valid.count();
        valid.subtract_nulls(nulls);
        ColumnSummary { nulls: rows - valid.count(), range: range_of(vector, Some(&valid)) }
    }

    /// The summary after the deletion of rows that were not deleted before. `None` if a value at
    /// the end of the range is deleted: then only all rows tell the new range.
    pub fn without(&self, vector: &Vector, deleted: &Rows) -> Option<ColumnSummary> {
        let gone = ColumnSummary::new(vector, Some(deleted));
        let is_inside = match (self.range, gone.range) {
            (Some((min, max)), Some((gone_min, gone_max))) => min < gone_min && gone_max < max,
            _ => true,
        };
        is_inside.then_some(ColumnSummary { nulls: self.nulls.saturating_sub(gone.nulls), ..*self })
    }

    /// The summary as bounds of values of `data_type`.
    pub fn bounds(&self, data_type: &Type) -> Bounds {
        let value = |it| integer_value(data_type, it);
        Bounds {
            min: self.range.and_then(|it| value(it.0)),
            max: self.range.and_then(|it| value(it.1)),
            nulls: Some(self.nulls as u64),
            distinct: None,
        }
    }
}

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
    let mut merged = ColumnSummary { nulls: 0, range: None };
    for batch in batches {
        check_cancelled()?;
        let Some(summary) = batch.summary(index) else { continue };
        merged.nulls += summary.nulls;
        merged.range = match (merged.range, summary.range) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
    let Bounds { min, max, nulls, distinct } = merged.bounds(data_type);
    Ok(ColumnStatistics { min, max, nulls, distinct })
}

/// The least and the greatest integer of rows of a flat vector with an integer layout; `rows` is
/// `None` for all.
fn range_of(vector: &Vector, rows: Option<&Rows>) -> Option<(i128, i128)> {
    let values = vector.flat_values()?;
    match_integer!(values.physical(), T => {
        let (min, max) = native_range(values.native::<T>()?, rows)?;
        Some((i128::from(min), i128::from(max)))
    }, else None)
}

/// The least and the greatest of the values in some rows; `rows` is `None` for all.
fn native_range<T: Native + Ord>(values: &[T], rows: Option<&Rows>) -> Option<(T, T)> {
    let Some(rows) = rows.filter(|it| !it.is_all()) else {
        let first = *values.first()?;
        let widen = |(min, max): (T, T), it: &T| (min.min(*it), max.max(*it));
        return Some(values.iter().fold((first, first), widen));
    };
    if rows.is_empty() {
        return None;
    }
    let first = *values.get(rows.begin())?;
    let (mut min, mut max) = (first, first);
    rows.for_each(|row| (min, max) = (min.min(values[row]), max.max(values[row])));
    Some((min, max))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(values: &[Option<i64>]) -> Vector {
        let values: Vec<_> =
            values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
        Vector::from_values(Type::BigInt, &values).flatten().unwrap()
    }

    /// The summary, row by row.
    fn plain(values: &[Option<i64>], rows: &Rows) -> ColumnSummary {
        let left = values.iter().enumerate().filter(|(row, _)| rows.contains(*row));
        let left: Vec<Option<i64>> = left.map(|it| *it.1).collect();
        let valid: Vec<i128> = left.iter().flatten().map(|it| i128::from(*it)).collect();
        ColumnSummary {
            nulls: left.len() - valid.len(),
            range: valid.iter().min().copied().zip(valid.iter().max().copied()),
        }
    }

    #[test]
    fn a_summary_equals_one_made_row_by_row() {
        for rows in [0, 1, 3, 64, 65, 200, 1000] {
            for null_every in [1, 3, usize::MAX] {
                let value = |it: usize| {
                    (!it.is_multiple_of(null_every) || null_every == usize::MAX)
                        .then(|| ((it * 7919) % 1013) as i64 - 500)
                };
                let values: Vec<_> = (0..rows).map(value).collect();
                let column = vector(&values);
                let all = Rows::all(rows);
                assert_eq!(ColumnSummary::new(&column, None), plain(&values, &all));
                for kept in [1, 2, 50] {
                    let live = Rows::from_indices(rows, (0..rows).filter(|it| it % kept == 0));
                    let summary = ColumnSummary::new(&column, Some(&live));
                    assert_eq!(summary, plain(&values, &live), "{rows} rows, 1 of {kept}");
                }
            }
        }
    }

    #[test]
    fn a_summary_after_deletes_is_exact_or_missing() {
        let values: Vec<_> = (0..300).map(|it| (it % 7 != 0).then_some(it * 37 % 301)).collect();
        let column = vector(&values);
        let all = ColumnSummary::new(&column, None);
        let mut missing = 0;
        for start in 0..300 {
            let deleted = Rows::from_indices(300, (start..300).step_by(100));
            let mut left = Rows::all(300);
            left.subtract(&deleted);
            match all.without(&column, &deleted) {
                Some(summary) => assert_eq!(summary, plain(&values, &left)),
                None => missing += 1,
            }
        }
        // Only deletions of the least and of the greatest value are followed by a full pass.
        assert!((1..=6).contains(&missing), "{missing} of 300");
    }

    #[test]
    fn other_layouts_have_no_range() {
        let texts = Vector::from_values(Type::Varchar, &[Value::text("a"), Value::Null]);
        let summary = ColumnSummary::new(&texts.flatten().unwrap(), None);
        assert_eq!(summary, ColumnSummary { nulls: 1, range: None });
        let bounds = summary.bounds(&Type::Varchar);
        assert_eq!((bounds.min, bounds.max, bounds.nulls), (None, None, Some(1)));
    }
}
