//! Turns outer joins into inner joins if a filter above rejects the null-padded rows.

use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{ColumnSet, call_traits, stays_small, substitute, used_columns};
use crate::stack::deep;
use std::collections::HashMap;
use volley_error::Result;
use volley_function::Registry;
use volley_logical::{ColumnId, Expr, ExprKind, JoinKind, Plan, SpecialForm};

/// Simplifies the kinds of all outer joins.
pub(super) fn simplify_outer_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, Vec::new(), ctx)))
}

/// `holding`: conjuncts that hold of every row that matters above the plan.
fn visit(mut plan: Plan, mut holding: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    deep(|| {
        match &mut plan {
            Plan::Filter { conjuncts, .. } => holding.extend(conjuncts.iter().cloned()),
            Plan::Project { exprs, .. } => {
                let by: HashMap<ColumnId, Expr> =
                    exprs.iter().map(|it| (it.0.id, it.1.clone())).collect();
                holding.retain(|it| stays_small(it, |id| by.get(&id)));
                holding.iter_mut().for_each(|it| substitute(it, &by));
            }
            Plan::Join { .. } => return visit_join(plan, holding, ctx),
            Plan::Sort { .. } => {}
            Plan::Aggregate { keys, .. } if !keys.is_empty() => {
                let by: HashMap<ColumnId, Expr> =
                    keys.iter().map(|it| (it.0.id, it.1.clone())).collect();
                holding.retain(|it| {
                    used_columns(it).iter().all(|id| by.contains_key(id))
                        && stays_small(it, |id| by.get(&id))
                });
                holding.iter_mut().for_each(|it| substitute(it, &by));
            }
            _ => holding.clear(),
        }
        for input in plan.inputs_mut() {
            *input = visit(std::mem::take(input), holding.clone(), ctx);
        }
        plan
    })
}

fn visit_join(mut plan: Plan, holding: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::Join { left, right, kind, conditions, .. } = &mut plan else { return plan };
    let rejects = |side: &Plan| {
        let columns = output_set(side);
        holding.iter().any(|it| rejects_nulls(it, &columns, &ctx.registry))
    };
    *kind = match *kind {
        JoinKind::Left if rejects(right) => JoinKind::Inner,
        JoinKind::Right if rejects(left) => JoinKind::Inner,
        JoinKind::Full => match (rejects(left), rejects(right)) {
            (true, true) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Full,
        },
        kind => kind,
    };
    let (mut to_left, mut to_right) = (Vec::new(), Vec::new());
    match kind {
        JoinKind::Inner => {
            to_left = holding;
            to_left.extend(conditions.iter().cloned());
            to_right = to_left.clone();
        }
        JoinKind::LeftSemi => {
            to_left = holding;
            to_left.extend(conditions.iter().cloned());
            to_right = conditions.clone();
        }
        JoinKind::Left | JoinKind::LeftAnti | JoinKind::LeftMark => {
            to_left = holding;
            to_right = if *kind == JoinKind::Left { conditions.clone() } else { Vec::new() };
        }
        JoinKind::Right => {
            to_right = holding;
            to_left = conditions.clone();
        }
        _ => {}
    }
    // A conjunct on both sides says nothing of one of them alone but what it says of its nulls.
    **left = visit(std::mem::take(&mut **left), to_left, ctx);
    **right = visit(std::mem::take(&mut **right), to_right, ctx);
    plan
}

/// Whether an expression is null when all of `columns` are.
pub(super) fn is_null_of(expr: &Expr, columns: &ColumnSet, registry: &Registry) -> bool {
    known(expr, columns, registry) == Known::Null
}

/// What is known of an expression's value when some columns are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Null,
    True,
    False,
    /// False or null.
    NotTrue,
    Nothing,
}

/// Whether a conjunct is not true when all of `columns` that it uses are null.
pub(super) fn rejects_nulls(conjunct: &Expr, columns: &ColumnSet, registry: &Registry) -> bool {
    if used_columns(conjunct).is_disjoint(columns) {
        return false;
    }
    matches!(known(conjunct, columns, registry), Known::Null | Known::False | Known::NotTrue)
}

fn known(expr: &Expr, columns: &ColumnSet, registry: &Registry) -> Known {
    deep(|| match &expr.kind {
        ExprKind::Column(id) if columns.contains(id) => Known::Null,
        ExprKind::Constant(value) => match (value.is_null(), value.as_bool()) {
            (true, _) => Known::Null,
            (_, Some(true)) => Known::True,
            (_, Some(false)) => Known::False,
            _ => Known::Nothing,
        },
        ExprKind::Cast { input, .. } => match known(input, columns, registry) {
            Known::Null => Known::Null,
            _ => Known::Nothing,
        },
        ExprKind::Call { name, args } => known_call(name, args, columns, registry),
        ExprKind::Special { form, args } => known_form(*form, args, columns, registry),
        ExprKind::Column(_)
        | ExprKind::Parameter(_)
        | ExprKind::Lambda { .. }
        | ExprKind::Subquery(_) => Known::Nothing,
    })
}

fn known_call(name: &str, args: &[Expr], columns: &ColumnSet, registry: &Registry) -> Known {
    let parts: Vec<Known> = args.iter().map(|it| known(it, columns, registry)).collect();
    if let ("not", [part]) = (name, parts.as_slice()) {
        return match part {
            Known::True => Known::False,
            Known::False => Known::True,
            Known::Null => Known::Null,
            _ => Known::Nothing,
        };
    }
    if !parts.contains(&Known::Null) {
        return Known::Nothing;
    }
    match call_traits(name, args, registry) {
        Some(traits) if traits.propagates_nulls => Known::Null,
        _ => Known::Nothing,
    }
}

fn known_form(form: SpecialForm, args: &[Expr], columns: &ColumnSet, registry: &Registry) -> Known {
    let mut parts = args.iter().map(|it| known(it, columns, registry));
    let is_not_true = |it: Known| matches!(it, Known::Null | Known::False | Known::NotTrue);
    match form {
        SpecialForm::And if parts.any(is_not_true) => Known::NotTrue,
        SpecialForm::Or if parts.all(is_not_true) => Known::NotTrue,
        SpecialForm::In if parts.next() == Some(Known::Null) => Known::Null,
        SpecialForm::Coalesce if parts.all(|it| it == Known::Null) => Known::Null,
        SpecialForm::IsNull if parts.next() == Some(Known::Null) => Known::True,
        _ => Known::Nothing,
    }
}
