//! Runs equal subplans once.
//!
//! Two subplans are equal if they have the same shape over the same tables and, after renaming
//! columns, the same expressions. The largest ones become a common table expression if they return
//! far fewer rows than they read: the result is buffered.

use crate::columns::{for_each_node, fresh_copy};
use crate::expr::{behavior, same_expr, substitute};
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_logical::{AggregateCall, Column, ColumnId, Cte, Expr, Plan, SortKey};

/// Larger plans are not searched: every pair of subplans may have to be compared.
const NODES_MAX: usize = 400;

/// A shared subplan reads at least this many rows for each that it makes.
const REDUCTION_MIN: f64 = 4.0;

/// Shares equal subplans.
pub(super) fn share_subplans(mut plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let (mut nodes, mut next_cte) = (0, 0);
    for_each_node(&plan, &mut |node| {
        nodes += 1;
        if let Plan::CteRef { cte, .. } = node {
            next_cte = next_cte.max(cte.id.saturating_add(1));
        }
    });
    if nodes > NODES_MAX {
        return Ok(plan);
    }
    while let Some(pattern) = repeated(&plan, ctx) {
        let (definition, _) = fresh_copy(&pattern, ctx.column_ids);
        let name = "shared".to_owned();
        let cte = Arc::new(Cte { id: next_cte, name, plan: definition, materialized: false });
        next_cte += 1;
        replace(&mut plan, &pattern, &cte);
    }
    Ok(plan)
}

/// The first subplan, from the top, that occurs again.
fn repeated(plan: &Plan, ctx: &OptimizerContext<'_>) -> Option<Plan> {
    let mut candidates = Vec::new();
    let mut rest = vec![plan];
    while let Some(node) = rest.pop() {
        if is_candidate(node) {
            candidates.push(node);
        }
        rest.extend(node.inputs());
    }
    let mut estimator = Estimator::new(ctx);
    let occurs_again = |at: usize, node: &Plan| {
        candidates[at + 1..].iter().any(|other| same_plan(node, other, &mut HashMap::new()))
    };
    let found = candidates.iter().enumerate().find(|(at, node)| {
        occurs_again(*at, node) && repeats(node, ctx) && reduces(node, &mut estimator)
    });
    found.map(|it| (*it.1).clone())
}

fn is_candidate(plan: &Plan) -> bool {
    matches!(plan, Plan::Join { .. } | Plan::Aggregate { .. })
}

/// Whether the subplan makes the same rows each time it runs.
pub(super) fn repeats(plan: &Plan, ctx: &OptimizerContext<'_>) -> bool {
    let mut all = true;
    for_each_node(plan, &mut |node| {
        all &= node.exprs().into_iter().all(|it| behavior(it, &ctx.registry).deterministic);
    });
    all
}

fn reduces(plan: &Plan, estimator: &mut Estimator) -> bool {
    let mut read = 0.0;
    for_each_node(plan, &mut |node| {
        if matches!(node, Plan::Scan { .. }) {
            read += estimator.estimate(node).rows;
        }
    });
    read >= estimator.estimate(plan).rows * REDUCTION_MIN
}

/// Puts references in place of all subplans equal to `pattern`.
fn replace(plan: &mut Plan, pattern: &Plan, cte: &Arc<Cte>) {
    deep(|| {
        if is_candidate(plan) && same_plan(pattern, plan, &mut HashMap::new()) {
            *plan = Plan::CteRef { cte: cte.clone(), columns: plan.columns() };
            return;
        }
        for input in plan.inputs_mut() {
            replace(input, pattern, cte);
        }
    });
}

/// The columns of the second plan, by those of the first one.
pub(super) type Renaming = HashMap<ColumnId, Expr>;

/// Whether two plans are equal; then `renaming` says which columns correspond.
pub(super) fn same_plan(a: &Plan, b: &Plan, renaming: &mut Renaming) -> bool {
    deep(|| {
        let (inputs_a, inputs_b) = (a.inputs(), b.inputs());
        inputs_a.len() == inputs_b.len()
            && inputs_a.iter().zip(inputs_b).all(|(a, b)| same_plan(a, b, renaming))
            && same_node(a, b, renaming)
    })
}

/// Whether two nodes with equal inputs are equal.
fn same_node(a: &Plan, b: &Plan, renaming: &mut Renaming) -> bool {
    match (a, b) {
        (Plan::Scan { .. }, Plan::Scan { .. }) => same_scan(a, b, renaming),
        (Plan::Project { exprs: a, .. }, Plan::Project { exprs: b, .. }) => {
            same_defined(a, b, renaming)
        }
        (Plan::Filter { conjuncts: a, .. }, Plan::Filter { conjuncts: b, .. }) => {
            same_exprs(a, b, renaming)
        }
        (Plan::Join { .. }, Plan::Join { .. }) => same_join(a, b, renaming),
        (
            Plan::Aggregate { keys: keys_a, aggregates: a, .. },
            Plan::Aggregate { keys: keys_b, aggregates: b, .. },
        ) => {
            let calls =
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_call(&a.1, &b.1, renaming));
            calls && same_defined(keys_a, keys_b, renaming) && {
                a.iter().zip(b).for_each(|(a, b)| corresponds(&a.0, &b.0, renaming));
                true
            }
        }
        (Plan::CteRef { cte: a, columns: of_a }, Plan::CteRef { cte: b, columns: of_b }) => {
            a.id == b.id && of_a.len() == of_b.len() && {
                of_a.iter().zip(of_b).for_each(|(a, b)| corresponds(a, b, renaming));
                true
            }
        }
        (Plan::SingleRow { .. }, Plan::SingleRow { .. }) => true,
        _ => false,
    }
}

fn same_scan(a: &Plan, b: &Plan, renaming: &mut Renaming) -> bool {
    let (
        Plan::Scan { table: table_a, columns: of_a, filters: filters_a, .. },
        Plan::Scan { table: table_b, columns: of_b, filters: filters_b, .. },
    ) = (a, b)
    else {
        return false;
    };
    let same_columns = of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(|(a, b)| a.1 == b.1);
    if !same_columns || table_a != table_b {
        return false;
    }
    of_a.iter().zip(of_b).for_each(|(a, b)| corresponds(&a.0, &b.0, renaming));
    same_exprs(filters_a, filters_b, renaming)
}

fn same_join(a: &Plan, b: &Plan, renaming: &mut Renaming) -> bool {
    let (
        Plan::Join { kind, conditions, null_aware, mark, .. },
        Plan::Join {
            kind: kind_b,
            conditions: conditions_b,
            null_aware: null_aware_b,
            mark: mark_b,
            ..
        },
    ) = (a, b)
    else {
        return false;
    };
    if let (Some(a), Some(b)) = (mark, mark_b) {
        corresponds(a, b, renaming);
    }
    kind == kind_b && null_aware == null_aware_b && same_exprs(conditions, conditions_b, renaming)
}

fn corresponds(a: &Column, b: &Column, renaming: &mut Renaming) {
    renaming.insert(a.id, Expr::column(b.id, b.data_type.clone()));
}

fn same_defined(a: &[(Column, Expr)], b: &[(Column, Expr)], renaming: &mut Renaming) -> bool {
    let same =
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_renamed(&a.1, &b.1, renaming));
    a.iter().zip(b).for_each(|(a, b)| corresponds(&a.0, &b.0, renaming));
    same
}

fn same_exprs(a: &[Expr], b: &[Expr], renaming: &Renaming) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_renamed(a, b, renaming))
}

fn same_renamed(a: &Expr, b: &Expr, renaming: &Renaming) -> bool {
    let mut a = a.clone();
    substitute(&mut a, renaming);
    same_expr(&a, b)
}

fn same_call(a: &AggregateCall, b: &AggregateCall, renaming: &Renaming) -> bool {
    let same_key = |(a, b): (&SortKey, &SortKey)| {
        (a.descending, a.nulls_first) == (b.descending, b.nulls_first)
            && same_renamed(&a.expr, &b.expr, renaming)
    };
    let same_filter = match (&a.filter, &b.filter) {
        (None, None) => true,
        (Some(a), Some(b)) => same_renamed(a, b, renaming),
        _ => false,
    };
    a.function == b.function
        && a.step == b.step
        && a.distinct == b.distinct
        && a.data_type == b.data_type
        && same_filter
        && same_exprs(&a.args, &b.args, renaming)
        && a.order_by.len() == b.order_by.len()
        && a.order_by.iter().zip(&b.order_by).all(same_key)
}
