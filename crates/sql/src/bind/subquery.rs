//! Subqueries in expressions.

use super::{Binder, Bound, expr::covering, inspect, select::column_expr};
use sqlparser::ast::{self, Spanned};
use std::sync::Arc;
use volley_error::{Error, Result, Span};
use volley_logical::{
    AggregateCall, CallStep, Expr, ExprKind, Plan, SortKey, SpecialForm, Subquery, SubqueryKind,
};
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

    /// `ARRAY(SELECT ...)`: the values of the only column, in the query's order.
    pub(super) fn array_subquery(&mut self, query: &'a ast::Query) -> Result<Expr> {
        let span = self.span(query.span());
        let Bound { plan, columns } = self.query(query)?;
        let [column] = columns.as_slice() else {
            return Err(wrong_width(1, columns.len(), span));
        };
        let (input, order_by) = ordered(plan);
        let args = vec![column_expr(column, span)];
        let resolved =
            self.shared.names.resolve_aggregate("array_agg", &[column.data_type.clone()])?;
        let data_type = Type::array(column.data_type.clone());
        let call = AggregateCall {
            function: resolved.name,
            args,
            distinct: false,
            filter: None,
            order_by,
            step: CallStep::Complete,
            data_type: data_type.clone(),
            span,
        };
        let values = self.column("array", data_type.clone());
        let aggregates = vec![(values.clone(), call)];
        let plan = Plan::Aggregate { input: Box::new(input), keys: Vec::new(), aggregates };
        let bound = Bound { plan, columns: vec![values] };
        let values = subquery(SubqueryKind::Scalar, bound, data_type.clone(), span);
        let none = self.coerce(self.call("list_value", Vec::new(), span)?, &data_type)?;
        Ok(Expr::special(SpecialForm::Coalesce, vec![values, none], data_type).at(span))
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
        if self.shared.is_presto() && types.iter().any(Type::is_nested) {
            // Presto's equality of nested values is its own.
            let any = self.any_equal(input, query)?;
            return self.negated(any, negated);
        }
        let bound = self.convert(bound, &types)?;
        let whole = covering(&exprs.iter().collect::<Vec<_>>());
        let whole = whole.into_iter().chain(span).reduce(Span::to);
        let any = subquery(SubqueryKind::In(exprs), bound, Type::Boolean, whole);
        self.negated(any, negated)
    }
}

/// The rows of a plan that may be sorted, and their order. A limit stays, with the order below it.
fn ordered(plan: Plan) -> (Plan, Vec<SortKey>) {
    match plan {
        Plan::Sort { input, keys } => (*input, keys),
        Plan::Limit { input, offset, limit } => {
            let keys = match &*input {
                Plan::Sort { keys, .. } => keys.clone(),
                _ => Vec::new(),
            };
            (Plan::Limit { input, offset, limit }, keys)
        }
        // It drops the columns that rows are ordered by.
        Plan::Project { input, exprs }
            if matches!(*input, Plan::Sort { .. } | Plan::Limit { .. })
                && exprs.iter().all(|it| inspect::is_column(&it.1, it.0.id)) =>
        {
            ordered(*input)
        }
        other => (other, Vec::new()),
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
