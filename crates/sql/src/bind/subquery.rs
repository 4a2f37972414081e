//! Subqueries in expressions.

use super::{Binder, Bound, expr::covering, select::column_expr};
use sqlparser::ast::{self, Spanned};
use std::sync::Arc;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind, Subquery, SubqueryKind};
use volley_types::Type;

impl<'a> Binder<'a> {
    /// `(SELECT ...)` as a value.
    pub(super) fn scalar_subquery(&mut self, query: &'a ast::Query) -> Result<Expr> {
        let span = self.span(query.span());
        let bound = self.query(query)?;
        let [column] = bound.columns.as_slice() else {
            return Err(wrong_width(1, bound.columns.len(), span));
        };
        let data_type = column.data_type.clone();
        Ok(subquery(SubqueryKind::Scalar, bound, data_type, span))
    }

    pub(super) fn exists(&mut self, query: &'a ast::Query, negated: bool) -> Result<Expr> {
        let span = self.span(query.span());
        let bound = self.query(query)?;
        let exists = subquery(SubqueryKind::Exists, bound, Type::Boolean, span);
        self.negated(exists, negated)
    }

    pub(super) fn in_subquery(
        &mut self,
        input: &'a ast::Expr,
        query: &'a ast::Query,
        negated: bool,
    ) -> Result<Expr> {
        let span = self.span(query.span());
        let left = self.tuple(input)?;
        let bound = self.query(query)?;
        if left.len() != bound.columns.len() {
            return Err(wrong_width(left.len(), bound.columns.len(), span));
        }
        let mut exprs = Vec::with_capacity(left.len());
        let mut types = Vec::with_capacity(left.len());
        for (expr, column) in left.into_iter().zip(&bound.columns) {
            let span = expr.span.or(span);
            let pair = self.comparable(vec![expr, column_expr(column, span)], span)?;
            types.extend(pair.get(1).map(|it| it.data_type.clone()));
            exprs.extend(pair.into_iter().next());
        }
        let bound = self.convert(bound, &types)?;
        let whole = covering(&exprs.iter().collect::<Vec<_>>());
        let whole = whole.into_iter().chain(span).reduce(Span::to);
        let any = subquery(SubqueryKind::In(exprs), bound, Type::Boolean, whole);
        self.negated(any, negated)
    }
}

pub(super) fn subquery(
    kind: SubqueryKind,
    bound: Bound,
    data_type: Type,
    span: Option<Span>,
) -> Expr {
    let subquery = Subquery { kind, plan: Arc::new(bound.plan) };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), data_type).at(span)
}

pub(super) fn wrong_width(wanted: usize, columns: usize, span: Option<Span>) -> Error {
    let message = format!("subquery must have {wanted} columns, not {columns}");
    let message = if wanted == 1 { message.replace("columns,", "column,") } else { message };
    Error::invalid_query(message).span(span)
}
