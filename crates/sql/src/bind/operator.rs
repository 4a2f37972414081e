//! Operators: comparison, arithmetic, AND, OR, `||`, IN lists.

use super::{
    Binder,
    coerce::{is_integer_literal, literal_fits},
    collate,
    expr::{chain_of, covering, first_span},
    unsupported,
};
use crate::{Dialect, dialect::GLOB};
use sqlparser::ast::{self, BinaryOperator};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, SpecialForm};
use volley_types::{Type, Value};

/// The function of `||`.
const CONCAT: &str = "concat_op";

impl<'a> Binder<'a> {
    /// A binary operator.
    pub(super) fn binary(
        &mut self,
        left: &'a ast::Expr,
        op: &'a BinaryOperator,
        right: &'a ast::Expr,
    ) -> Result<Expr> {
        if let Some(name) = comparison_name(op) {
            if let ast::Expr::BinaryOp { op: inner, .. } = left
                && comparison_name(inner).is_some()
            {
                let error = Error::invalid_query("a comparison is compared with another value");
                let error = error.span(self.span(first_span(right)));
                return Err(error.hint("join comparisons by AND, or put one in parentheses"));
            }
            return self.comparison(name, left, right);
        }
        if let Some(name) = unlike_name(op) {
            let matched = self.called(name, left, right)?;
            return self.negated(matched, true);
        }
        if let BinaryOperator::PGRegexIMatch | BinaryOperator::PGRegexNotIMatch = op {
            return self.regexp_match(left, op, right);
        }
        if let BinaryOperator::Arrow | BinaryOperator::LongArrow = op {
            let json = self.expr(left)?;
            return self.json_part(json, op, right);
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
            BinaryOperator::PGRegexMatch => "regexp_like",
            BinaryOperator::PGStartsWith => "starts_with",
            BinaryOperator::PGLikeMatch => "like",
            BinaryOperator::PGILikeMatch => "ilike",
            BinaryOperator::Custom(name) if name == GLOB => "glob",
            BinaryOperator::PGOverlap => "list_has_any",
            BinaryOperator::AtArrow => "list_has_all",
            BinaryOperator::ArrowAt => return self.called("list_has_all", right, left),
            other => {
                let span = self.expr(left)?.span;
                return Err(unsupported(format!("the operator {other}"), span));
            }
        };
        self.called(name, left, right)
    }

    /// `text ~* pattern` and `text !~* pattern`, which ignore case.
    fn regexp_match(
        &mut self,
        text: &'a ast::Expr,
        op: &BinaryOperator,
        pattern: &'a ast::Expr,
    ) -> Result<Expr> {
        let (text, pattern) = (self.expr(text)?, self.expr(pattern)?);
        let span = covering(&[&text, &pattern]);
        let ignores_case = Expr::constant(Value::text("i"), Type::Varchar);
        let matched = self.call("regexp_matches", vec![text, pattern, ignores_case], span)?;
        self.negated(matched, *op == BinaryOperator::PGRegexNotIMatch)
    }

    /// `json -> path`, a JSON value, or `json ->> path`, its text.
    fn json_part(&mut self, json: Expr, op: &BinaryOperator, path: &'a ast::Expr) -> Result<Expr> {
        let path = self.expr(path)?;
        let span = covering(&[&json, &path]);
        if self.shared.is_presto() {
            let error = unsupported(format!("the operator {op}"), span);
            return Err(error.hint("json_extract takes a JSON value and a path"));
        }
        let name = match op {
            BinaryOperator::LongArrow => "json_extract_string",
            _ => "json_extract",
        };
        let is_path = match &path.data_type {
            Type::Varchar | Type::Unknown => true,
            Type::Array(element) => matches!(**element, Type::Varchar | Type::Unknown),
            _ => false,
        };
        if !is_path && !path.data_type.is_integer() {
            let message = format!(
                "{op} takes a name, a path, a list of them or an index, not {}",
                path.data_type
            );
            let error = Error::invalid_query(message).span(path.span);
            return Err(error.hint("parentheses around what -> has before and behind it"));
        }
        self.call(name, vec![json, path], span)
    }

    /// What was read as the lambda `x -> body` where there can be none: `x -> 'a' ->> 'b'`.
    pub(super) fn json_part_of_lambda(&mut self, lambda: &'a ast::LambdaFunction) -> Result<Expr> {
        let ast::OneOrManyWithParens::One(json) = &lambda.params else {
            return Err(unsupported("a lambda here", self.span(first_span(&lambda.body))));
        };
        let json = self.identifier(std::slice::from_ref(&json.name))?;
        self.json_part_of(json, &lambda.body)
    }

    /// `path`, of which a chain of arrows may be, is read from left to right.
    fn json_part_of(&mut self, json: Expr, path: &'a ast::Expr) -> Result<Expr> {
        match path {
            ast::Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::Arrow | BinaryOperator::LongArrow),
                right,
            } => {
                let json = self.json_part_of(json, left)?;
                self.json_part(json, op, right)
            }
            _ => self.json_part(json, &BinaryOperator::Arrow, path),
        }
    }

    /// A function of two operands.
    fn called(&mut self, name: &str, left: &'a ast::Expr, right: &'a ast::Expr) -> Result<Expr> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let span = covering(&[&left, &right]);
        let (left, right) = self.narrow_literals(left, right)?;
        self.call(name, vec![left, right], span)
    }

    /// An integer literal next to a narrower integer takes its type, if it fits; in Presto it is an
    /// INTEGER.
    pub(super) fn narrow_literals(&self, left: Expr, right: Expr) -> Result<(Expr, Expr)> {
        if self.shared.is_presto() {
            return Ok((left, right));
        }
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
        let has_number = args.iter().any(|it| it.data_type.is_number());
        let mut args = args;
        if has_number && args.iter().any(|it| it.data_type == Type::Boolean) {
            let number = args.iter().filter(|it| it.data_type.is_number());
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
        let has_list = args.iter().any(is_list);
        if has_list && self.shared.settings.dialect == Dialect::Presto {
            let types = args.iter().map(|it| &it.data_type);
            let common =
                types.cloned().try_fold(Type::Unknown, |a, b| self.shared.common_type(&a, &b));
            if common.is_none() {
                return self.concatenation_with_elements(args);
            }
        }
        let collation = match has_list || args.iter().any(is_bytes) {
            true => None,
            false => collate::kept(CONCAT, &args, &Type::Varchar),
        };
        let mut args = if has_list {
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
                        self.call(CONCAT, vec![left, right], span)?
                    }
                    None => left,
                });
            }
            args = pairs;
        }
        let all = args.pop().ok_or_else(|| Error::internal("|| without operands"))?;
        match collation {
            Some(collation) => self.cast_to(all, collation, false),
            None => Ok(all),
        }
    }

    /// Lists and elements put together from left to right, as Presto does.
    fn concatenation_with_elements(&self, args: Vec<Expr>) -> Result<Expr> {
        if args.len() > self.shared.settings.depth_max {
            let span = covering(&args.iter().collect::<Vec<_>>());
            return Err(unsupported("this many elements of ||", span));
        }
        let mut args = args.into_iter();
        let first = args.next().ok_or_else(|| Error::internal("|| without operands"))?;
        args.try_fold(first, |left, right| {
            let span = covering(&[&left, &right]);
            self.call(CONCAT, vec![left, right], span)
        })
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
        BinaryOperator::PGRegexNotMatch => Some("regexp_like"),
        _ => None,
    }
}
