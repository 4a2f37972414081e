//! The context of planning: registry, settings, constants.

use std::{collections::BTreeSet, sync::Arc};
use volley_expression::ExprSet;
use volley_function::{QueryConstants, Registry};
use volley_logical::{ColumnIds, TableResolver};
use volley_types::Value;

/// What planning needs to know besides the plan.
pub struct OptimizerContext<'a> {
    /// The functions, for folding constants and for the types of intermediate aggregates.
    pub registry: Arc<Registry>,
    /// The constants of the query, for folding `now()`.
    pub query: Arc<QueryConstants>,
    /// Hands out the identities of new columns; the same that the binder used.
    pub column_ids: &'a ColumnIds,
    /// The tables that plans name.
    pub tables: Arc<dyn TableResolver>,
    /// How many drivers a pipeline may have; with one, plans have no partial aggregations.
    pub drivers: usize,
    /// The names of the rules that are switched off; see [`crate::rules`].
    pub disabled_rules: BTreeSet<String>,
    /// Whether inputs of joins on equal keys are sorted and merged, always: for tests.
    pub always_merges_joins: bool,
    /// Whether coarser grouping sets are computed from finer ones, also of few groups: for tests.
    pub always_cascades_sets: bool,
}

impl OptimizerContext<'_> {
    /// Whether the rule `name` is on.
    pub fn is_enabled(&self, name: &str) -> bool {
        !self.disabled_rules.contains(name)
    }

    /// The value of an expression without columns, if it has one that does not depend on the row
    /// and does not fail. What does not compile is left for execution to report.
    pub(crate) fn fold(&self, expr: &volley_expression::Expr) -> Option<Value> {
        ExprSet::fold(expr, &self.registry, &self.query).ok().flatten()
    }
}
