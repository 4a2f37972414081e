//! ORDER BY.

use super::{
    Binder, inspect,
    select::{Item, column_expr},
    unsupported,
};
use sqlparser::ast::{
    self, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort, Spanned,
};
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, SortKey};

/// A key of ORDER BY.
pub(super) struct OrderKey {
    /// The item of the SELECT list that it names.
    pub(super) item: Option<usize>,
    pub(super) expr: Expr,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl OrderKey {
    /// Whether the key is `item`, one of `items`.
    pub(super) fn is_item(&self, item: &Expr, items: &[(Column, Expr)]) -> bool {
        match self.item {
            Some(index) => items.get(index).is_some_and(|it| std::ptr::eq(&it.1, item)),
            None => inspect::same(&self.expr, item),
        }
    }
}

impl<'a> Binder<'a> {
    /// ORDER BY of a SELECT: positions and names of items, and expressions over FROM.
    pub(super) fn order_keys(
        &mut self,
        order_by: &'a OrderBy,
        items: &[Item<'a>],
        exprs: &[Expr],
    ) -> Result<Vec<OrderKey>> {
        let key = |item: Option<usize>, expr: Expr, direction: (bool, bool)| OrderKey {
            item,
            expr,
            descending: direction.0,
            nulls_first: direction.1,
        };
        match &order_by.kind {
            OrderByKind::All(options) => {
                let direction = self.direction(options)?;
                for item in exprs {
                    self.needs_order(&item.data_type, "ORDER BY", item.span)?;
                }
                let items = exprs.iter().enumerate();
                Ok(items.map(|(index, it)| key(Some(index), it.clone(), direction)).collect())
            }
            OrderByKind::Expressions(written) => {
                let names: Vec<&str> = items.iter().map(|it| it.name.as_str()).collect();
                let mut keys = Vec::with_capacity(written.len());
                for it in written {
                    self.reject_fill(it)?;
                    let direction = self.direction(&it.options)?;
                    let is_same = |a: usize, b: usize| match (exprs.get(a), exprs.get(b)) {
                        (Some(a), Some(b)) => inspect::same(a, b),
                        _ => false,
                    };
                    let item = self.named_output(&it.expr, &names, is_same)?;
                    let found = match item.and_then(|index| exprs.get(index)) {
                        Some(item) => vec![(None, item.clone().at(self.span(it.expr.span())))],
                        None => self.for_each_choice(|binder| binder.expr(&it.expr))?,
                    };
                    for (_, expr) in found {
                        self.needs_order(&expr.data_type, "ORDER BY", expr.span)?;
                        keys.push(key(item, expr, direction));
                    }
                }
                Ok(keys)
            }
        }
    }

    /// ORDER BY over the output columns, which are the innermost scope.
    pub(super) fn output_keys(
        &mut self,
        order_by: &'a OrderBy,
        columns: &[Column],
    ) -> Result<Vec<SortKey>> {
        let key = |expr: Expr, (descending, nulls_first): (bool, bool)| SortKey {
            expr,
            descending,
            nulls_first,
        };
        match &order_by.kind {
            OrderByKind::All(options) => {
                let direction = self.direction(options)?;
                for column in columns {
                    self.needs_order(&column.data_type, "ORDER BY", None)?;
                }
                Ok(columns.iter().map(|it| key(column_expr(it, None), direction)).collect())
            }
            OrderByKind::Expressions(written) => {
                let names: Vec<&str> = columns.iter().map(|it| it.name.as_str()).collect();
                let bind = |it: &'a OrderByExpr| {
                    self.reject_fill(it)?;
                    let direction = self.direction(&it.options)?;
                    let is_same = |a: usize, b: usize| columns[a].id == columns[b].id;
                    let output = self.named_output(&it.expr, &names, is_same)?;
                    let expr = match output.and_then(|index| columns.get(index)) {
                        Some(column) => column_expr(column, self.span(it.expr.span())),
                        None => self.expr(&it.expr)?,
                    };
                    self.needs_order(&expr.data_type, "ORDER BY", expr.span)?;
                    Ok(key(expr, direction))
                };
                written.iter().map(bind).collect()
            }
        }
    }

    /// ORDER BY within an aggregate call: plain expressions.
    pub(super) fn call_order(&mut self, written: &'a [OrderByExpr]) -> Result<Vec<SortKey>> {
        let bind = |it: &'a OrderByExpr| {
            self.reject_fill(it)?;
            let (descending, nulls_first) = self.direction(&it.options)?;
            let expr = self.expr(&it.expr)?;
            self.needs_order(&expr.data_type, "ORDER BY", expr.span)?;
            Ok(SortKey { expr, descending, nulls_first })
        };
        written.iter().map(bind).collect()
    }

    /// The output that a position or a bare name means. Several of one name must be the same.
    fn named_output(
        &self,
        expr: &ast::Expr,
        names: &[&str],
        is_same: impl Fn(usize, usize) -> bool,
    ) -> Result<Option<usize>> {
        if let Some(index) = self.position(expr, names.len(), "ORDER BY")? {
            return Ok(Some(index));
        }
        if is_constant(expr) {
            let message = "ORDER BY a constant: a position must be a whole number, without a sign";
            return Err(Error::invalid_query(message).span(self.span(expr.span())));
        }
        let ast::Expr::Identifier(ident) = expr else { return Ok(None) };
        let is_named = |index: &usize| names[*index].eq_ignore_ascii_case(&ident.value);
        let mut named = (0..names.len()).filter(is_named);
        let first = named.next();
        if let Some(first) = first
            && named.any(|other| !is_same(first, other))
        {
            let message = format!("ambiguous column: {}", ident.value);
            let hint = "several outputs have this name: give them others, or sort by position";
            return Err(Error::invalid_query(message).hint(hint).span(self.span(ident.span)));
        }
        Ok(first)
    }

    /// Descending, nulls first.
    fn direction(&self, options: &OrderByOptions) -> Result<(bool, bool)> {
        let descending = match &options.sort {
            None => None,
            Some(OrderBySort::Asc) => Some(false),
            Some(OrderBySort::Desc) => Some(true),
            Some(OrderBySort::Using(_)) => return Err(unsupported("ORDER BY ... USING", None)),
        };
        Ok(self.shared.settings.default_order.resolve(descending, options.nulls_first))
    }

    fn reject_fill(&self, key: &OrderByExpr) -> Result<()> {
        if key.with_fill.is_some() {
            return Err(unsupported("WITH FILL", self.span(key.expr.span())));
        }
        Ok(())
    }
}

/// Whether this is a literal other than NULL, or a number with a sign: what cannot order rows.
fn is_constant(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => !matches!(value.value, ast::Value::Null),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => {
            matches!(**expr, ast::Expr::Value(_))
        }
        _ => false,
    }
}
