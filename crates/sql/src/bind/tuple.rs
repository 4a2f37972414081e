//! Rows of values: their comparisons, and IN lists.
//!
//! Rows are compared from the left: the first values that differ decide. A null among those that
//! have to be looked at makes the answer null.

use super::{
    Binder,
    expr::{covering, without_parentheses},
    inspect,
};
use sqlparser::ast;
use volley_error::{Error, Result};
use volley_logical::{Expr, SpecialForm};
use volley_types::Type;

impl<'a> Binder<'a> {
    /// The values of a row written as such, or the one value.
    pub(super) fn tuple(&mut self, input: &'a ast::Expr) -> Result<Vec<Expr>> {
        match without_parentheses(input) {
            ast::Expr::Tuple(parts) => parts.iter().map(|it| self.expr(it)).collect(),
            other => match row_values(other) {
                Some(parts) => parts.into_iter().map(|it| self.expr(it)).collect(),
                None => Ok(vec![self.expr(other)?]),
            },
        }
    }

    /// A comparison of two expressions or of two rows.
    pub(super) fn comparison(
        &mut self,
        name: &str,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
    ) -> Result<Expr> {
        let pair = (without_parentheses(left), without_parentheses(right));
        let is_row = |it: &ast::Expr| matches!(it, ast::Expr::Tuple(_)) || row_values(it).is_some();
        if is_row(pair.0) && is_row(pair.1) {
            let (left, right) = (self.tuple(left)?, self.tuple(right)?);
            return self.compare_rows(name, left, right);
        }
        let args = vec![self.expr(left)?, self.expr(right)?];
        let span = covering(&[&args[0], &args[1]]);
        self.compare(name, args, span)
    }

    /// A comparison of rows of as many values each.
    pub(super) fn compare_rows(
        &self,
        name: &str,
        left: Vec<Expr>,
        right: Vec<Expr>,
    ) -> Result<Expr> {
        let span = covering(&left.iter().chain(&right).collect::<Vec<_>>());
        if left.len() != right.len() {
            let message = format!("rows of {} and {} values", left.len(), right.len());
            return Err(Error::invalid_query(message).span(span));
        }
        let form = match name {
            "eq" | "is_not_distinct_from" => SpecialForm::And,
            "neq" | "is_distinct_from" => SpecialForm::Or,
            _ => return self.order_rows(name, left, right),
        };
        let pairs = left.into_iter().zip(right);
        let parts = pairs.map(|(left, right)| self.compare(name, vec![left, right], span));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(connected(form, parts).at(span))
    }

    /// `(a, b) < (c, d)` as `a < c OR (a = c AND b < d)`; the last values decide whether equal rows
    /// satisfy it.
    fn order_rows(&self, name: &str, left: Vec<Expr>, right: Vec<Expr>) -> Result<Expr> {
        let strict = if matches!(name, "lt" | "lte") { "lt" } else { "gt" };
        let span = covering(&left.iter().chain(&right).collect::<Vec<_>>());
        let has_subquery = |it: &Expr| inspect::has_subquery(it);
        if left.len() > 1 && left.iter().chain(&right).any(has_subquery) {
            let message = "a subquery in a row that is compared by <, <=, > or >=";
            let error = Error::unsupported(message).span(span);
            return Err(error.hint("compute it in a subquery in FROM"));
        }
        let mut whole: Option<Expr> = None;
        for (left, right) in left.into_iter().zip(right).rev() {
            let pair = vec![left, right];
            whole = Some(match whole {
                None => self.compare(name, pair, span)?,
                Some(rest) => {
                    let decides = self.compare(strict, pair.clone(), span)?;
                    let equal = self.compare("eq", pair, span)?;
                    let go_on = connected(SpecialForm::And, vec![equal, rest]);
                    connected(SpecialForm::Or, vec![decides, go_on])
                }
            });
        }
        let whole = whole.ok_or_else(|| Error::invalid_query("a row without values").span(span))?;
        Ok(whole.at(span))
    }

    pub(super) fn in_list(
        &mut self,
        input: &'a ast::Expr,
        list: &'a [ast::Expr],
        negated: bool,
    ) -> Result<Expr> {
        if let ast::Expr::Tuple(_) = without_parentheses(input) {
            let parts = list.iter().map(|it| self.comparison("eq", input, it));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let span = covering(&parts.iter().collect::<Vec<_>>());
            let any = connected(SpecialForm::Or, parts).at(span);
            return self.negated(any, negated);
        }
        let mut args = vec![self.expr(input)?];
        args.extend(self.unpacked(list)?);
        let span = covering(&args.iter().collect::<Vec<_>>());
        let args = self.comparable(args, span)?;
        let any = match args.as_slice() {
            // Presto's equality of nested values is its own.
            [input, list @ ..] if self.shared.is_presto() && input.data_type.is_nested() => {
                let equal = |it: &Expr| self.call("eq", vec![input.clone(), it.clone()], span);
                connected(SpecialForm::Or, list.iter().map(equal).collect::<Result<Vec<_>>>()?)
            }
            _ => Expr::special(SpecialForm::In, args, Type::Boolean),
        };
        self.negated(any.at(span), negated)
    }
}

/// AND or OR of some conditions; the only one as it is.
fn connected(form: SpecialForm, mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => Expr::special(form, parts, Type::Boolean),
    }
}

/// The values of `ROW(value, ...)`.
fn row_values(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    let ast::Expr::Function(function) = expr else { return None };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let is_row = crate::parse::dotted(&function.name).eq_ignore_ascii_case("row");
    if !is_row || list.args.is_empty() {
        return None;
    }
    let values = list.args.iter().map(|it| match it {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    });
    values.collect()
}
