//! Boolean simplification.
//!
//! In three-valued logic, AND and OR keep their laws: they nest flat, absorb repetitions, and
//! distribute. A factor common to all terms of an OR comes out of it: `(a AND b) OR (a AND c)` is
//! `a AND (b OR c)`; then `a` may be a join's key or reach a scan.

use super::rewrite::rewrite_exprs;
use crate::OptimizerContext;
use crate::expr::{
    and, as_column, as_constant, binary_call, fingerprint, negated, or, same_expr, split,
    without_duplicates,
};
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{Expr, ExprKind, Plan, SpecialForm};
use volley_types::{Type, Value};

/// An OR of this many equalities of one expression with constants becomes an IN list.
const IN_LIST_MIN: usize = 3;

/// Simplifies all conditions.
pub(super) fn simplify_booleans(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let plan = rewrite_exprs(plan, &simplify)?;
    super::cte::with_ctes(plan, &mut |plan| crate::columns::rewrite_up(plan, &mut split_node))
}

/// ANDs at the top of conditions become conjuncts; TRUE vanishes.
fn split_node(mut plan: Plan) -> Result<Plan> {
    match &mut plan {
        Plan::Filter { conjuncts, .. } | Plan::Join { conditions: conjuncts, .. } => {
            flatten(conjuncts);
        }
        _ => return Ok(plan),
    }
    match plan {
        Plan::Filter { input, conjuncts } if conjuncts.is_empty() => Ok(*input),
        other => Ok(other),
    }
}

fn flatten(conjuncts: &mut Vec<Expr>) {
    let mut flat = Vec::with_capacity(conjuncts.len());
    for conjunct in std::mem::take(conjuncts) {
        split(conjunct, SpecialForm::And, &mut flat);
    }
    flat.retain(|it| as_bool(it) != Some(true));
    *conjuncts = without_duplicates(flat);
}

/// Simplifies one node whose parts are simple.
pub(super) fn simplify(expr: &mut Expr) {
    match &expr.kind {
        ExprKind::Special { form: SpecialForm::And | SpecialForm::Or, .. } => simplify_terms(expr),
        ExprKind::Call { name, .. } if name == "not" => simplify_not(expr),
        ExprKind::Special { form: SpecialForm::In, args } if args.len() == 2 => {
            let args = args.clone();
            let span = expr.span;
            *expr = Expr::call("eq", args, Type::Boolean).at(span);
        }
        _ => {}
    }
}

fn as_bool(expr: &Expr) -> Option<bool> {
    as_constant(expr)?.as_bool()
}

fn simplify_terms(expr: &mut Expr) {
    let ExprKind::Special { form, .. } = &expr.kind else { return };
    let (form, span) = (*form, expr.span);
    let is_and = form == SpecialForm::And;
    let mut terms = Vec::new();
    split(std::mem::replace(expr, Expr::boolean(is_and)), form, &mut terms);
    // TRUE does nothing to an AND and decides an OR; FALSE the other way round.
    if terms.iter().any(|it| as_bool(it) == Some(!is_and)) {
        *expr = Expr::boolean(!is_and).at(span);
        return;
    }
    terms.retain(|it| as_bool(it) != Some(is_and));
    let terms = without_duplicates(terms);
    let simple = match is_and {
        true => and(terms),
        false => factored(lists(terms)),
    };
    *expr = simple.at(span);
}

/// `NOT` of a comparison is the opposite comparison; two NOTs cancel.
fn simplify_not(expr: &mut Expr) {
    let Some(inner) = negated(expr) else { return };
    if let Some(inner) = negated(inner) {
        *expr = inner.clone();
        return;
    }
    if let Some(value) = as_constant(inner) {
        if let Some(value) = value.as_bool() {
            *expr = Expr::boolean(!value).at(expr.span);
        }
        return;
    }
    let ExprKind::Call { name, args } = &inner.kind else { return };
    if let Some(opposite) = opposite(name) {
        *expr = Expr::call(opposite, args.clone(), Type::Boolean).at(inner.span);
    }
}

fn opposite(comparison: &str) -> Option<&'static str> {
    Some(match comparison {
        "eq" => "neq",
        "neq" => "eq",
        "lt" => "gte",
        "lte" => "gt",
        "gt" => "lte",
        "gte" => "lt",
        "is_distinct_from" => "is_not_distinct_from",
        "is_not_distinct_from" => "is_distinct_from",
        _ => return None,
    })
}

/// Equalities of one expression with constants become an IN list.
fn lists(terms: Vec<Expr>) -> Vec<Expr> {
    let mut by_tested: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, term) in terms.iter().enumerate() {
        if let Some((tested, _)) = as_equal_constant(term) {
            by_tested.entry(fingerprint(tested)).or_default().push(index);
        }
    }
    let mut list_at: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut listed = vec![false; terms.len()];
    for group in by_tested.into_values() {
        let Some(first) = group.first().and_then(|it| as_equal_constant(&terms[*it])) else {
            continue;
        };
        let same =
            |it: &usize| as_equal_constant(&terms[*it]).is_some_and(|it| same_expr(it.0, first.0));
        let group: Vec<usize> = group.iter().copied().filter(same).collect();
        if group.len() >= IN_LIST_MIN {
            group.iter().for_each(|it| listed[*it] = true);
            list_at.insert(group[0], group);
        }
    }
    let mut result = Vec::with_capacity(terms.len());
    for (index, term) in terms.iter().enumerate() {
        match list_at.get(&index) {
            Some(group) => result.push(in_list(&terms, group)),
            None if listed[index] => {}
            None => result.push(term.clone()),
        }
    }
    result
}

fn in_list(terms: &[Expr], group: &[usize]) -> Expr {
    let mut args = Vec::with_capacity(group.len() + 1);
    for index in group {
        let Some((tested, constant)) = as_equal_constant(&terms[*index]) else { continue };
        if args.is_empty() {
            args.push(tested.clone());
        }
        args.push(constant.clone());
    }
    Expr::special(SpecialForm::In, args, Type::Boolean).at(terms[group[0]].span)
}

/// `column = constant`, either way round.
fn as_equal_constant(expr: &Expr) -> Option<(&Expr, &Expr)> {
    let (a, b) = binary_call(expr, "eq")?;
    let pair = |tested, constant| {
        let value = as_constant(constant)?;
        let is_plain = as_column(tested).is_some() && !matches!(value, Value::Null);
        is_plain.then_some((tested, constant))
    };
    pair(a, b).or_else(|| pair(b, a))
}

/// Takes the conjuncts that all terms of an OR have out of it.
fn factored(terms: Vec<Expr>) -> Expr {
    let mut parts: Vec<Vec<Expr>> = Vec::with_capacity(terms.len());
    for term in terms {
        let mut conjuncts = Vec::new();
        split(term, SpecialForm::And, &mut conjuncts);
        parts.push(conjuncts);
    }
    let Some((first, others)) = parts.split_first() else { return or(Vec::new()) };
    let in_all = |it: &&Expr| others.iter().all(|part| part.iter().any(|own| same_expr(own, it)));
    // Most ORs end here: nothing of the first term is in the second one.
    let common: Vec<Expr> = first.iter().filter(in_all).cloned().collect();
    if common.is_empty() || others.is_empty() {
        return or(parts.into_iter().map(and).collect());
    }
    let rest = parts.into_iter().map(|mut part| {
        part.retain(|it| !common.iter().any(|own| same_expr(own, it)));
        part
    });
    let rest: Vec<Vec<Expr>> = rest.collect();
    let mut conjuncts = common;
    if rest.iter().all(|it| !it.is_empty()) {
        conjuncts.push(or(lists(rest.into_iter().map(and).collect())));
    }
    and(conjuncts)
}
