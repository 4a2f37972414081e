//! Statistics of a table: from the bounds of segments, and from values that changed.

use volley_connector::{Bounds, ColumnStatistics, TableStatistics};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_storage::{SegmentView, TableView, bounds_of, union_bounds};
use volley_types::Type;

/// Rows of a column that were looked at.
struct Seen {
    bounds: Bounds,
    rows: u64,
}

/// Exact without deleted and modified rows; otherwise bounds of what is there and what was.
pub(crate) fn statistics_of(view: &TableView) -> Result<TableStatistics> {
    let mut is_exact = true;
    for segment in &view.segments {
        let plan = segment.plan()?;
        is_exact &= plan.deleted_rows() == 0 && plan.modified_values() == 0;
    }
    let columns = view.types.iter().enumerate().map(|(column, data_type)| {
        check_cancelled()?;
        let nothing = Bounds { nulls: Some(0), ..Bounds::default() };
        let mut seen = Seen { bounds: nothing, rows: 0 };
        for segment in &view.segments {
            seen.add_segment(segment, column)?;
        }
        let bounds = seen.bounds;
        // Bounds of text are cut.
        let is_text = matches!(data_type, Type::Varchar | Type::Varbinary);
        let (min, max) = if is_text { (None, None) } else { (bounds.min, bounds.max) };
        let nulls = bounds.nulls.filter(|_| is_exact);
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

    fn add_segment(&mut self, segment: &SegmentView, column: usize) -> Result<()> {
        let (rows, plan) = (&segment.version().segment, segment.plan()?);
        self.add(&rows.bounds(column), rows.rows().into());
        if let Some(modified) = plan.range(0..rows.rows()).modified(column as u32) {
            let values = modified.values.slice(modified.first, modified.sids.len());
            self.add(&bounds_of(&values.flatten()?)?, values.len() as u64);
        }
        for inserted in plan.inserted(&[column]) {
            let values = inserted.column(0).flatten()?;
            self.add(&bounds_of(&values)?, values.len() as u64);
        }
        Ok(())
    }
}
