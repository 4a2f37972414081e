//! Drops subplans without rows.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::as_constant;
use volley_error::Result;
use volley_logical::{Column, Expr, JoinKind, Plan, SetOperation};
use volley_types::Value;

/// Replaces plans without rows by empty values.
pub(super) fn drop_empty(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(simplified(node))))
}

fn is_empty(plan: &Plan) -> bool {
    matches!(plan, Plan::Values { rows, .. } if rows.is_empty())
}

/// A condition that no row satisfies.
fn is_never(conjuncts: &[Expr]) -> bool {
    conjuncts.iter().any(|it| matches!(as_constant(it), Some(Value::Null | Value::Boolean(false))))
}

fn none(plan: &Plan) -> Plan {
    Plan::Values { columns: plan.columns(), rows: Vec::new() }
}

/// One node whose inputs are simplified.
fn simplified(plan: Plan) -> Plan {
    match &plan {
        Plan::Filter { conjuncts, input } if is_never(conjuncts) || is_empty(input) => none(&plan),
        Plan::Scan { filters, .. } if is_never(filters) => none(&plan),
        Plan::Limit { limit: Some(0), .. } | Plan::GroupLimit { limit: Some(0), .. } => none(&plan),
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::GroupLimit { input, .. }
        | Plan::UniqueId { input, .. }
        | Plan::Unnest { input, .. }
        | Plan::Window { input, .. }
            if is_empty(input) =>
        {
            none(&plan)
        }
        Plan::Aggregate { input, keys, .. } if !keys.is_empty() && is_empty(input) => none(&plan),
        Plan::GroupId { input, sets, present, .. }
            if is_empty(input)
                && (present.is_none() || sets.iter().all(|it| !it.keys.is_empty())) =>
        {
            none(&plan)
        }
        Plan::Join { .. } => simplified_join(plan),
        Plan::SetOperation { .. } => simplified_set_operation(plan),
        Plan::Recursive { inputs, .. } if inputs.first().is_some_and(|it| is_empty(&it.0)) => {
            none(&plan)
        }
        _ => plan,
    }
}

fn simplified_join(plan: Plan) -> Plan {
    let Plan::Join { left, right, kind, conditions, .. } = &plan else { return plan };
    let no_left = is_empty(left);
    let no_right = is_empty(right);
    let no_pairs = no_left || no_right || is_never(conditions);
    if !no_pairs {
        return plan;
    }
    let is_none = match kind {
        JoinKind::Inner | JoinKind::LeftSemi | JoinKind::RightSemi => true,
        JoinKind::Left | JoinKind::LeftAnti | JoinKind::LeftMark => no_left,
        JoinKind::Right | JoinKind::RightAnti => no_right,
        JoinKind::Full => no_left && no_right,
    };
    if is_none {
        return none(&plan);
    }
    let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
        return plan;
    };
    match kind {
        JoinKind::Left => beside_nulls(*left, right.columns()),
        JoinKind::Right => beside_nulls(*right, left.columns()),
        JoinKind::LeftAnti if no_right => *left,
        JoinKind::RightAnti if no_left => *right,
        JoinKind::Full if no_left => beside_nulls(*right, left.columns()),
        JoinKind::Full if no_right => beside_nulls(*left, right.columns()),
        JoinKind::LeftMark if no_right => marked_false(*left, mark),
        _ => Plan::Join { left, right, kind, conditions, null_aware, mark, lateral },
    }
}

/// The rows of a plan next to nulls.
fn beside_nulls(plan: Plan, missing: Vec<Column>) -> Plan {
    let mut exprs: Vec<_> = plan.columns().iter().map(crate::columns::pass).collect();
    for column in missing {
        let null = Expr::constant(Value::Null, column.data_type.clone());
        exprs.push((column, null));
    }
    Plan::Project { input: Box::new(plan), exprs }
}

/// Nothing is in, and nothing matches, an empty input.
fn marked_false(plan: Plan, mark: Option<Column>) -> Plan {
    let mut exprs: Vec<_> = plan.columns().iter().map(crate::columns::pass).collect();
    exprs.extend(mark.map(|it| (it, Expr::boolean(false))));
    Plan::Project { input: Box::new(plan), exprs }
}

fn simplified_set_operation(plan: Plan) -> Plan {
    let Plan::SetOperation { operation, all, mut inputs, columns } = plan else { return plan };
    let first_is_empty = inputs.first().is_some_and(|it| is_empty(&it.0));
    let nothing = match operation {
        SetOperation::Union => inputs.iter().all(|it| is_empty(&it.0)),
        SetOperation::Intersect => inputs.iter().any(|it| is_empty(&it.0)),
        SetOperation::Except => first_is_empty,
    };
    if nothing {
        return Plan::Values { columns, rows: Vec::new() };
    }
    if operation == SetOperation::Union {
        inputs.retain(|it| !is_empty(&it.0));
    }
    if let (true, [(input, feeds)]) = (all, inputs.as_mut_slice()) {
        let exprs = columns.into_iter().zip(feeds.iter());
        let exprs = exprs.map(|(column, feed)| {
            let expr = Expr::column(*feed, column.data_type.clone());
            (column, expr)
        });
        let exprs = exprs.collect();
        return Plan::Project { input: Box::new(std::mem::take(input)), exprs };
    }
    Plan::SetOperation { operation, all, inputs, columns }
}
