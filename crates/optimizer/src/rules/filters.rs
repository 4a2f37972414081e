//! Pushes filters down to the plans that make their columns.
//!
//! Conjuncts travel down with the recursion; every node passes on what may be evaluated below it
//! and keeps the rest above it. Inner joins that follow each other are one set of inputs and one
//! set of conjuncts ([`super::inner_joins`]).
//!
//! A conjunct that may fail for a row (a division, a cast of text) is pushed as far as others, but
//! not into a scan. Filters evaluate conjuncts that cannot fail first, so that rows that these drop
//! raise no error. A row that a join would have dropped may raise one, as in other engines. A
//! volatile conjunct is not pushed.

mod grouping_sets;

use super::inner_joins::{derived_from_ors, push_into_inner};
use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{
    Behavior, ColumnSet, as_column, behavior, stays_small, substitute, used_columns,
    without_duplicates,
};
use crate::stack::deep;
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{ColumnId, Expr, ExprKind, JoinKind, Plan, SetOperation, SpecialForm};

/// Pushes all filters down.
pub(super) fn push_filters(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| Ok(push(plan, Vec::new(), ctx)))
}

/// The plan with conjuncts that hold above it applied as deep as possible.
pub(super) fn push(plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    deep(|| match plan {
        Plan::Filter { input, conjuncts: own } => {
            let mut all = own;
            all.extend(conjuncts);
            let (stable, unstable) = split_by(without_duplicates(all), |it| is_stable(it, ctx));
            filtered(push(*input, stable, ctx), unstable, ctx)
        }
        Plan::Project { input, exprs } => {
            let by: HashMap<ColumnId, Expr> =
                exprs.iter().map(|(column, expr)| (column.id, expr.clone())).collect();
            let passes = |it: &Expr| {
                used_columns(it).iter().all(|id| by.get(id).is_some_and(|it| is_stable(it, ctx)))
                    && stays_small(it, |id| by.get(&id))
            };
            let (mut below, above) = split_by(conjuncts, passes);
            below.iter_mut().for_each(|it| substitute(it, &by));
            let input = Box::new(push(*input, below, ctx));
            filtered(Plan::Project { input, exprs }, above, ctx)
        }
        Plan::Join { kind: JoinKind::Inner, .. } => push_into_inner(plan, conjuncts, ctx),
        Plan::Join { .. } => push_into_join(plan, conjuncts, ctx),
        Plan::Aggregate { input, keys, aggregates } => {
            let by: HashMap<ColumnId, Expr> =
                keys.iter().map(|(column, expr)| (column.id, expr.clone())).collect();
            let passes = |it: &Expr| {
                let used = used_columns(it);
                !used.is_empty()
                    && used.iter().all(|id| by.get(id).is_some_and(|it| is_stable(it, ctx)))
                    && stays_small(it, |id| by.get(&id))
            };
            let (mut below, above) = split_by(conjuncts, passes);
            below.extend(derived_of(&above, by.keys().copied().collect(), ctx).filter(passes));
            below.iter_mut().for_each(|it| substitute(it, &by));
            let input = Box::new(push(*input, below, ctx));
            filtered(Plan::Aggregate { input, keys, aggregates }, above, ctx)
        }
        Plan::GroupId { .. } => grouping_sets::push_into_sets(plan, conjuncts, ctx),
        Plan::SetOperation { .. } => push_into_set_operation(plan, conjuncts, ctx),
        Plan::Sort { input, keys } => {
            Plan::Sort { input: Box::new(push(*input, conjuncts, ctx)), keys }
        }
        Plan::UniqueId { .. } | Plan::Unnest { .. } => push_past_added(plan, conjuncts, ctx),
        Plan::GroupLimit { input, keys, order, offset, limit } => {
            let groups: ColumnSet = keys.iter().copied().collect();
            let (below, above) = split_by(conjuncts, |it| {
                let used = used_columns(it);
                !used.is_empty() && used.is_subset(&groups)
            });
            let input = Box::new(push(*input, below, ctx));
            filtered(Plan::GroupLimit { input, keys, order, offset, limit }, above, ctx)
        }
        Plan::Window { input, partition_by, order_by, calls, limit } => {
            // A limit holds for whole partitions, which such a filter keeps or drops.
            let keys: ColumnSet = partition_by.iter().filter_map(as_column).collect();
            let (mut below, above) = split_by(conjuncts, |it| uses_some_of(it, &keys));
            below.extend(derived_of(&above, keys, ctx));
            let input = Box::new(push(*input, below, ctx));
            filtered(Plan::Window { input, partition_by, order_by, calls, limit }, above, ctx)
        }
        Plan::Scan { .. } => push_into_scan(plan, conjuncts, ctx),
        mut other => {
            for input in other.inputs_mut() {
                *input = push(std::mem::take(input), Vec::new(), ctx);
            }
            filtered(other, conjuncts, ctx)
        }
    })
}

/// What disjunctions say of some columns alone: `(a AND b) OR (c AND d)` with `a` and `c` on them
/// says `a OR c`. The disjunctions stay above, where an error that they guard against is guarded
/// against, so that only tests which cannot fail are derived.
fn derived_of(
    conjuncts: &[Expr],
    columns: ColumnSet,
    ctx: &OptimizerContext<'_>,
) -> impl Iterator<Item = Expr> {
    let derived = match ctx.is_enabled("derive_from_or") {
        true => derived_from_ors(conjuncts, &[columns]),
        false => Vec::new(),
    };
    derived.into_iter().filter(|it| {
        let Behavior { deterministic, infallible } = behavior(it, &ctx.registry);
        deterministic && infallible
    })
}

/// Nodes that put columns next to those of their input, whose filters go below.
fn push_past_added(mut plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let mut above = conjuncts;
    for input in plan.inputs_mut() {
        let passed_on = output_set(input);
        let own = |it: &Expr| used_columns(it).is_subset(&passed_on);
        let (below, others) = split_by(std::mem::take(&mut above), own);
        above = others;
        *input = push(std::mem::take(input), below, ctx);
    }
    filtered(plan, above, ctx)
}

/// Whether an expression may be evaluated elsewhere, or twice.
fn is_stable(expr: &Expr, ctx: &OptimizerContext<'_>) -> bool {
    as_column(expr).is_some() || behavior(expr, &ctx.registry).deterministic
}

/// Those that satisfy the test, and the others, in order.
pub(super) fn split_by(exprs: Vec<Expr>, test: impl Fn(&Expr) -> bool) -> (Vec<Expr>, Vec<Expr>) {
    exprs.into_iter().partition(|it| test(it))
}

/// A filter, with the conjuncts that may fail last.
pub(super) fn filtered(input: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    if conjuncts.is_empty() {
        return input;
    }
    let (safe, unsafe_) = split_by(conjuncts, |it| behavior(it, &ctx.registry).infallible);
    Plan::Filter { input: Box::new(input), conjuncts: safe.into_iter().chain(unsafe_).collect() }
}

/// A filter with the conjuncts in their order; the input itself when there is none.
pub(super) fn filtered_plainly(input: Plan, conjuncts: Vec<Expr>) -> Plan {
    match conjuncts.is_empty() {
        true => input,
        false => Plan::Filter { input: Box::new(input), conjuncts },
    }
}

fn push_into_scan(plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::Scan { table, name, columns, mut filters } = plan else { return plan };
    let is_safe = |it: &Expr| {
        let Behavior { deterministic, infallible } = behavior(it, &ctx.registry);
        deterministic && infallible && !used_columns(it).is_empty()
    };
    let (safe, above) = split_by(conjuncts, is_safe);
    filters.extend(safe);
    let filters = without_duplicates(filters);
    filtered(Plan::Scan { table, name, columns, filters }, above, ctx)
}

/// Outer, semi, anti and mark joins: filters of the side whose rows are preserved go there, and
/// conditions on the other side alone go to that one.
fn push_into_join(plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
        return plan;
    };
    let (in_left, in_right) = (output_set(&left), output_set(&right));
    let of_left = |it: &Expr| uses_some_of(it, &in_left);
    let of_right = |it: &Expr| uses_some_of(it, &in_right);
    let preserves_left = matches!(
        kind,
        JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark
    );
    let preserves_right =
        matches!(kind, JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti);
    let (mut to_left, above) = split_by(conjuncts, |it| preserves_left && of_left(it));
    let (mut to_right, above) = split_by(above, |it| preserves_right && of_right(it));
    let (own_right, conditions) = split_by(conditions, |it| {
        preserves_left && !null_aware && of_right(it) && is_stable(it, ctx)
    });
    let (own_left, conditions) =
        split_by(conditions, |it| preserves_right && of_left(it) && is_stable(it, ctx));
    to_right.extend(own_right);
    to_left.extend(own_left);
    // A semi join drops left rows that fail a condition of their own.
    let (semi, conditions) =
        split_by(conditions, |it| kind == JoinKind::LeftSemi && of_left(it) && is_stable(it, ctx));
    to_left.extend(semi);
    if ctx.is_enabled("infer_predicates") && !null_aware {
        // What holds of a preserved row holds of the partners that are equal to it.
        if preserves_left {
            to_right.extend(inferred_across(&to_left, &conditions, &in_right));
        } else if preserves_right {
            to_left.extend(inferred_across(&to_right, &conditions, &in_left));
        }
    }
    let left = Box::new(push(*left, without_duplicates(to_left), ctx));
    let right = Box::new(push(*right, without_duplicates(to_right), ctx));
    filtered(Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }, above, ctx)
}

/// What tests of one side and the equalities between the sides say of the other side.
fn inferred_across(tests: &[Expr], conditions: &[Expr], other: &ColumnSet) -> Vec<Expr> {
    let all: Vec<Expr> = tests.iter().chain(conditions).cloned().collect();
    let mut more = super::inner_joins::inferred(&all);
    more.retain(|it| uses_some_of(it, other));
    more
}

/// Whether an expression uses columns, all of them of these.
pub(super) fn uses_some_of(expr: &Expr, columns: &ColumnSet) -> bool {
    let used = used_columns(expr);
    !used.is_empty() && used.is_subset(columns)
}

/// What holds of the output rows holds of the input rows that feed them.
fn push_into_set_operation(plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::SetOperation { operation, all, inputs, columns } = plan else { return plan };
    let (below, above) = split_by(conjuncts, |it| {
        operation == SetOperation::Union || behavior(it, &ctx.registry).infallible
    });
    let inputs = inputs.into_iter().map(|(input, feeds)| {
        let by = columns
            .iter()
            .zip(&feeds)
            .map(|(column, feed)| (column.id, Expr::column(*feed, column.data_type.clone())));
        let by: HashMap<ColumnId, Expr> = by.collect();
        let mut own = below.clone();
        own.iter_mut().for_each(|it| substitute(it, &by));
        (push(input, own, ctx), feeds)
    });
    let inputs = inputs.collect();
    filtered(Plan::SetOperation { operation, all, inputs, columns }, above, ctx)
}

/// Whether an expression is a disjunction.
pub(super) fn as_or(expr: &Expr) -> Option<&[Expr]> {
    match &expr.kind {
        ExprKind::Special { form: SpecialForm::Or, args } => Some(args),
        _ => None,
    }
}
