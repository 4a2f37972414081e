//! Decides from bounds that no row of a row group can satisfy a filter.
//!
//! A filter drops a row unless it is true; so a part is ruled out when the filter is false or null
//! for all values within the bounds. What is not understood is never ruled out.

use crate::bounds::{Bounds, compare_values, is_ordered};
use std::{cell::RefCell, cmp::Ordering};
use volley_expression::{Expr, ExprKind, SpecialForm, filter::KeyFilter};
use volley_types::{Type, Value};

const DAY_MICROS: i128 = 86_400_000_000;

/// Whether some row may satisfy `filter`. `bounds` gives those of a column by its position, `rows`
/// is the number of rows.
pub fn may_match(filter: &Expr, rows: u64, bounds: &dyn Fn(usize) -> Bounds) -> bool {
    match &filter.kind {
        ExprKind::Constant(value) => value.as_bool() == Some(true),
        ExprKind::Special { form: SpecialForm::And, args } => {
            args.iter().all(|it| may_match(it, rows, bounds))
        }
        ExprKind::Special { form: SpecialForm::Or, args } => {
            // All bounds are asked for in any case: see `bounded_columns`.
            let may = args.iter().map(|it| may_match(it, rows, bounds));
            may.collect::<Vec<_>>().contains(&true)
        }
        ExprKind::Special { form: SpecialForm::IsNull, args } => match args.as_slice() {
            [Expr { kind: ExprKind::Column(column), .. }] => bounds(*column).nulls != Some(0),
            _ => true,
        },
        ExprKind::Special { form: SpecialForm::In, args } => match args.split_first() {
            Some((column, list)) => {
                list.iter().any(|it| may_compare(column, "eq", it, rows, bounds))
            }
            None => true,
        },
        ExprKind::Call { name, args } => match (name.as_str(), args.as_slice()) {
            ("not", [inner]) => may_be_false(inner, rows, bounds),
            (name, [left, right]) => may_compare(left, name, right, rows, bounds),
            _ => true,
        },
        _ => true,
    }
}

/// The columns whose bounds may decide `filter`.
pub fn bounded_columns(filter: &Expr) -> Vec<usize> {
    let columns = RefCell::new(Vec::new());
    may_match(filter, 1, &|column| {
        columns.borrow_mut().push(column);
        Bounds::default()
    });
    let mut columns = columns.into_inner();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Whether some of `rows` rows within `bounds` may be in the filter of a join.
pub fn may_join(filter: &KeyFilter, rows: u64, bounds: &Bounds) -> bool {
    let integer = |value: &Value| i64::try_from(value.as_i128()?).ok();
    if bounds.nulls == Some(rows) {
        return false;
    }
    match (bounds.min.as_ref().and_then(integer), bounds.max.as_ref().and_then(integer)) {
        (Some(min), Some(max)) => filter.may_contain(min, max),
        _ => true,
    }
}

/// Whether some row may make `filter` false: understood for IS NULL alone.
fn may_be_false(filter: &Expr, rows: u64, bounds: &dyn Fn(usize) -> Bounds) -> bool {
    match &filter.kind {
        ExprKind::Special { form: SpecialForm::IsNull, args } => match args.as_slice() {
            [Expr { kind: ExprKind::Column(column), .. }] => bounds(*column).nulls != Some(rows),
            _ => true,
        },
        _ => true,
    }
}

/// Whether some row may satisfy the comparison `left name right`.
fn may_compare(
    left: &Expr,
    name: &str,
    right: &Expr,
    rows: u64,
    bounds: &dyn Fn(usize) -> Bounds,
) -> bool {
    let (operand, name, value) = match (&left.kind, &right.kind) {
        (_, ExprKind::Constant(value)) => (left, name, value),
        (ExprKind::Constant(value), _) => (right, flip(name), value),
        _ => return true,
    };
    if left.data_type != right.data_type || !is_ordered(&left.data_type) {
        return true;
    }
    let Some(bounds) = operand_bounds(operand, bounds) else { return true };
    let is_comparison = matches!(name, "eq" | "neq" | "lt" | "lte" | "gt" | "gte");
    if value.is_null() {
        return !is_comparison;
    }
    if is_comparison && bounds.nulls == Some(rows) {
        return false;
    }
    // How the bounds stand to the constant; unknown bounds leave every possibility.
    let min = bounds.min.as_ref().and_then(|it| compare_values(it, value));
    let max = bounds.max.as_ref().and_then(|it| compare_values(it, value));
    match name {
        "eq" | "is_not_distinct_from" => {
            min != Some(Ordering::Greater) && max != Some(Ordering::Less)
        }
        "neq" => (min, max) != (Some(Ordering::Equal), Some(Ordering::Equal)),
        "lt" => !matches!(min, Some(Ordering::Equal | Ordering::Greater)),
        "lte" => min != Some(Ordering::Greater),
        "gt" => !matches!(max, Some(Ordering::Equal | Ordering::Less)),
        "gte" => max != Some(Ordering::Less),
        "starts_with" => may_start_with(&bounds, value),
        "like" => may_be_like(&bounds, value),
        _ => true,
    }
}

/// The bounds of a column, or of one that is cast to a type that holds all its values in the same
/// order.
fn operand_bounds(operand: &Expr, bounds: &dyn Fn(usize) -> Bounds) -> Option<Bounds> {
    match &operand.kind {
        ExprKind::Column(column) => Some(bounds(*column)),
        ExprKind::Cast { input, .. } => {
            let ExprKind::Column(column) = input.kind else { return None };
            let inner = bounds(column);
            let cast = |it: &Option<Value>| {
                it.as_ref().and_then(|it| widened(it, &input.data_type, &operand.data_type))
            };
            let (min, max) = (cast(&inner.min), cast(&inner.max));
            let is_known = widened(&Value::Null, &input.data_type, &operand.data_type).is_some();
            is_known.then_some(Bounds { min, max, nulls: inner.nulls, distinct: None })
        }
        _ => None,
    }
}

/// A value in a wider type; `None` when the cast does not keep all values and their order.
fn widened(value: &Value, from: &Type, to: &Type) -> Option<Value> {
    let number = |value: &Value| match (value, from.unsigned()) {
        (Value::Null, _) => Some(0),
        (value, None) => value.as_i128(),
        (value, Some(unsigned)) => i128::try_from(unsigned.number(value)?).ok(),
    };
    let shape = |it: &Type| match it.unsigned() {
        Some(unsigned) => Some((unsigned.digits(), 0)),
        None => it.decimal_shape(),
    };
    let value_of: fn(i128) -> Option<Value> = match to {
        Type::SmallInt => |it| Some(Value::SmallInt(it.try_into().ok()?)),
        Type::Integer => |it| Some(Value::Integer(it.try_into().ok()?)),
        Type::BigInt => |it| Some(Value::BigInt(it.try_into().ok()?)),
        Type::HugeInt => |it| Some(Value::HugeInt(it)),
        Type::Timestamp => |it| Some(Value::Timestamp(it.try_into().ok()?)),
        Type::Decimal { .. } => |it| Some(Value::Decimal(it)),
        _ => return None,
    };
    let factor = match (from, to) {
        (Type::Date, Type::Timestamp) => DAY_MICROS,
        (_, Type::Timestamp) => return None,
        _ => {
            let ((p1, s1), (p2, s2)) = (shape(from)?, to.decimal_shape()?);
            if s2 < s1 || p2 - s2 < p1 - s1 {
                return None;
            }
            10i128.checked_pow(u32::from(s2 - s1))?
        }
    };
    value_of(number(value)?.checked_mul(factor)?)
}

/// The comparison with its sides exchanged; what has no mirror image is not understood.
fn flip(name: &str) -> &str {
    match name {
        "lt" => "gt",
        "lte" => "gte",
        "gt" => "lt",
        "gte" => "lte",
        "eq" | "neq" | "is_not_distinct_from" => name,
        _ => "",
    }
}

fn may_start_with(bounds: &Bounds, prefix: &Value) -> bool {
    let Some(prefix) = prefix.as_str().map(str::as_bytes) else { return true };
    let cut = |it: &Value| {
        let bytes = it.as_str().map(str::as_bytes)?;
        Some(bytes.get(..prefix.len().min(bytes.len())).unwrap_or_default().to_vec())
    };
    let min = bounds.min.as_ref().and_then(cut);
    let max = bounds.max.as_ref().and_then(cut);
    min.is_none_or(|it| it.as_slice() <= prefix) && max.is_none_or(|it| it.as_slice() >= prefix)
}

fn may_be_like(bounds: &Bounds, pattern: &Value) -> bool {
    let Some(pattern) = pattern.as_str() else { return true };
    let prefix = pattern.split(['%', '_']).next().unwrap_or_default();
    prefix.contains('\\') || may_start_with(bounds, &Value::text(prefix))
}
