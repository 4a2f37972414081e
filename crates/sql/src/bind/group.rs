//! GROUP BY, and checks of expressions above it.

use super::{
    Binder, Clause,
    grouping_sets::{GROUPING, has_grouping},
    inspect,
    scope::Scope,
    select::{Clauses, Item},
    unsupported,
    window::BoundCall,
};
use sqlparser::ast::{self, GroupByExpr, Spanned, Value as Literal};
use std::{collections::HashSet, sync::Arc};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Expr, ExprKind, Plan};

/// What rows are grouped by.
#[derive(Default)]
pub(super) struct GroupBy {
    /// The keys, each once.
    pub(super) keys: Vec<Expr>,
    /// The grouping sets: positions of keys, ascending.
    pub(super) sets: Vec<Vec<usize>>,
}

impl<'a> Binder<'a> {
    /// What GROUP BY says; `None` without it.
    pub(super) fn group_by(
        &mut self,
        group_by: &'a GroupByExpr,
        items: &[Item<'a>],
        exprs: &[Expr],
    ) -> Result<Option<GroupBy>> {
        self.enter(Clause::GroupBy);
        let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
        if let Some(modifier) = modifiers.first() {
            return Err(unsupported(format!("GROUP BY ... {modifier}"), None));
        }
        let grouped = match group_by {
            GroupByExpr::All(_) => {
                let aggregates = self.aggregate_ids()?;
                let windows = self.level()?.windows.ids().clone();
                // Next to an aggregate, constants are no keys: without others there is one group.
                let is_key = |it: &&Expr| {
                    !inspect::names_any(it, &aggregates)
                        && !inspect::names_any(it, &windows)
                        && !has_grouping(it)
                        && (aggregates.is_empty() || !is_constant(it))
                };
                let mut keys = Vec::new();
                exprs.iter().filter(is_key).for_each(|it| {
                    push_key(&mut keys, it.clone());
                });
                GroupBy::of_keys(keys)
            }
            GroupByExpr::Expressions(written, _) if written.is_empty() => return Ok(None),
            GroupByExpr::Expressions(written, _) => self.sets(written, items, exprs)?,
        };
        for key in &grouped.keys {
            self.needs_equality(&key.data_type, "GROUP BY", key.span)?;
        }
        Ok(Some(grouped))
    }

    /// A key that is no list of sets.
    pub(super) fn group_key(
        &mut self,
        expr: &'a ast::Expr,
        items: &[Item<'a>],
        exprs: &[Expr],
    ) -> Result<Expr> {
        let item = match self.position(expr, items.len(), "GROUP BY")? {
            Some(index) => Some(index),
            None => self.alias_item(expr, items)?,
        };
        let Some(index) = item else { return self.expr(expr) };
        let key = exprs.get(index).cloned().ok_or_else(|| Error::internal("item is missing"))?;
        if inspect::names_any(&key, &self.aggregate_ids()?) || has_grouping(&key) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(Error::invalid_query(message).span(self.span(expr.span())));
        }
        if inspect::names_any(&key, self.level()?.windows.ids()) {
            let message = "window functions are not allowed in GROUP BY";
            let error = Error::invalid_query(message).span(self.span(expr.span()));
            return Err(error.hint("compute them in a subquery"));
        }
        Ok(key)
    }

    /// The item of the SELECT list that an integer literal counts to.
    pub(super) fn position(
        &self,
        expr: &ast::Expr,
        items: usize,
        clause: &str,
    ) -> Result<Option<usize>> {
        let ast::Expr::Value(value) = expr else { return Ok(None) };
        let Literal::Number(digits, _) = &value.value else { return Ok(None) };
        if !digits.bytes().all(|it| it.is_ascii_digit()) {
            return Ok(None);
        }
        match digits.parse::<usize>() {
            Ok(position) if (1..=items).contains(&position) => Ok(Some(position - 1)),
            _ => {
                let message = format!("{clause} position must be 1 to {items}: {digits}");
                Err(Error::invalid_query(message).span(self.span(value.span)))
            }
        }
    }

    /// The item whose alias `expr` is, when it is not a column.
    fn alias_item(&self, expr: &ast::Expr, items: &[Item<'a>]) -> Result<Option<usize>> {
        let ast::Expr::Identifier(ident) = expr else { return Ok(None) };
        let level = self.levels.last();
        let is_column = level
            .is_some_and(|it| !matches!(it.scope.find(&ident.value), super::scope::Found::None));
        if is_column {
            return Ok(None);
        }
        Ok(items.iter().position(|it| it.name.eq_ignore_ascii_case(&ident.value)))
    }

    fn aggregate_ids(&mut self) -> Result<HashSet<ColumnId>> {
        Ok(self.level()?.aggregates.ids().clone())
    }
}

/// Whether the expression names no column and has no subquery.
pub(super) fn is_constant(expr: &Expr) -> bool {
    let mut columns = HashSet::new();
    inspect::collect_columns(expr, &mut columns);
    columns.is_empty() && !inspect::has_subquery(expr)
}

/// Adds a key, unless it is there already; its position.
pub(super) fn push_key(keys: &mut Vec<Expr>, key: Expr) -> usize {
    if let Some(known) = keys.iter().position(|it| inspect::same(it, &key)) {
        return known;
    }
    keys.push(key);
    keys.len() - 1
}

impl GroupBy {
    /// One set of all keys.
    fn of_keys(keys: Vec<Expr>) -> GroupBy {
        let set = (0..keys.len()).collect();
        GroupBy { keys, sets: vec![set] }
    }
}

/// The column in scope that an expression is.
pub(super) fn scope_column<'s>(scope: &'s Scope, expr: &Expr) -> Option<&'s Column> {
    let ExprKind::Column(id) = expr.kind else { return None };
    scope.columns.iter().map(|it| &it.column).find(|it| it.id == id)
}

/// Makes expressions over the columns of FROM into expressions over group keys and aggregates.
pub(super) struct Grouping<'g> {
    pub(super) keys: &'g [(Column, Expr)],
    /// The grouping sets: positions of keys.
    pub(super) sets: &'g [Vec<usize>],
    /// The column that tells sets apart; none where there is one.
    pub(super) set_id: Option<&'g Column>,
    pub(super) scope: &'g Scope,
}

impl Grouping<'_> {
    /// Rewrites everything above the grouping.
    pub(super) fn rewrite_all(&self, clauses: &mut Clauses) -> Result<()> {
        let order = clauses.order.iter_mut().map(|it| &mut it.expr);
        let on = clauses.distinct_on.iter_mut().flatten();
        let exprs = clauses.items.iter_mut().chain(&mut clauses.having).chain(order).chain(on);
        let windows = clauses.windows.iter_mut().flat_map(BoundCall::exprs_mut);
        let unnests = clauses.unnests.iter_mut().flat_map(|it| &mut it.args);
        let mut exprs = exprs.chain(&mut clauses.qualify).chain(windows).chain(unnests);
        exprs.try_for_each(|it| self.rewrite(it))
    }

    fn rewrite(&self, expr: &mut Expr) -> Result<()> {
        if let ExprKind::Call { name, args } = &expr.kind
            && name == GROUPING
        {
            *expr = self.grouping_value(args, expr.span)?;
            return Ok(());
        }
        if let Some((column, _)) = self.keys.iter().find(|it| inspect::same(&it.1, expr)) {
            expr.kind = ExprKind::Column(column.id);
            return Ok(());
        }
        if let Some(column) = scope_column(self.scope, expr) {
            let message = format!(
                "column {} must be in GROUP BY or an argument of an aggregate function",
                column.name
            );
            let error = Error::invalid_query(message).span(expr.span);
            return Err(error.hint(format!("any_value({}) takes any of its values", column.name)));
        }
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            self.rewrite_plan(Arc::make_mut(&mut subquery.plan))?;
        }
        expr.children_mut().iter_mut().try_for_each(|it| self.rewrite(it))
    }

    fn rewrite_plan(&self, plan: &mut Plan) -> Result<()> {
        plan.exprs_mut().into_iter().try_for_each(|it| self.rewrite(it))?;
        plan.inputs_mut().into_iter().try_for_each(|it| self.rewrite_plan(it))
    }
}
