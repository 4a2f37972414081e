//! The conditions of a scan that bounds of columns may decide.

use crate::{Bounds, ScanRequest, bounded_columns, may_join, may_match};
use volley_expression::{Expr, filter::ColumnFilter};

/// Gives the bounds of a column of the table, by its position.
pub type Bounding<'a> = &'a dyn Fn(usize) -> Bounds;

/// The conditions of a scan that bounds may decide.
pub struct Conditions {
    /// Each with its columns that matter, by position in the table.
    pub filters: Vec<(Expr, Vec<usize>)>,
    /// Those of joins, and bounds of ORDER BY with LIMIT.
    pub dynamic: Vec<ColumnFilter>,
}

impl Conditions {
    /// Those of a request.
    pub fn new(request: &ScanRequest) -> Conditions {
        let filters = request.filters.iter().map(|it| (it.clone(), bounded_columns(it)));
        Conditions {
            filters: filters.filter(|(_, columns)| !columns.is_empty()).collect(),
            dynamic: request.dynamic_filters.clone(),
        }
    }

    /// Whether some of `rows` rows may satisfy all conditions, by what is known of joins and of
    /// bounds now. `bounds`: those of a column in these rows, by position in the table.
    pub fn may_match(&self, rows: usize, bounds: Bounding) -> bool {
        let rows = rows as u64;
        self.filters.iter().all(|(it, _)| may_match(it, rows, bounds))
            && self.dynamic.iter().all(|it| {
                let condition = it.bound_condition();
                it.filter.get().is_none_or(|keys| may_join(keys, rows, &bounds(it.column)))
                    && condition.is_none_or(|it| may_match(&it, rows, bounds))
            })
    }

    /// A number that changes with any of the bounds; 0 while there is none.
    pub fn version(&self) -> u64 {
        self.dynamic.iter().map(|it| it.filter.version()).sum()
    }

    /// Whether all of a row group's rows may be left out as one, by what bounds are by now.
    /// `bounds`: those of a column in the row group, by position in the table.
    pub fn rule_out(&self, rows: usize, bounds: Bounding) -> bool {
        let mut conditions = self.dynamic.iter().filter_map(ColumnFilter::bound_condition);
        conditions.any(|it| !may_match(&it, rows as u64, bounds))
    }

    /// Whether a bound may come.
    pub fn has_bounds(&self) -> bool {
        self.dynamic.iter().any(|it| it.filter.is_bounded())
    }

    /// Whether bounds of `column` may decide something.
    pub fn is_about(&self, column: usize) -> bool {
        self.filters.iter().any(|(_, columns)| columns.contains(&column))
            || self.dynamic.iter().any(|it| {
                let may_tell = it.filter.get().is_some() || it.filter.is_bounded();
                it.column == column && may_tell
            })
    }
}
