//! The share of rows that satisfy a condition.

use super::value::{as_number, steps};
use super::{ColumnEstimate, Estimate};
use crate::expr::{as_column, as_constant, binary_call, negated};
use volley_logical::{ColumnId, Expr, ExprKind, SpecialForm};
use volley_types::Value;

/// Conditions about which nothing is known.
const UNKNOWN: f64 = 0.25;

/// Comparisons `<`, `>` of which no range is known.
const RANGE_UNKNOWN: f64 = 1.0 / 3.0;

/// LIKE with a fixed beginning.
const LIKE_PREFIX: f64 = 0.05;

/// LIKE with text in the middle.
const LIKE_INSIDE: f64 = 0.1;

/// No condition is believed to keep less.
const SHARE_MIN: f64 = 1e-9;

/// The share of rows that satisfy all conjuncts. Two bounds of one column are one range.
pub(super) fn conjuncts_share(conjuncts: &[Expr], input: &Estimate) -> f64 {
    let mut ranges: Vec<(ColumnId, f64, f64)> = Vec::new();
    let mut share = 1.0;
    for conjunct in conjuncts {
        match as_bound(conjunct, input) {
            Some((id, low, high)) => match ranges.iter_mut().find(|it| it.0 == id) {
                Some(range) => {
                    range.1 = range.1.max(low);
                    range.2 = range.2.min(high);
                }
                None => ranges.push((id, low, high)),
            },
            None => share *= condition_share(conjunct, input),
        }
    }
    for (id, low, high) in ranges {
        let column = input.column(id);
        share *= (high - low).clamp(1.0 / column.distinct.max(1.0), 1.0) * (1.0 - column.nulls);
    }
    share.clamp(SHARE_MIN, 1.0)
}

/// The share of rows for which a condition is true.
fn condition_share(condition: &Expr, input: &Estimate) -> f64 {
    match &condition.kind {
        ExprKind::Constant(Value::Boolean(true)) => 1.0,
        ExprKind::Constant(_) => 0.0,
        ExprKind::Special { form, args } => form_share(*form, args, input),
        ExprKind::Call { name, args } if name == "not" => match args.first() {
            Some(inner) => (1.0 - condition_share(inner, input)).clamp(0.0, 1.0),
            None => UNKNOWN,
        },
        ExprKind::Call { name, args } => call_share(condition, name, args, input),
        _ => UNKNOWN,
    }
}

fn form_share(form: SpecialForm, args: &[Expr], input: &Estimate) -> f64 {
    match form {
        SpecialForm::And => conjuncts_share(args, input),
        SpecialForm::Or => {
            let none: f64 = args.iter().map(|it| 1.0 - condition_share(it, input)).product();
            1.0 - none
        }
        SpecialForm::In => {
            let listed = args.len().saturating_sub(1) as f64;
            match args.first() {
                Some(tested) => (listed / distinct(tested, input)).min(1.0),
                None => UNKNOWN,
            }
        }
        SpecialForm::IsNull => match args.first().and_then(as_column) {
            Some(id) => input.column(id).nulls.max(SHARE_MIN),
            None => 0.05,
        },
        _ => UNKNOWN,
    }
}

fn call_share(condition: &Expr, name: &str, args: &[Expr], input: &Estimate) -> f64 {
    match (name, args) {
        ("eq" | "is_not_distinct_from", [a, b]) => equal_share(a, b, input),
        ("neq" | "is_distinct_from", [a, b]) => 1.0 - equal_share(a, b, input),
        ("lt" | "lte" | "gt" | "gte", _) => match as_bound(condition, input) {
            Some((_, low, high)) => (high - low).clamp(0.0, 1.0),
            None => RANGE_UNKNOWN,
        },
        ("like" | "ilike", [_, pattern, ..]) => {
            match as_constant(pattern).and_then(Value::as_str) {
                Some(pattern) if !pattern.starts_with(['%', '_']) => LIKE_PREFIX,
                _ => LIKE_INSIDE,
            }
        }
        ("starts_with", _) => LIKE_PREFIX,
        ("contains" | "ends_with", _) => LIKE_INSIDE,
        _ => UNKNOWN,
    }
}

fn equal_share(a: &Expr, b: &Expr, input: &Estimate) -> f64 {
    let is_outside = |column: &Expr, constant: &Expr| {
        let value = as_constant(constant).and_then(|it| as_number(it, &constant.data_type));
        let range = as_column(column).and_then(|id| input.column(id).range);
        value.zip(range).is_some_and(|(value, (low, high))| value < low || value > high)
    };
    if is_outside(a, b) || is_outside(b, a) {
        return SHARE_MIN;
    }
    1.0 / distinct(a, input).max(distinct(b, input))
}

/// The number of values of an expression.
fn distinct(expr: &Expr, input: &Estimate) -> f64 {
    if as_constant(expr).is_some() {
        return 1.0;
    }
    match as_column(expr) {
        Some(id) => input.column(id).distinct.max(1.0),
        None => {
            let used = crate::expr::used_columns(expr);
            let all: f64 = used.iter().map(|it| input.column(*it).distinct).product();
            // A function of a column, such as its first letters, has fewer values than it.
            all.clamp(1.0, input.rows.max(1.0)).sqrt()
        }
    }
}

/// `column < constant` and the like, as the part of the column's range that satisfies it: from and
/// to, of 0 to 1.
fn as_bound(condition: &Expr, input: &Estimate) -> Option<(ColumnId, f64, f64)> {
    let (id, value, is_upper) = as_comparison(condition)?;
    let (low, high) = input.column(id).range?;
    if high <= low {
        let satisfied = if is_upper { low <= value } else { low >= value };
        return Some((id, 0.0, f64::from(u8::from(satisfied))));
    }
    let at = ((value - low) / (high - low)).clamp(0.0, 1.0);
    Some(if is_upper { (id, 0.0, at) } else { (id, at, 1.0) })
}

/// A comparison of a column with a constant: the constant, and whether it bounds from above.
fn as_comparison(condition: &Expr) -> Option<(ColumnId, f64, bool)> {
    for (name, is_upper) in [("lt", true), ("lte", true), ("gt", false), ("gte", false)] {
        let Some((a, b)) = binary_call(condition, name) else { continue };
        let number = |it: &Expr| as_number(as_constant(it)?, &it.data_type);
        if let (Some(id), Some(value)) = (as_column(a), number(b)) {
            return Some((id, value, is_upper));
        }
        if let (Some(value), Some(id)) = (number(a), as_column(b)) {
            return Some((id, value, !is_upper));
        }
    }
    None
}

/// The share of pairs that agree in a key: every value of the side with fewer ones finds its
/// partner.
pub(super) fn key_share(a: &Expr, b: &Expr, left: &Estimate, right: &Estimate) -> f64 {
    let of = |expr: &Expr, input: &Estimate| match as_column(expr) {
        Some(id) => input.column(id),
        None => ColumnEstimate::of_distinct(distinct(expr, input)),
    };
    let (a, b) = (of(a, left), of(b, right));
    (1.0 - a.nulls) * (1.0 - b.nulls) / a.distinct.max(b.distinct).max(1.0)
}

/// What a conjunct leaves of a column's range and values.
pub(super) fn narrow(estimate: &mut Estimate, conjunct: &Expr) {
    if let Some((id, value, is_upper)) = as_comparison(conjunct) {
        if let Some(column) = estimate.columns.get_mut(&id) {
            column.nulls = 0.0;
            narrow_range(column, value, is_upper, conjunct);
        }
        return;
    }
    if let Some((id, values)) = listed_values(conjunct)
        && let Some(column) = estimate.columns.get_mut(&id)
    {
        column.nulls = 0.0;
        column.distinct = column.distinct.min(values.max(1.0));
    }
    if negated(conjunct)
        .is_some_and(|it| matches!(it.kind, ExprKind::Special { form: SpecialForm::IsNull, .. }))
        && let Some(id) = crate::expr::used_columns(conjunct).first()
        && let Some(column) = estimate.columns.get_mut(id)
    {
        column.nulls = 0.0;
    }
}

/// The column that a conjunct compares with constants, and how many values of it satisfy it.
fn listed_values(conjunct: &Expr) -> Option<(ColumnId, f64)> {
    match &conjunct.kind {
        ExprKind::Special { form: SpecialForm::In, args } => {
            let id = args.first().and_then(as_column)?;
            Some((id, args.len().saturating_sub(1) as f64))
        }
        ExprKind::Special { form: SpecialForm::Or, args } => {
            let mut terms = args.iter().map(listed_values);
            let (id, first) = terms.next()??;
            let others = terms.map(|it| it.filter(|it| it.0 == id).map(|it| it.1));
            Some((id, first + others.sum::<Option<f64>>()?))
        }
        _ => {
            let (a, b) = binary_call(conjunct, "eq")?;
            match (as_column(a), as_column(b)) {
                (Some(id), None) if as_constant(b).is_some() => Some((id, 1.0)),
                (None, Some(id)) if as_constant(a).is_some() => Some((id, 1.0)),
                _ => None,
            }
        }
    }
}

fn narrow_range(column: &mut ColumnEstimate, value: f64, is_upper: bool, conjunct: &Expr) {
    let Some((low, high)) = column.range else { return };
    let (new_low, new_high) =
        if is_upper { (low, high.min(value)) } else { (low.max(value), high) };
    if new_low > new_high {
        column.distinct = 1.0;
        return;
    }
    column.range = Some((new_low, new_high));
    let data_type = conjunct.children().first().map(|it| &it.data_type);
    let share = if high > low { (new_high - new_low) / (high - low) } else { 1.0 };
    let by_share = (column.distinct * share).max(1.0);
    let by_steps = data_type.and_then(|it| steps(new_low, new_high, it));
    column.distinct = by_steps.map_or(by_share, |it| it.min(by_share).max(1.0));
}
