//! Implicit conversions: common types, and literals that take the required type.

use super::{Binder, inspect};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind};
use volley_types::{Type, Value, custom::Json};

/// Largest magnitude that a DOUBLE holds exactly with all integers below it.
const DOUBLE_EXACT_MAX: i128 = 1 << 53;

impl Binder<'_> {
    /// Converts `expr` to `data_type`; literals are converted here and now.
    pub(super) fn coerce(&self, expr: Expr, data_type: &Type) -> Result<Expr> {
        if expr.data_type == *data_type {
            return Ok(expr);
        }
        if let ExprKind::Constant(value) = &expr.kind
            && let Some(value) = retyped(value, &expr.data_type, data_type)
        {
            return Ok(Expr::constant(value, data_type.clone()).at(expr.span));
        }
        let cast = self.shared.registry.resolve_cast(&expr.data_type, data_type);
        cast.map_err(|it| it.span(expr.span))?;
        Ok(expr.cast(data_type.clone()))
    }

    /// Converts all to their common type; `what` names the construct in errors.
    pub(super) fn unify(&self, exprs: Vec<Expr>, what: &str) -> Result<Vec<Expr>> {
        self.unify_in(exprs, what, |left, right| self.shared.common_type(left, right))
    }

    /// Like [`Binder::unify`], for branches, the last of which is ELSE: where rows of other fields
    /// meet, its own come first, as in DuckDB.
    pub(super) fn unify_branches(&self, mut exprs: Vec<Expr>, what: &str) -> Result<Vec<Expr>> {
        if !exprs.last().is_some_and(|it| matches!(it.data_type, Type::Row(_))) {
            return self.unify(exprs, what);
        }
        exprs.rotate_right(1);
        let mut unified = self.unify(exprs, what)?;
        unified.rotate_left(1);
        Ok(unified)
    }

    /// Converts all to the type in which they are compared.
    pub(super) fn unify_to_compare(&self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        self.unify_in(exprs, "comparison", |left, right| self.shared.comparable_type(left, right))
    }

    /// Converts all to the type in which they meet.
    fn unify_in(
        &self,
        exprs: Vec<Expr>,
        what: &str,
        meet: impl Fn(&Type, &Type) -> Option<Type>,
    ) -> Result<Vec<Expr>> {
        let common = common_of(&exprs, meet).map_err(|(left, right, span)| {
            let message = format!("{what} has values of types {left} and {right}");
            Error::invalid_query(message).hint("cast one of them").span(span)
        })?;
        exprs.into_iter().map(|it| self.coerce(it, &common)).collect()
    }

    /// A condition: BOOLEAN, or what converts to it without doubt.
    pub(super) fn condition(&self, expr: Expr, what: &str) -> Result<Expr> {
        let is_json = expr.data_type == Json::data_type() && !self.shared.is_presto();
        let is_whole = expr.data_type.is_integer() || expr.data_type.unsigned().is_some();
        let fits = is_whole || is_json || inspect::string_literal(&expr).is_some();
        match expr.data_type {
            Type::Boolean | Type::Unknown => self.coerce(expr, &Type::Boolean),
            _ if fits => self.coerce(expr, &Type::Boolean),
            ref other => {
                let message = format!("{what} must be BOOLEAN, not {other}");
                Err(Error::invalid_query(message).span(expr.span))
            }
        }
    }
}

/// The type in which all meet, or two types that do not and the place of the second.
fn common_of(
    exprs: &[Expr],
    meet: impl Fn(&Type, &Type) -> Option<Type>,
) -> Result<Type, (Type, Type, Option<Span>)> {
    let mut common = Type::Unknown;
    let literal = |it: &&Expr| inspect::string_literal(it).is_some() || is_integer_literal(it);
    let firm = exprs.iter().filter(|it| !literal(it));
    let integers = exprs.iter().filter(|it| is_integer_literal(it));
    for expr in firm.chain(integers) {
        if is_integer_literal(expr) && literal_fits(expr, &common) {
            continue;
        }
        common = match meet(&common, &expr.data_type) {
            Some(common) => common,
            None => return Err((common, expr.data_type.clone(), expr.span)),
        };
    }
    let has_text = exprs.iter().any(|it| inspect::string_literal(it).is_some());
    let is_text = common == Type::Unknown || common.labels().is_some();
    Ok(if is_text && has_text { Type::Varchar } else { common })
}

/// Whether this is an integer literal, which takes any integer type that holds it.
pub(super) fn is_integer_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(Value::Integer(_)))
}

/// Whether an integer literal is a value of the integer type.
pub(super) fn literal_fits(expr: &Expr, data_type: &Type) -> bool {
    match &expr.kind {
        ExprKind::Constant(value) => {
            let is_whole = data_type.is_integer() || data_type.unsigned().is_some();
            is_whole && retyped(value, &expr.data_type, data_type).is_some()
        }
        _ => false,
    }
}

/// A literal as a value of another type, where that is certain and loses nothing.
fn retyped(value: &Value, from: &Type, to: &Type) -> Option<Value> {
    if value.is_null() {
        return Some(Value::Null);
    }
    let integer = if from.is_integer() { value.as_i128()? } else { return None };
    match to {
        Type::TinyInt => integer.try_into().ok().map(Value::TinyInt),
        Type::SmallInt => integer.try_into().ok().map(Value::SmallInt),
        Type::Integer => integer.try_into().ok().map(Value::Integer),
        Type::BigInt => integer.try_into().ok().map(Value::BigInt),
        Type::HugeInt => Some(Value::HugeInt(integer)),
        Type::Double if integer.abs() <= DOUBLE_EXACT_MAX => Some(Value::Double(integer as f64)),
        Type::Decimal { precision, scale } => {
            let unscaled = integer.checked_mul(10i128.checked_pow((*scale).into())?)?;
            let limit = 10i128.checked_pow((*precision).into())?;
            (unscaled.unsigned_abs() < limit.unsigned_abs()).then_some(Value::Decimal(unscaled))
        }
        unsigned => unsigned.unsigned()?.store(integer.try_into().ok()?),
    }
}
