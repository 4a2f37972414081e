//! Pushes limits, and limits of sorted rows, towards the scans.

use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{as_column, behavior, stays_small, substitute};
use crate::stack::deep;
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, JoinKind, Plan, SetOperation, SortKey};

/// Pushes all limits down.
pub(super) fn push_limits(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, ctx)))
}

fn visit(plan: Plan, ctx: &OptimizerContext<'_>) -> Plan {
    deep(|| {
        let mut plan = match plan {
            Plan::Limit { input, offset, limit } => lowered(*input, offset, limit, ctx),
            other => other,
        };
        for input in plan.inputs_mut() {
            *input = visit(std::mem::take(input), ctx);
        }
        plan
    })
}

/// A limit of `input`, or something equal with the limit deeper.
fn lowered(input: Plan, offset: u64, limit: Option<u64>, ctx: &OptimizerContext<'_>) -> Plan {
    match input {
        Plan::Project { input, exprs }
            if exprs.iter().all(|it| behavior(&it.1, &ctx.registry).deterministic) =>
        {
            let input = Box::new(lowered(*input, offset, limit, ctx));
            Plan::Project { input, exprs }
        }
        Plan::Sort { input, keys } if limit.is_some() => match *input {
            Plan::Project { input, exprs } if passes_sort(&exprs, &keys, ctx) => {
                let by = exprs.iter().map(|it| (it.0.id, it.1.clone())).collect();
                let sorted = Plan::Sort { input, keys: substituted(keys, &by) };
                let input = Box::new(lowered(sorted, offset, limit, ctx));
                Plan::Project { input, exprs }
            }
            other => limited_below(Plan::Sort { input: Box::new(other), keys }, offset, limit),
        },
        Plan::Limit { input, offset: inner, limit: kept } => {
            // The inner limit leaves `kept` rows, of which the outer one skips `offset`.
            let left = kept.map(|it| it.saturating_sub(offset));
            let limit = match (left, limit) {
                (Some(left), Some(limit)) => Some(left.min(limit)),
                (left, limit) => left.or(limit),
            };
            limited(*input, inner.saturating_add(offset), limit)
        }
        other => limited_below(other, offset, limit),
    }
}

/// Whether rows may be sorted by the keys before the projection.
fn passes_sort(exprs: &[(Column, Expr)], keys: &[SortKey], ctx: &OptimizerContext<'_>) -> bool {
    let by: HashMap<ColumnId, &Expr> = exprs.iter().map(|it| (it.0.id, &it.1)).collect();
    exprs.iter().all(|it| behavior(&it.1, &ctx.registry).deterministic)
        && keys.iter().all(|it| stays_small(&it.expr, |id| by.get(&id).copied()))
}

fn limited_below(input: Plan, offset: u64, limit: Option<u64>) -> Plan {
    match limit.and_then(|it| it.checked_add(offset)) {
        Some(rows) => limited(with_limit_below(input, rows), offset, limit),
        None => limited(input, offset, limit),
    }
}

fn substituted(mut keys: Vec<SortKey>, by: &HashMap<ColumnId, Expr>) -> Vec<SortKey> {
    keys.iter_mut().for_each(|it| substitute(&mut it.expr, by));
    keys
}

fn limited(input: Plan, offset: u64, limit: Option<u64>) -> Plan {
    Plan::Limit { input: Box::new(input), offset, limit }
}

/// The plan, its inputs cut to what the first `rows` rows need.
fn with_limit_below(plan: Plan, rows: u64) -> Plan {
    match plan {
        Plan::Sort { input, keys } => {
            let input = Box::new(cut(*input, &keys, rows));
            Plan::Sort { input, keys }
        }
        other => cut(other, &[], rows),
    }
}

/// Cuts the inputs of unions and the preserved side of outer joins.
fn cut(plan: Plan, keys: &[SortKey], rows: u64) -> Plan {
    match plan {
        Plan::SetOperation { operation: SetOperation::Union, all: true, inputs, columns } => {
            let inputs = inputs.into_iter().map(|(input, feeds)| {
                let by: HashMap<ColumnId, Expr> = columns
                    .iter()
                    .zip(&feeds)
                    .map(|(it, feed)| (it.id, Expr::column(*feed, it.data_type.clone())))
                    .collect();
                (first(input, &substituted(keys.to_vec(), &by), rows), feeds)
            });
            let (inputs, all) = (inputs.collect(), true);
            Plan::SetOperation { operation: SetOperation::Union, all, inputs, columns }
        }
        Plan::Join {
            mut left,
            right,
            kind: JoinKind::Left,
            conditions,
            null_aware,
            mark,
            lateral,
        } => {
            let made = output_set(&left);
            if keys.iter().all(|it| as_column(&it.expr).is_some_and(|id| made.contains(&id))) {
                left = Box::new(first(*left, keys, rows));
            }
            let kind = JoinKind::Left;
            Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
        }
        other => other,
    }
}

/// The first rows of a plan, in the order of `keys`.
fn first(plan: Plan, keys: &[SortKey], rows: u64) -> Plan {
    let is_cut = matches!(&plan, Plan::Limit { limit: Some(limit), .. } if *limit <= rows)
        || matches!(&plan, Plan::Values { rows: own, .. } if own.len() as u64 <= rows);
    if is_cut {
        return plan;
    }
    match keys {
        [] => limited(plan, 0, Some(rows)),
        _ => {
            let sorted = Plan::Sort { input: Box::new(plan), keys: keys.to_vec() };
            limited(sorted, 0, Some(rows))
        }
    }
}
