//! Comparisons of a widened column with a constant: narrows the constant instead. The comparison
//! then reads the column as stored, which scans can prune and evaluate on encoded data.

use super::rewrite::rewrite_exprs;
use crate::OptimizerContext;
use crate::expr::as_constant;
use volley_error::Result;
use volley_logical::{Expr, ExprKind, Plan, SpecialForm};
use volley_types::{
    Type, Value, Zone,
    custom::{TimestampTz, UnsignedInteger},
    implicit_cast_cost,
};

/// Microseconds of a day.
const DAY_MICROS: i128 = 24 * 60 * 60 * 1_000_000;

/// Doubles hold integers up to here exactly.
const DOUBLE_EXACT_MAX: f64 = 9_007_199_254_740_992.0;

const COMPARISONS: &[&str] =
    &["eq", "neq", "lt", "lte", "gt", "gte", "is_distinct_from", "is_not_distinct_from"];

/// Narrows constants that are compared with casts.
pub(super) fn narrow_constants(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    rewrite_exprs(plan, &|expr| narrow_comparison(expr, &ctx.query.time_zone))
}

fn narrow_comparison(expr: &mut Expr, zone: &Zone) {
    match &mut expr.kind {
        ExprKind::Call { name, args } if COMPARISONS.contains(&name.as_str()) => {
            let [a, b] = args.as_mut_slice() else { return };
            let narrowed = narrow_pair(a, b, zone).or_else(|| {
                let (b, a) = narrow_pair(b, a, zone)?;
                Some((a, b))
            });
            if let Some((left, right)) = narrowed {
                (*a, *b) = (left, right);
            }
        }
        ExprKind::Special { form: SpecialForm::In, args } => {
            let Some((tested, list)) = args.split_first() else { return };
            let Some(inner) = cast_input(tested) else { return };
            let list: Option<Vec<Expr>> =
                list.iter().map(|it| narrow(it, &inner.data_type, zone)).collect();
            if let Some(list) = list {
                *args = [inner.clone()].into_iter().chain(list).collect();
            }
        }
        _ => {}
    }
}

/// `cast(a) = constant` as `a = constant`.
fn narrow_pair(cast: &Expr, constant: &Expr, zone: &Zone) -> Option<(Expr, Expr)> {
    let inner = cast_input(cast)?;
    Some((inner.clone(), narrow(constant, &inner.data_type, zone)?))
}

/// What a cast converts that loses nothing and keeps the order.
fn cast_input(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Cast { input, null_on_error: false, package: _ } = &expr.kind else {
        return None;
    };
    let (from, to) = (&input.data_type, &expr.data_type);
    let widens = match (from, to) {
        (Type::Date, Type::Timestamp) => true,
        // Around a change of clocks it does not; `narrow` sees to that.
        (Type::Timestamp, to) if TimestampTz::is(to) => true,
        (Type::TinyInt | Type::SmallInt | Type::Integer, Type::Double) => true,
        _ if from.unsigned().is_some() && *to != Type::Double => {
            from.unsigned() != Some(UnsignedInteger::UHugeInt)
                && (to.is_integer() || to.unsigned().is_some())
                && implicit_cast_cost(from, to).is_some()
        }
        _ => match (from.decimal_shape(), to.decimal_shape()) {
            (Some((p1, s1)), Some((p2, s2))) => {
                let fits_integer = to.is_integer() && from.is_integer() && p1 <= p2;
                let fits_decimal = to.is_decimal() && s1 <= s2 && p1 - s1 <= p2 - s2;
                fits_integer || fits_decimal
            }
            _ => false,
        },
    };
    widens.then_some(input)
}

/// The constant of the narrower type that widens to this one.
fn narrow(constant: &Expr, to: &Type, zone: &Zone) -> Option<Expr> {
    let value = as_constant(constant)?;
    if value.is_null() {
        return Some(Expr::constant(Value::Null, to.clone()).at(constant.span));
    }
    if TimestampTz::is(&constant.data_type) {
        let local = zone.clock().comparable_local(i64::try_from(value.as_i128()?).ok()?)?;
        return Some(Expr::constant(Value::Timestamp(local), to.clone()).at(constant.span));
    }
    let number = match (&constant.data_type, to) {
        (from, _) if from.unsigned().is_some() => {
            i128::try_from(from.unsigned()?.number(value)?).ok()?
        }
        (from, to) if to.unsigned().is_some() && from.is_integer() => value.as_i128()?,
        (Type::Timestamp, Type::Date) => divided(value.as_i128()?, DAY_MICROS)?,
        (Type::Double, _) => whole(value)?,
        (from, to) => {
            let (_, from_scale) = from.decimal_shape()?;
            let (_, to_scale) = to.decimal_shape()?;
            let factor = 10_i128.checked_pow(u32::from(from_scale.checked_sub(to_scale)?))?;
            divided(value.as_i128()?, factor)?
        }
    };
    Some(Expr::constant(value_of(number, to)?, to.clone()).at(constant.span))
}

fn divided(number: i128, by: i128) -> Option<i128> {
    (number % by == 0).then_some(number / by)
}

fn whole(value: &Value) -> Option<i128> {
    let Value::Double(number) = value else { return None };
    let is_whole = number.fract() == 0.0 && number.abs() < DOUBLE_EXACT_MAX;
    is_whole.then_some(*number as i128)
}

/// The number as a value of an integer, decimal or date type, if it fits.
pub(super) fn value_of(number: i128, data_type: &Type) -> Option<Value> {
    Some(match data_type {
        Type::TinyInt => Value::TinyInt(number.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(number.try_into().ok()?),
        Type::Integer => Value::Integer(number.try_into().ok()?),
        Type::BigInt => Value::BigInt(number.try_into().ok()?),
        Type::HugeInt => Value::HugeInt(number),
        Type::Date => Value::Date(number.try_into().ok()?),
        Type::Decimal { precision, .. } => {
            let limit = 10_i128.checked_pow(u32::from(*precision))?;
            (number.abs() < limit).then_some(Value::Decimal(number))?
        }
        unsigned => unsigned.unsigned()?.store(number.try_into().ok()?)?,
    })
}
