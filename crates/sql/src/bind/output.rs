//! The output clauses: SELECT list, DISTINCT, ORDER BY, LIMIT.

use super::{
    Binder, Bound, inspect,
    limit::Limits,
    select::{Clauses, Item, column_expr},
};
use std::collections::HashSet;
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Expr, Plan, SortKey};

/// The columns that the SELECT list and what is ordered by need.
struct Outputs {
    exprs: Vec<(Column, Expr)>,
    inputs: HashSet<ColumnId>,
    taken: HashSet<ColumnId>,
}

impl Binder<'_> {
    /// Puts the SELECT list, DISTINCT, ORDER BY and LIMIT on top of `plan`.
    pub(super) fn outputs(
        &self,
        plan: Plan,
        items: &[Item<'_>],
        clauses: Clauses,
        limits: Limits,
    ) -> Result<Bound> {
        let inputs = inspect::output_ids(&plan);
        let mut outputs = Outputs { exprs: Vec::new(), inputs, taken: HashSet::new() };
        for (item, expr) in items.iter().zip(clauses.items) {
            self.output(&mut outputs, &item.name, expr);
        }
        let columns: Vec<Column> = outputs.exprs.iter().map(|it| it.0.clone()).collect();
        let mut keys = Vec::with_capacity(clauses.order.len());
        for key in clauses.order {
            let found = outputs.exprs.iter().find(|it| key.is_item(&it.1, &outputs.exprs));
            let span = key.expr.span;
            let expr = match found {
                Some((column, _)) => column_expr(column, span),
                None if clauses.is_distinct => {
                    let message = "ORDER BY of SELECT DISTINCT must be in the SELECT list";
                    return Err(Error::invalid_query(message).span(span));
                }
                None => self.output(&mut outputs, "key", key.expr).at(span),
            };
            let (descending, nulls_first) = (key.descending, key.nulls_first);
            keys.push(SortKey { expr, descending, nulls_first });
        }
        let distinct_on = clauses.distinct_on.map(|exprs| {
            exprs.into_iter().map(|it| self.hidden(&mut outputs, it)).collect::<Vec<ColumnId>>()
        });
        let has_hidden = outputs.exprs.len() > columns.len();
        let mut plan = Plan::Project { input: Box::new(plan), exprs: outputs.exprs };
        if clauses.is_distinct {
            plan = self.distinct(Bound { plan, columns: columns.clone() }).plan;
        }
        if let Some(on) = distinct_on {
            let (input, order) = (Box::new(plan), keys.clone());
            plan = Plan::GroupLimit { input, keys: on, order, offset: 0, limit: Some(1) };
        }
        if !keys.is_empty() {
            plan = Plan::Sort { input: Box::new(plan), keys };
        }
        plan = self.limited(plan, limits)?;
        if has_hidden {
            let exprs = columns.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
            plan = Plan::Project { input: Box::new(plan), exprs };
        }
        Ok(Bound { plan, columns })
    }

    /// Puts `expr` out under `name`; gives a reference to it.
    fn output(&self, outputs: &mut Outputs, name: &str, expr: Expr) -> Expr {
        let column = self.output_column(name, &expr, &outputs.inputs, &mut outputs.taken);
        let reference = column_expr(&column, None);
        outputs.exprs.push((column, expr));
        reference
    }

    /// The output column of `expr`, which is added if it does not exist.
    fn hidden(&self, outputs: &mut Outputs, expr: Expr) -> ColumnId {
        if let Some((column, _)) = outputs.exprs.iter().find(|it| inspect::same(&it.1, &expr)) {
            return column.id;
        }
        let column = self.output_column("key", &expr, &outputs.inputs, &mut outputs.taken);
        let id = column.id;
        outputs.exprs.push((column, expr));
        id
    }
}
