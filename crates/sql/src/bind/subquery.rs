//! Subqueries in expressions.

use super::{
    Binder, Bound,
    expr::{covering, without_parentheses},
    inspect,
    operator::comparison_name,
    select::column_expr,
    unsupported,
};
use sqlparser::ast::{self, BinaryOperator, Spanned};
use std::sync::Arc;
use volley_error::{Error, Result, Span};
use volley_logical::{
    AggregateCall, Expr, ExprKind, Plan, SortKey, SpecialForm, Subquery, SubqueryKind,
};
use volley_types::{Type, Value};

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
        let bound = self.convert(bound, &types)?;
        let whole = covering(&exprs.iter().collect::<Vec<_>>());
        let whole = whole.into_iter().chain(span).reduce(Span::to);
        let any = subquery(SubqueryKind::In(exprs), bound, Type::Boolean, whole);
        self.negated(any, negated)
    }

    /// The values of a tuple, or the one value.
    fn tuple(&mut self, input: &'a ast::Expr) -> Result<Vec<Expr>> {
        match without_parentheses(input) {
            ast::Expr::Tuple(parts) => parts.iter().map(|it| self.expr(it)).collect(),
            other => Ok(vec![self.expr(other)?]),
        }
    }

    /// `left op ANY (query)`, `left op ALL (query)`.
    pub(super) fn quantified(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
        is_all: bool,
    ) -> Result<Expr> {
        let word = if is_all { "ALL" } else { "ANY" };
        let ast::Expr::Subquery(query) = without_parentheses(right) else {
            let what = format!("{word} of something else than a subquery");
            return Err(unsupported(what, self.span(right.span())));
        };
        match (op, is_all) {
            (BinaryOperator::Eq, false) => return self.in_subquery(left, query, false),
            (BinaryOperator::NotEq, true) => return self.in_subquery(left, query, true),
            _ => {}
        }
        let Some(name) = comparison_name(op) else {
            return Err(unsupported(format!("{op} {word}"), self.span(right.span())));
        };
        if !is_all {
            return self.any(left, name, query);
        }
        let opposite = match name {
            "eq" => "neq",
            "lt" => "gte",
            "lte" => "gt",
            "gt" => "lte",
            _ => "lt",
        };
        let any = self.any(left, opposite, query)?;
        self.negated(any, true)
    }

    /// Whether a comparison holds for any row, in three-valued logic: true if there is a row for
    /// which it holds, else null if there is one for which it is null, else false.
    fn any(&mut self, left: &'a ast::Expr, name: &str, query: &'a ast::Query) -> Result<Expr> {
        let holds = self.exists_where(left, name, query, false)?;
        let is_unknown = self.exists_where(left, name, query, true)?;
        let span = holds.span;
        let unknown = Expr::constant(Value::Null, Type::Boolean);
        let args = vec![holds, Expr::boolean(true), is_unknown, unknown, Expr::boolean(false)];
        Ok(Expr::special(SpecialForm::Switch, args, Type::Boolean).at(span))
    }

    /// Whether there is a row for which the comparison holds, or is null.
    fn exists_where(
        &mut self,
        left: &'a ast::Expr,
        name: &str,
        query: &'a ast::Query,
        is_null: bool,
    ) -> Result<Expr> {
        let span = self.span(query.span());
        let left = self.expr(left)?;
        let bound = self.query(query)?;
        let [column] = bound.columns.as_slice() else {
            return Err(wrong_width(1, bound.columns.len(), span));
        };
        let whole = left.span.into_iter().chain(span).reduce(Span::to);
        let right = column_expr(column, span);
        let mut condition = self.compare(name, vec![left, right], whole)?;
        if is_null {
            let form = SpecialForm::IsNull;
            condition = Expr::special(form, vec![condition], Type::Boolean).at(whole);
        }
        let plan = Plan::Filter { input: Box::new(bound.plan), conjuncts: vec![condition] };
        let bound = Bound { plan, columns: bound.columns };
        Ok(subquery(SubqueryKind::Exists, bound, Type::Boolean, whole))
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

fn subquery(kind: SubqueryKind, bound: Bound, data_type: Type, span: Option<Span>) -> Expr {
    let subquery = Subquery { kind, plan: Arc::new(bound.plan) };
    Expr::new(ExprKind::Subquery(Box::new(subquery)), data_type).at(span)
}

fn wrong_width(wanted: usize, columns: usize, span: Option<Span>) -> Error {
    let message = format!("subquery must have {wanted} columns, not {columns}");
    let message = if wanted == 1 { message.replace("columns,", "column,") } else { message };
    Error::invalid_query(message).span(span)
}
