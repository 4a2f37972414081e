//! Turns outer joins into inner joins if a filter above rejects the null-padded rows, and into anti
//! joins if it rejects the others.
//!
//! `L LEFT JOIN R ON c WHERE R.k IS NULL` returns the rows of `L` without a partner if `k` is null
//! in no row of `R` that has one. That is so if `c` is not true of a null `k`, or `R` makes no null
//! `k`. The columns of `R` are null then.

use crate::OptimizerContext;
use crate::columns::{output_set, pass};
use crate::expr::{
    ColumnSet, as_column, as_constant, call_traits, stays_small, substitute, used_columns,
};
use crate::stack::deep;
use std::collections::HashMap;
use volley_error::Result;
use volley_function::Registry;
use volley_logical::{Column, ColumnId, Expr, ExprKind, JoinKind, Plan, SpecialForm};
use volley_types::Value;

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

fn visit_join(plan: Plan, holding: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let mut plan = match ctx.is_enabled("outer_to_anti") && is_anti(&plan, &holding, ctx) {
        true => {
            let (anti, exprs) = anti_join(plan);
            let input = Box::new(visit_join(anti, holding, ctx));
            return Plan::Project { input, exprs };
        }
        false => plan,
    };
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

/// Whether the join is a left or right one whose pairs `holding` rejects.
fn is_anti(plan: &Plan, holding: &[Expr], ctx: &OptimizerContext<'_>) -> bool {
    let Plan::Join { left, right, kind, conditions, lateral: false, .. } = plan else {
        return false;
    };
    let padded = match kind {
        JoinKind::Left => right,
        JoinKind::Right => left,
        _ => return false,
    };
    let made = output_set(padded);
    holding.iter().any(|conjunct| {
        let ExprKind::Special { form: SpecialForm::IsNull, args } = &conjunct.kind else {
            return false;
        };
        let Some(id) = args.first().and_then(as_column).filter(|it| made.contains(it)) else {
            return false;
        };
        let alone = ColumnSet::from([id]);
        conditions.iter().any(|it| rejects_nulls(it, &alone, &ctx.registry))
            || has_no_nulls(padded, id, &ctx.registry)
    })
}

/// Whether the plan shows that a column of its output has no nulls.
fn has_no_nulls(plan: &Plan, id: ColumnId, registry: &Registry) -> bool {
    let alone = ColumnSet::from([id]);
    let rejects = |all: &[Expr]| all.iter().any(|it| rejects_nulls(it, &alone, registry));
    deep(|| match plan {
        Plan::Scan { filters, .. } => rejects(filters),
        Plan::Filter { input, conjuncts } => {
            rejects(conjuncts) || has_no_nulls(input, id, registry)
        }
        Plan::Project { input, exprs } => exprs.iter().find(|it| it.0.id == id).is_some_and(|it| {
            let constant = as_constant(&it.1).is_some_and(|it| !it.is_null());
            constant || as_column(&it.1).is_some_and(|it| has_no_nulls(input, it, registry))
        }),
        Plan::Join { left, right, kind: JoinKind::Inner, conditions, .. } => {
            let side = if output_set(left).contains(&id) { left } else { right };
            rejects(conditions) || has_no_nulls(side, id, registry)
        }
        Plan::Aggregate { input, keys, aggregates } => {
            let counts = aggregates.iter().any(|it| it.0.id == id && it.1.function == "count");
            let key = keys.iter().find(|it| it.0.id == id).and_then(|it| as_column(&it.1));
            counts || key.is_some_and(|it| has_no_nulls(input, it, registry))
        }
        _ => false,
    })
}

/// A left or right join as an anti join, and what makes its columns of those of the anti join.
fn anti_join(plan: Plan) -> (Plan, Vec<(Column, Expr)>) {
    let columns = plan.columns();
    let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
        return (plan, columns.iter().map(pass).collect());
    };
    let (left, right) = if kind == JoinKind::Right { (right, left) } else { (left, right) };
    let kept = output_set(&left);
    let exprs = columns.into_iter().map(|column| match kept.contains(&column.id) {
        true => pass(&column),
        false => {
            let null = Expr::constant(Value::Null, column.data_type.clone());
            (column, null)
        }
    });
    let exprs = exprs.collect();
    let kind = JoinKind::LeftAnti;
    (Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }, exprs)
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
