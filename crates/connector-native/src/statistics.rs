//! Statistics of a table: from the bounds of segments, and of values that changes wrote. Where the
//! range of an integer says too little of its distinct values, a sample does.

use std::sync::Arc;
use volley_connector::{Bounds, ColumnStatistics, TableStatistics};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_storage::{SegmentView, TableView, union_bounds};
use volley_types::{PhysicalType, Type, Value};

/// Rows of a sample: those of one vector or a few. Keys of rows that belong together follow each
/// other, as those of an order's items do.
const SAMPLE_ROWS: u32 = 8192;

/// A range with fewer values than one of this many rows bounds the distinct values well enough.
const RANGE_PART: u64 = 2;

/// Rows of a column that were looked at.
struct Seen {
    bounds: Bounds,
    rows: u64,
}

/// Exact without deleted and modified rows; otherwise bounds of what is there and what was.
pub(crate) fn statistics_of(view: &TableView) -> Result<TableStatistics> {
    let mut changes = Vec::with_capacity(view.segments.len());
    let mut is_exact = true;
    for segment in &view.segments {
        let of_segment = segment.change_bounds()?;
        let inserted: u64 = of_segment.iter().map(|it| it.inserted).sum();
        let written = u64::from(segment.version().segment.rows()) + inserted;
        is_exact &= segment.view().rows() == written;
        let mut columns = of_segment.iter().flat_map(|it| &it.columns);
        is_exact &= columns.all(|it| it.modified() == 0);
        changes.push(of_segment);
    }
    let columns = view.types.iter().enumerate().map(|(column, data_type)| {
        check_cancelled()?;
        let nothing = Bounds { nulls: Some(0), ..Bounds::default() };
        let mut seen = Seen { bounds: nothing, rows: 0 };
        for (segment, changes) in view.segments.iter().zip(&changes) {
            let rows = &segment.version().segment;
            seen.add(&rows.bounds(column), rows.rows().into());
            for written in changes.iter().filter_map(|it| it.columns.get(column)) {
                seen.add(&written.bounds, written.values);
            }
        }
        let bounds = seen.bounds;
        // Bounds of text are cut.
        let is_text = matches!(data_type, Type::Varchar | Type::Varbinary);
        let (min, max) = if is_text { (None, None) } else { (bounds.min, bounds.max) };
        // No row is null if none ever was.
        let nulls = bounds.nulls.filter(|it| is_exact || *it == 0);
        let distinct = range_of(data_type, min.as_ref(), max.as_ref())
            .filter(|range| range.saturating_mul(RANGE_PART) >= view.rows())
            .and_then(|range| Some(distinct_in_sample(view, column)?.min(range)));
        Ok(ColumnStatistics { min, max, nulls, distinct })
    });
    let columns = columns.collect::<Result<_>>()?;
    Ok(TableStatistics { rows: Some(view.rows()), columns, is_exact })
}

impl Seen {
    fn add(&mut self, bounds: &Bounds, rows: u64) {
        self.bounds = union_bounds(&self.bounds, self.rows, bounds, rows);
        self.rows += rows;
    }
}

/// How many values there are from `min` to `max`, of integers and what is stored as one.
fn range_of(data_type: &Type, min: Option<&Value>, max: Option<&Value>) -> Option<u64> {
    use PhysicalType::{I8, I16, I32, I64};
    if !matches!(data_type.physical(), I8 | I16 | I32 | I64) {
        return None;
    }
    let range = max?.as_i128()?.checked_sub(min?.as_i128()?)?.checked_add(1)?;
    u64::try_from(range).ok()
}

/// How many distinct values all rows have, if they have as many for each row as a sample from the
/// middle of the table. `None` without one. What cannot be read is an error of the scan.
fn distinct_in_sample(view: &TableView, column: usize) -> Option<u64> {
    let data_type = view.types.get(column)?;
    let with_rows = |it: &&Arc<SegmentView>| it.version().segment.rows() >= SAMPLE_ROWS;
    let segments: Vec<_> = view.segments.iter().filter(with_rows).collect();
    let segment = &segments.get(segments.len() / 2)?.version().segment;
    let mut reader = segment.open(column, 0, data_type).ok()?;
    let values = reader.read(0..SAMPLE_ROWS, None).ok()?;
    let mut hashes = vec![0; SAMPLE_ROWS as usize];
    values.hash_into(&mut hashes).ok()?;
    hashes.sort_unstable();
    hashes.dedup();
    Some((hashes.len() as u64).saturating_mul(view.rows()).div_ceil(SAMPLE_ROWS.into()))
}
