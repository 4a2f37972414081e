//! Comparisons with ANY and ALL of the rows of a subquery, or of the elements of an array.
//!
//! ANY is true if the comparison holds for some row, else null if it is null for some, else false;
//! ALL is NOT of ANY of the opposite comparison.

use super::{
    Binder, Bound,
    expr::{covering, without_parentheses},
    operator::comparison_name,
    select::column_expr,
    subquery::{subquery, wrong_width},
    unsupported,
};
use sqlparser::ast::{self, BinaryOperator, Spanned};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind, Parameter, Plan, SpecialForm, SubqueryKind};
use volley_types::{Type, Value};

/// What a value or a row is compared with.
enum Operator {
    /// The registered name of a comparison.
    Comparison(&'static str),
    /// LIKE, ILIKE, or NOT of them.
    Pattern { name: &'static str, negated: bool },
}

impl<'a> Binder<'a> {
    /// `left op ANY (right)`, `left op ALL (right)`.
    pub(super) fn quantified(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
        is_all: bool,
    ) -> Result<Expr> {
        let operator = self.quantified_operator(op, right, is_all)?;
        let ast::Expr::Subquery(query) = without_parentheses(right) else {
            return self.quantified_array(left, &operator, right, is_all);
        };
        match (&operator, is_all) {
            (Operator::Comparison("eq"), false) => return self.in_subquery(left, query, false),
            (Operator::Comparison("neq"), true) => return self.in_subquery(left, query, true),
            _ => {}
        }
        if !is_all {
            return self.any(left, &operator, query);
        }
        let any = self.any(left, &operator.opposite(), query)?;
        self.negated(any, true)
    }

    fn quantified_operator(
        &self,
        op: &BinaryOperator,
        right: &ast::Expr,
        is_all: bool,
    ) -> Result<Operator> {
        if let Some(name) = comparison_name(op) {
            return Ok(Operator::Comparison(name));
        }
        let (name, negated) = match op {
            BinaryOperator::PGLikeMatch => ("like", false),
            BinaryOperator::PGNotLikeMatch => ("like", true),
            BinaryOperator::PGILikeMatch => ("ilike", false),
            BinaryOperator::PGNotILikeMatch => ("ilike", true),
            _ => {
                let word = if is_all { "ALL" } else { "ANY" };
                return Err(unsupported(format!("{op} {word}"), self.span(right.span())));
            }
        };
        Ok(Operator::Pattern { name, negated })
    }

    /// Whether a row of the subquery equals a value or a row, by what `=` means.
    pub(super) fn any_equal(&mut self, left: &'a ast::Expr, query: &'a ast::Query) -> Result<Expr> {
        self.any(left, &Operator::Comparison("eq"), query)
    }

    fn any(
        &mut self,
        left: &'a ast::Expr,
        operator: &Operator,
        query: &'a ast::Query,
    ) -> Result<Expr> {
        let holds = self.exists_where(left, operator, query, false)?;
        let is_unknown = self.exists_where(left, operator, query, true)?;
        let span = holds.span;
        let unknown = Expr::constant(Value::Null, Type::Boolean);
        let args = vec![holds, Expr::boolean(true), is_unknown, unknown, Expr::boolean(false)];
        Ok(Expr::special(SpecialForm::Switch, args, Type::Boolean).at(span))
    }

    /// Whether there is a row for which the comparison holds, or is null.
    fn exists_where(
        &mut self,
        left: &'a ast::Expr,
        operator: &Operator,
        query: &'a ast::Query,
        is_null: bool,
    ) -> Result<Expr> {
        let span = self.span(query.span());
        let left = self.tuple(left)?;
        let bound = self.query(query)?;
        if left.len() != bound.columns.len() {
            return Err(wrong_width(left.len(), bound.columns.len(), span));
        }
        let whole = covering(&left.iter().collect::<Vec<_>>());
        let whole = whole.into_iter().chain(span).reduce(Span::to);
        let right = bound.columns.iter().map(|it| column_expr(it, span)).collect();
        let mut condition = self.applied(operator, left, right)?.at(whole);
        if is_null {
            let form = SpecialForm::IsNull;
            condition = Expr::special(form, vec![condition], Type::Boolean).at(whole);
        }
        let plan = Plan::Filter { input: Box::new(bound.plan), conjuncts: vec![condition] };
        let bound = Bound { plan, columns: bound.columns };
        Ok(subquery(SubqueryKind::Exists, bound, Type::Boolean, whole))
    }

    fn applied(&self, operator: &Operator, left: Vec<Expr>, right: Vec<Expr>) -> Result<Expr> {
        match operator {
            Operator::Comparison(name) => self.compare_rows(name, left, right),
            Operator::Pattern { name, negated } => {
                let args: Vec<Expr> = left.into_iter().chain(right).collect();
                let matched = self.call(name, args, None)?;
                self.negated(matched, *negated)
            }
        }
    }

    /// A comparison with the elements of an array: a function with a lambda.
    fn quantified_array(
        &mut self,
        left: &'a ast::Expr,
        operator: &Operator,
        right: &'a ast::Expr,
        is_all: bool,
    ) -> Result<Expr> {
        let (left, array) = (self.expr(left)?, self.expr(right)?);
        let span = covering(&[&left, &array]);
        let element = match &array.data_type {
            Type::Array(element) => (**element).clone(),
            Type::FixedArray(array) => array.0.clone(),
            Type::Unknown => return Ok(Expr::constant(Value::Null, Type::Boolean).at(span)),
            other => {
                let word = if is_all { "ALL" } else { "ANY" };
                let message = format!("{word} takes a subquery or an array, not {other}");
                return Err(Error::invalid_query(message).span(array.span));
            }
        };
        let level = self.lambdas.len();
        let parameter = Parameter { level, index: 0 };
        let item = Expr::new(ExprKind::Parameter(parameter), element.clone());
        let body = self.applied(operator, vec![left], vec![item])?;
        let kind = ExprKind::Lambda { level, parameters: vec![element], body: Box::new(body) };
        let lambda = Expr::new(kind, Type::Boolean);
        let name = if is_all { "all_match" } else { "any_match" };
        Ok(Expr::call(name, vec![array, lambda], Type::Boolean).at(span))
    }
}

impl Operator {
    /// What holds where this is false.
    fn opposite(&self) -> Operator {
        match self {
            Operator::Comparison(name) => Operator::Comparison(match *name {
                "eq" => "neq",
                "neq" => "eq",
                "lt" => "gte",
                "lte" => "gt",
                "gt" => "lte",
                _ => "lt",
            }),
            Operator::Pattern { name, negated } => Operator::Pattern { name, negated: !negated },
        }
    }
}
