//! Turns aggregates of tables that are joined anyway into windows.
//!
//! After Zuzarte, Pirahesh, Ma, Cheng, Liu and Wong, "WinMagic: Subquery Elimination Using Window
//! Aggregation" (SIGMOD 2003). A correlated scalar subquery, once unnested, or a derived table that
//! the query joins, is an aggregation `G = γ[k; f(a)](S)` joined to other relations on `x = k`. If
//! the other relations contain those of `S`, they need not be read twice:
//!
//! ```text
//! σ[late](X ⋈[x = k] γ[k; f(a)](S))   becomes   σ[late](ω[μ(k); f(μ(a))](X'))
//! ```
//!
//! `X` and `S` are inner joins ([`Block`]): relations, and conjuncts over all of them. `μ` takes
//! each relation of `S` to another relation of `X` that reads the same table, and columns to
//! columns; the relations in its image are *shared*, with the shared columns; the others are
//! *more*. A shared column is *determined* if it is `μ(k)` or `S` equates it with `k`: it has one
//! value per partition. Then `f` sees in the partition of a row of `X'` what it sees in the row's
//! group, each row of `S` the same number of times, if
//!
//! 1. every key of `G` is a column, equal to its `μ(k)` by the equalities of `X` and `x = k`: the
//!    partition is that of the row's group, and a row has at most one group;
//! 2. every conjunct of `S` is one of `X`: no row of `X'` is missing in `S`;
//! 3. every other conjunct that is applied below the window uses determined columns and columns of
//!    more relations only: it decides alike for all rows of `S` in a partition, and so do more
//!    relations, which multiply them all by the number of their partners.
//!
//! Conjuncts of `X` that are not so are applied above the window. A more relation that only these
//! connect, or that an equality joins to a shared column that is not determined, is also joined
//! above it; `X'` is the rest. A null key equals no group: unless an equality implies it, `X'` is
//! filtered by `μ(k) IS NOT NULL`. A row of `X'` is in its own partition, so that no group is
//! empty. Outer joins are not part of the blocks.
//!
//! As `f` may see every row several times, repetitions must not change its result: `min`, `max`,
//! `bool_and`, `bool_or`, and `avg` of exact numbers (of DOUBLE it would round otherwise; a
//! quotient of sums beyond 53 bits may differ in its last place). `avg` of DOUBLE, `sum`, `count`
//! and `count_if` are rewritten if all more relations are known to have at most one partner. Tables
//! do not declare unique columns, but groups do. Calls with DISTINCT or an order, and volatile
//! expressions, are not rewritten. A LIMIT or DISTINCT in the subquery makes a relation that `X`
//! does not have.
//!
//! A window keeps all its rows and sorts them, so that it pays only where `X'` is small
//! ([`WINDOW_ROW_COST`]).

mod attempt;
mod matching;

use super::block::{Block, is_inner};
use super::join_order::rows_of_joins;
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use attempt::Attempt;
use matching::{Group, assignments};
use volley_error::Result;
use volley_logical::Plan;

/// A row of a window costs as much as this many rows that are read, grouped and probed. Measured
/// with two threads: TPC-H 17 with a tenth of all parts takes as long either way.
const WINDOW_ROW_COST: f64 = 16.0;

/// Makes windows of aggregations.
pub(super) fn window_aggregates(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, ctx, &mut estimator)))
}

fn visit(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Plan {
    deep(|| {
        if !reaches_join(&plan) {
            for input in plan.inputs_mut() {
                *input = visit(std::mem::take(input), ctx, estimator);
            }
            return plan;
        }
        match rewritten(&plan, ctx, estimator) {
            // It has an aggregation less.
            Some(new) => visit(new, ctx, estimator),
            None => visit_relations(plan, ctx, estimator),
        }
    })
}

/// Like [`visit`], without looking at parts of the same block.
fn visit_relations(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Plan {
    deep(|| {
        if !is_inner(&plan) && !matches!(plan, Plan::Filter { .. } | Plan::Project { .. }) {
            return visit(plan, ctx, estimator);
        }
        for input in plan.inputs_mut() {
            *input = visit_relations(std::mem::take(input), ctx, estimator);
        }
        plan
    })
}

fn reaches_join(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { input, .. } | Plan::Project { input, .. } => reaches_join(input),
        _ => is_inner(plan),
    }
}

/// The block without one of its aggregations, if there is one that may go and it pays.
fn rewritten(plan: &Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Option<Plan> {
    if !has_groups(plan) {
        return None;
    }
    let block = Block::of(plan, ctx);
    for at in 0..block.relations.len() {
        let Some(group) = Group::of(&block.relations[at], ctx) else { continue };
        let attempt = Attempt::new(&block, at, &group);
        for shared in assignments(&group.block.relations, &attempt.relations, ctx) {
            let Some(windowed) = attempt.windowed(&shared, ctx) else { continue };
            let rows = rows_of_joins(&windowed.input, ctx, estimator);
            if rows * WINDOW_ROW_COST <= rows_read(group.input, estimator) {
                return Some(attempt.built(windowed, &plan.columns(), ctx));
            }
        }
    }
    None
}

/// Whether a relation of the block is an aggregation by keys.
fn has_groups(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { keys, aggregates, .. } => !keys.is_empty() && !aggregates.is_empty(),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => has_groups(input),
        Plan::Join { left, right, .. } if is_inner(plan) => has_groups(left) || has_groups(right),
        _ => false,
    }
}

/// How many rows come from the relations of a block.
fn rows_read(plan: &Plan, estimator: &mut Estimator) -> f64 {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } => rows_read(input, estimator),
        Plan::Join { left, right, .. } if is_inner(plan) => {
            rows_read(left, estimator) + rows_read(right, estimator)
        }
        _ => estimator.estimate(plan).rows,
    }
}
