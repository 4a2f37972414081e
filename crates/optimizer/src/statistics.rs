//! Estimates: the number of rows of a plan, and the values of its columns.
//!
//! Tables provide their statistics ([`volley_connector::TableStatistics`]). Missing values are
//! estimated by the usual assumptions: uniform distributions, independent columns, keys that find
//! their partners.

mod estimate;
mod join;
mod ranges;
mod selectivity;
mod value;

pub(crate) use join::joined;
pub(crate) use ranges::{ColumnComparison, common_values, pairs_share};

use crate::{OptimizerContext, stack::deep};
use std::{collections::HashMap, sync::Arc};
use volley_logical::{ColumnId, Plan, TableResolver};

/// Rows of a table that does not know.
const ROWS_UNKNOWN: f64 = 10_000.0;

/// What is guessed of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColumnEstimate {
    /// Distinct values, at least 1.
    pub(crate) distinct: f64,
    /// The share of nulls.
    pub(crate) nulls: f64,
    /// The range of values, as numbers, for types that are numbers.
    pub(crate) range: Option<(f64, f64)>,
    /// The table that the values come from.
    pub(crate) relation: Option<Relation>,
}

/// The table of a column. Columns of one table have at most as many combinations of values as the
/// table has rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Relation {
    /// The first column of its scan.
    pub(crate) scan: ColumnId,
    /// How many of its rows are left, repetitions not counted.
    pub(crate) rows: f64,
}

/// What is guessed of a plan's result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    pub(crate) rows: f64,
    pub(crate) columns: HashMap<ColumnId, ColumnEstimate>,
}

/// Guesses, and remembers what common table expressions make.
pub(crate) struct Estimator {
    tables: Arc<dyn TableResolver>,
    ctes: HashMap<u32, Estimate>,
    /// The rows of every plan that was estimated, by its address, when they are to be kept.
    noted: Option<HashMap<*const Plan, f64>>,
}

impl Estimator {
    pub(crate) fn new(ctx: &OptimizerContext<'_>) -> Estimator {
        Estimator { tables: Arc::clone(&ctx.tables), ctes: HashMap::new(), noted: None }
    }

    /// The rows of `plan` and of all plans below it, by address.
    pub(crate) fn rows_of_all(
        plan: &Plan,
        ctx: &OptimizerContext<'_>,
    ) -> HashMap<*const Plan, f64> {
        let mut estimator = Estimator { noted: Some(HashMap::new()), ..Estimator::new(ctx) };
        estimator.estimate(plan);
        estimator.noted.unwrap_or_default()
    }

    /// What `plan` makes. Linear in the size of the plan.
    pub(crate) fn estimate(&mut self, plan: &Plan) -> Estimate {
        deep(|| {
            let inputs = plan.inputs().into_iter().map(|it| self.estimate(it)).collect();
            let estimate = self.estimate_over(plan, inputs);
            if let Some(noted) = &mut self.noted {
                noted.insert(std::ptr::from_ref(plan), estimate.rows);
            }
            estimate
        })
    }

    /// What `plan` makes of inputs that make `inputs`, one per input of the node.
    pub(crate) fn estimate_over(&mut self, plan: &Plan, inputs: Vec<Estimate>) -> Estimate {
        self.node(plan, inputs)
    }
}

impl ColumnEstimate {
    /// A column whose number of values is guessed, and nothing else.
    pub(crate) fn of_distinct(distinct: f64) -> ColumnEstimate {
        ColumnEstimate { distinct, nulls: 0.0, range: None, relation: None }
    }
}

impl Estimate {
    /// A column's estimate; what is not known has as many distinct values as there are rows.
    pub(crate) fn column(&self, id: ColumnId) -> ColumnEstimate {
        let known = self.columns.get(&id).copied();
        known.unwrap_or_else(|| ColumnEstimate::of_distinct(self.rows.max(1.0)))
    }

    /// Fewer rows: no column has more distinct values than rows.
    pub(crate) fn scaled(mut self, selectivity: f64) -> Estimate {
        let before = self.rows.max(1.0);
        self.rows *= selectivity;
        let rows = self.rows.max(1.0);
        for column in self.columns.values_mut() {
            column.distinct = surviving(column.distinct, before, rows);
            if let Some(relation) = &mut column.relation {
                relation.rows = surviving(relation.rows, before, rows);
            }
        }
        self
    }
}

/// How many of `distinct` values survive when `rows` of `before` rows do, drawn at random.
pub(crate) fn surviving(distinct: f64, before: f64, rows: f64) -> f64 {
    if rows >= before {
        return distinct;
    }
    let share = (rows / before).clamp(0.0, 1.0);
    let per_value = (before / distinct).max(1.0);
    (distinct * (1.0 - (1.0 - share).powf(per_value))).clamp(1.0, rows.max(1.0))
}
