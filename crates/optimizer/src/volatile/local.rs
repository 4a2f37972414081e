//! Volatile calls that parts of a join condition, or of the body of a lambda, share. No projection
//! can compute them: there is a value per pair of rows, or per element.
//!
//! ```text
//! x >= 1 AND x <= 2      becomes      list_transform([x], c -> c >= 1 AND c <= 2)[1]
//! ```

use super::Sharing;
use crate::{expr::same_expr, stack::deep};
use std::collections::{HashMap, HashSet};
use volley_logical::{ColumnIds, Expr, ExprKind, Occurrence, Parameter, Plan, SpecialForm};
use volley_types::{Type, Value};

/// Rewrites the conditions of joins and the bodies of lambdas of a node.
pub(super) fn share_in_node(plan: &mut Plan, ids: &ColumnIds) {
    for expr in plan.exprs_mut() {
        share_in_lambdas(expr, ids);
    }
    if let Plan::Join { conditions, .. } = plan {
        *conditions = shared_conditions(std::mem::take(conditions), ids);
    }
}

/// The conjuncts; those with copies of one call are joined by AND.
fn shared_conditions(conditions: Vec<Expr>, ids: &ColumnIds) -> Vec<Expr> {
    let mut groups: Vec<(HashSet<Occurrence>, Vec<Expr>)> = Vec::new();
    for condition in conditions {
        let mut calls: HashSet<Occurrence> = occurrences(&condition).collect();
        let mut together = vec![condition];
        let (same, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|it| !it.0.is_disjoint(&calls));
        groups = others;
        for (other_calls, mut exprs) in same {
            calls.extend(other_calls);
            exprs.append(&mut together);
            together = exprs;
        }
        groups.push((calls, together));
    }
    let joined = groups.into_iter().flat_map(|(calls, mut exprs)| match exprs.len() {
        0 | 1 => exprs.pop().map(|it| vec![with_shared(it, 0, ids)]).unwrap_or_default(),
        _ if calls.is_empty() => exprs,
        _ => vec![with_shared(Expr::special(SpecialForm::And, exprs, Type::Boolean), 0, ids)],
    });
    joined.collect()
}

fn share_in_lambdas(expr: &mut Expr, ids: &ColumnIds) {
    deep(|| expr.children_mut().iter_mut().for_each(|it| share_in_lambdas(it, ids)));
    if let ExprKind::Lambda { level, body, .. } = &mut expr.kind {
        let none = Expr::constant(Value::Null, Type::Unknown);
        let inner = std::mem::replace(&mut **body, none);
        **body = with_shared(inner, *level + 1, ids);
    }
}

/// The expression, which is in `level` lambdas, with each volatile call computed once.
fn with_shared(expr: Expr, level: usize, ids: &ColumnIds) -> Expr {
    let Some(part) = shared_part(&expr, ids) else { return expr };
    let (span, mut body) = (expr.span, expr);
    // The column stands for the parameter while lambdas in the body move one level in.
    let column = ids.column("volatile", part.data_type.clone());
    let placeholder = Expr::column(column.id, part.data_type.clone());
    replace(&mut body, &part, &placeholder);
    shift(&mut body, level);
    let mut body = with_shared(body, level + 1, ids);
    let parameter = ExprKind::Parameter(Parameter { level, index: 0 });
    replace(&mut body, &placeholder, &Expr::new(parameter, part.data_type.clone()));
    with_value(part, body, level).at(span)
}

/// A largest part that all copies of its volatile calls share.
fn shared_part(expr: &Expr, ids: &ColumnIds) -> Option<Expr> {
    let mut uses: HashMap<Occurrence, usize> = HashMap::new();
    occurrences(expr).for_each(|it| *uses.entry(it).or_default() += 1);
    uses.retain(|_, uses| *uses > 1);
    if uses.is_empty() || has_subquery(expr) {
        return None;
    }
    let mut sharing = Sharing { uses, parts: HashMap::new(), ids };
    sharing.count(expr);
    let mut shared = Vec::new();
    sharing.collect_shared(expr, &mut shared);
    shared.into_iter().next()
}

/// `body`, whose parameter of a lambda at `level` is `value`.
fn with_value(value: Expr, body: Expr, level: usize) -> Expr {
    let (data_type, result) = (value.data_type.clone(), body.data_type.clone());
    let values = Expr::call("list_value", vec![value], Type::array(data_type.clone()));
    let kind = ExprKind::Lambda { level, parameters: vec![data_type], body: Box::new(body) };
    let lambda = Expr::new(kind, result.clone());
    let array = Type::array(result.clone());
    let mapped = Expr::call("list_transform", vec![values, lambda], array);
    let first = Expr::constant(Value::BigInt(1), Type::BigInt);
    Expr::call("array_extract", vec![mapped, first], result)
}

/// Puts `with` in the place of `part`.
fn replace(expr: &mut Expr, part: &Expr, with: &Expr) {
    if same_expr(expr, part) {
        let span = expr.span;
        *expr = with.clone().at(span);
        return;
    }
    deep(|| expr.children_mut().iter_mut().for_each(|it| replace(it, part, with)));
}

/// Moves the lambdas of an expression that is in `level` lambdas, and what is theirs, one level in.
fn shift(expr: &mut Expr, level: usize) {
    match &mut expr.kind {
        ExprKind::Lambda { level: of, .. } if *of >= level => *of += 1,
        ExprKind::Parameter(parameter) if parameter.level >= level => parameter.level += 1,
        _ => {}
    }
    deep(|| expr.children_mut().iter_mut().for_each(|it| shift(it, level)));
}

/// The volatile calls of an expression, one per copy.
fn occurrences(expr: &Expr) -> impl Iterator<Item = Occurrence> {
    let (mut rest, mut found) = (vec![expr], Vec::new());
    while let Some(expr) = rest.pop() {
        found.extend(expr.occurrence);
        rest.extend(expr.children());
    }
    found.into_iter()
}

fn has_subquery(expr: &Expr) -> bool {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if matches!(expr.kind, ExprKind::Subquery(_)) {
            return true;
        }
        rest.extend(expr.children());
    }
    false
}
