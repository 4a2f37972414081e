//! Statistics from the footers of Parquet and ORC files.

use crate::part::{Part, PartColumn, PartFile};
use volley_connector::{Bounds, ColumnStatistics, TableStatistics};
use volley_types::{PhysicalType, Schema, Type, Value};

/// What the footers say; nothing when a file has none.
pub(crate) fn statistics_of(schema: &Schema, parts: &[Part]) -> TableStatistics {
    let mut files = Vec::new();
    if let Some(rows) = added_rows(parts) {
        return TableStatistics { rows: Some(rows), ..TableStatistics::default() };
    }
    for part in parts {
        match part.file.groups().filter(|_| part.file.has_row_groups()) {
            Some(groups) => files.push((part, groups)),
            None => return TableStatistics::default(),
        }
    }
    let rows = files.iter().flat_map(|(part, groups)| (0..*groups).map(|it| part.rows(it))).sum();
    let columns = schema
        .fields
        .iter()
        .enumerate()
        .map(|(column, field)| column_statistics(&files, column, &field.data_type, rows));
    TableStatistics { rows: Some(rows), columns: columns.collect(), is_exact: true }
}

/// The rows of files of formats that were added, if all parts are such files that tell it.
fn added_rows(parts: &[Part]) -> Option<u64> {
    let rows = |it: &Part| match &it.file {
        PartFile::Added(file) => file.rows(),
        _ => None,
    };
    if parts.is_empty() { None } else { parts.iter().map(rows).sum() }
}

fn column_statistics(
    files: &[(&Part, usize)],
    column: usize,
    data_type: &Type,
    rows: u64,
) -> ColumnStatistics {
    let mut merged: Option<Bounds> = None;
    let mut distinct = Distinct::default();
    for (part, groups) in files {
        for group in (0..*groups).filter(|it| part.rows(*it) > 0) {
            let bounds = part.bounds(group, column);
            match part.columns.get(column) {
                Some(PartColumn::Stored(place)) => distinct.add(part, group, *place, &bounds),
                _ => distinct.is_unknown = true,
            }
            merged = Some(merged.map_or_else(|| bounds.clone(), |it| it.union(&bounds)));
        }
    }
    let bounds = merged.unwrap_or_default();
    let distinct = distinct.estimate(data_type, &bounds, rows);
    ColumnStatistics { min: bounds.min, max: bounds.max, nulls: bounds.nulls, distinct }
}

/// What row groups say of the number of distinct values.
#[derive(Default)]
struct Distinct {
    /// The most in one row group.
    most: u64,
    /// Rows of that row group.
    most_rows: u64,
    groups: u64,
    is_unknown: bool,
}

impl Distinct {
    fn add(&mut self, part: &Part, group: usize, place: usize, bounds: &Bounds) {
        self.groups += 1;
        let estimate = || match &part.file {
            PartFile::Parquet(file) => file.distinct_estimate(group, place),
            _ => None,
        };
        match bounds.distinct.or_else(estimate) {
            Some(count) if count >= self.most => {
                (self.most, self.most_rows) = (count, part.rows(group));
            }
            Some(_) => {}
            None => self.is_unknown = true,
        }
    }

    /// The number of distinct values among all rows: a row group that has few against its rows
    /// has seen most of them; otherwise they grow with the rows, up to what the range holds.
    fn estimate(&self, data_type: &Type, bounds: &Bounds, rows: u64) -> Option<u64> {
        let range = value_range(data_type, bounds);
        if self.is_unknown || self.groups == 0 {
            return range.map(|it| it.min(rows));
        }
        let grown = if self.most.saturating_mul(10) < self.most_rows {
            self.most
        } else {
            let share = self.most as f64 / self.most_rows.max(1) as f64;
            (share * rows as f64) as u64
        };
        Some(grown.min(range.unwrap_or(u64::MAX)).min(rows).max(1))
    }
}

/// How many values there are between the bounds of an integer-like column.
fn value_range(data_type: &Type, bounds: &Bounds) -> Option<u64> {
    let is_integer = matches!(
        data_type.physical(),
        PhysicalType::I8
            | PhysicalType::I16
            | PhysicalType::I32
            | PhysicalType::I64
            | PhysicalType::I128
    );
    let number = |it: &Option<Value>| it.as_ref().and_then(Value::as_i128);
    let (min, max) = (number(&bounds.min)?, number(&bounds.max)?);
    let range = max.checked_sub(min)?.checked_add(1).filter(|_| is_integer)?;
    u64::try_from(range).ok()
}
