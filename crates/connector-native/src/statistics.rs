//! Statistics of a table: from the bounds of segments, and of values that changes wrote.

use volley_connector::{Bounds, ColumnStatistics, TableStatistics};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_storage::{TableView, union_bounds};
use volley_types::Type;

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
        Ok(ColumnStatistics { min, max, nulls, distinct: None })
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
