//! Operators: comparison, arithmetic, AND, OR, `||`, IN lists.

use super::{
    Binder,
    coerce::{is_integer_literal, literal_fits},
    expr::{chain_of, covering},
    unsupported,
};
use sqlparser::ast::{self, BinaryOperator};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, SpecialForm};
use volley_types::Type;

impl<'a> Binder<'a> {
    /// A binary operator.
    pub(super) fn binary(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
    ) -> Result<Expr> {
        if let Some(name) = comparison_name(op) {
            return self.comparison(name, left, right);
        }
        if let Some(name) = unlike_name(op) {
            let matched = self.called(name, left, right)?;
            return self.negated(matched, true);
        }
        let name = match op {
            BinaryOperator::And => return self.logical(left, op, right, SpecialForm::And),
            BinaryOperator::Or => return self.logical(left, op, right, SpecialForm::Or),
            BinaryOperator::StringConcat => return self.concatenation(left, op, right),
            BinaryOperator::Plus => "plus",
            BinaryOperator::Minus => "minus",
            BinaryOperator::Multiply => "multiply",
            BinaryOperator::Divide => "divide",
            BinaryOperator::DuckIntegerDivide => "integer_divide",
            BinaryOperator::Modulo => "mod",
            BinaryOperator::BitwiseXor | BinaryOperator::PGExp => "power",
            BinaryOperator::BitwiseAnd => "bit_and_op",
            BinaryOperator::BitwiseOr => "bit_or_op",
            BinaryOperator::PGBitwiseShiftLeft => "bit_shift_left",
            BinaryOperator::PGBitwiseShiftRight => "bit_shift_right",
            BinaryOperator::PGLikeMatch => "like",
            BinaryOperator::PGILikeMatch => "ilike",
            other => {
                let span = self.expr(left)?.span;
                return Err(unsupported(format!("the operator {other}"), span));
            }
        };
        self.called(name, left, right)
    }

    /// A function of two operands.
    fn called(&mut self, name: &str, left: &'a ast::Expr, right: &'a ast::Expr) -> Result<Expr> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let span = covering(&[&left, &right]);
        let (left, right) = self.narrow_literals(left, right)?;
        self.call(name, vec![left, right], span)
    }

    /// An integer literal beside a narrower integer takes its type, if it fits.
    pub(super) fn narrow_literals(&self, left: Expr, right: Expr) -> Result<(Expr, Expr)> {
        if is_integer_literal(&left) && literal_fits(&left, &right.data_type) {
            return Ok((self.coerce(left, &right.data_type)?, right));
        }
        if is_integer_literal(&right) && literal_fits(&right, &left.data_type) {
            let right = self.coerce(right, &left.data_type)?;
            return Ok((left, right));
        }
        Ok((left, right))
    }

    /// A comparison function of two expressions, brought to a common type.
    pub(super) fn compare(&self, name: &str, args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let args = self.comparable(args, span)?;
        if let Some(arg) = args.first()
            && matches!(name, "lt" | "lte" | "gt" | "gte")
        {
            self.needs_order(&arg.data_type, "comparison", span)?;
        }
        self.call(name, args, span)
    }

    /// Expressions in the type in which they are compared.
    pub(super) fn comparable(&self, args: Vec<Expr>, span: Option<Span>) -> Result<Vec<Expr>> {
        let has_number = args.iter().any(|it| it.data_type.is_numeric());
        let mut args = args;
        if has_number && args.iter().any(|it| it.data_type == Type::Boolean) {
            let number = args.iter().filter(|it| it.data_type.is_numeric());
            let to = number.map(|it| it.data_type.clone()).next().unwrap_or(Type::Integer);
            let widen = |it: Expr| {
                if it.data_type == Type::Boolean {
                    self.cast_to(it, to.clone(), false)
                } else {
                    Ok(it)
                }
            };
            args = args.into_iter().map(widen).collect::<Result<Vec<_>>>()?;
        }
        let args = self.unify_to_compare(args).map_err(|it| it.span(span))?;
        if args.iter().all(|it| it.data_type == Type::Unknown) {
            return args.into_iter().map(|it| self.coerce(it, &Type::Integer)).collect();
        }
        if let Some(arg) = args.first() {
            self.needs_equality(&arg.data_type, "comparison", span)?;
        }
        Ok(args)
    }

    /// A chain of AND or OR as one node.
    fn logical(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
        form: SpecialForm,
    ) -> Result<Expr> {
        let mut operands = chain_of(left, op);
        operands.extend(chain_of(right, op));
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            let bound = self.expr(operand)?;
            args.push(self.condition(bound, &format!("operand of {op}"))?);
        }
        let span = covering(&args.iter().collect::<Vec<_>>());
        Ok(Expr::special(form, args, Type::Boolean).at(span))
    }

    /// A chain of `||`, as a balanced tree.
    fn concatenation(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
    ) -> Result<Expr> {
        let mut operands = chain_of(left, op);
        operands.extend(chain_of(right, op));
        let args = operands.into_iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?;
        let is_list = |it: &Expr| matches!(it.data_type, Type::Array(_) | Type::FixedArray(_));
        let is_bytes = |it: &Expr| it.data_type == Type::Varbinary;
        let mut args = if args.iter().any(is_list) {
            self.unify(args, "||")?
        } else {
            let to = if args.iter().any(is_bytes) { Type::Varbinary } else { Type::Varchar };
            let args = args.into_iter().map(|it| self.cast_to(it, to.clone(), false));
            args.collect::<Result<Vec<_>>>()?
        };
        while args.len() > 1 {
            let mut pairs = Vec::with_capacity(args.len().div_ceil(2));
            let mut rest = args.into_iter();
            while let Some(left) = rest.next() {
                pairs.push(match rest.next() {
                    Some(right) => {
                        let span = covering(&[&left, &right]);
                        self.call("concat_op", vec![left, right], span)?
                    }
                    None => left,
                });
            }
            args = pairs;
        }
        args.pop().ok_or_else(|| Error::internal("|| without operands"))
    }
}

/// The registered name of a comparison operator.
pub(super) fn comparison_name(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Eq => "eq",
        BinaryOperator::NotEq => "neq",
        BinaryOperator::Lt => "lt",
        BinaryOperator::LtEq => "lte",
        BinaryOperator::Gt => "gt",
        BinaryOperator::GtEq => "gte",
        _ => return None,
    })
}

/// The function whose negation an operator is.
fn unlike_name(op: &BinaryOperator) -> Option<&'static str> {
    match op {
        BinaryOperator::PGNotLikeMatch => Some("like"),
        BinaryOperator::PGNotILikeMatch => Some("ilike"),
        _ => None,
    }
}
