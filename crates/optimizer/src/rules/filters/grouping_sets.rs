//! Filters above grouping sets: drops sets whose groups the filters reject. Pushes tests of keys
//! that all other sets have, and tests of columns that are passed on.

use super::{filtered, is_stable, push, split_by, uses_some_of};
use crate::OptimizerContext;
use crate::columns::output_set;
use crate::expr::{ColumnSet, as_constant, bigint, stays_small, substitute};
use crate::rules::fold::fold;
use crate::rules::outer_joins::rejects_nulls;
use crate::stack::deep;
use std::collections::HashMap;
use volley_logical::{Column, ColumnId, Expr, GroupingSet, Plan};
use volley_types::Value;

pub(super) fn push_into_sets(plan: Plan, conjuncts: Vec<Expr>, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::GroupId { input, keys, mut sets, id, present } = plan else { return plan };
    sets.retain(|set| !conjuncts.iter().any(|it| drops(it, set, &keys, &id, ctx)));
    let is_common = |at: usize| sets.iter().all(|set| set.keys.contains(&at));
    let common = keys.iter().enumerate().filter(|it| is_common(it.0)).map(|it| it.1);
    let by: HashMap<ColumnId, Expr> =
        common.map(|(column, expr)| (column.id, expr.clone())).collect();
    let mut columns: ColumnSet = by.keys().copied().collect();
    if present.is_none() {
        columns.extend(output_set(&input));
    }
    let passes = |it: &Expr| {
        uses_some_of(it, &columns)
            && by.values().all(|it| is_stable(it, ctx))
            && stays_small(it, |id| by.get(&id))
    };
    let (mut below, above) = split_by(conjuncts, passes);
    below.iter_mut().for_each(|it| substitute(it, &by));
    let input = Box::new(push(*input, below, ctx));
    let plan = Plan::GroupId { input, keys, sets, id, present };
    match &plan {
        Plan::GroupId { sets, .. } if sets.is_empty() => {
            Plan::Values { columns: plan.columns(), rows: Vec::new() }
        }
        _ => filtered(plan, above, ctx),
    }
}

/// Whether a conjunct is true of no row of a set.
fn drops(
    conjunct: &Expr,
    set: &GroupingSet,
    keys: &[(Column, Expr)],
    id: &Column,
    ctx: &OptimizerContext<'_>,
) -> bool {
    let missing = keys.iter().enumerate().filter(|it| !set.keys.contains(&it.0));
    let missing: ColumnSet = missing.map(|it| it.1.0.id).collect();
    if rejects_nulls(conjunct, &missing, &ctx.registry) {
        return true;
    }
    let mut of_set = conjunct.clone();
    let null = |(column, _): &(Column, Expr)| {
        (column.id, Expr::constant(Value::Null, column.data_type.clone()))
    };
    let nulls = keys.iter().filter(|it| missing.contains(&it.0.id)).map(null);
    substitute(&mut of_set, &nulls.chain([(id.id, bigint(set.id))]).collect());
    fold_all(&mut of_set, ctx);
    matches!(as_constant(&of_set), Some(Value::Null | Value::Boolean(false)))
}

fn fold_all(expr: &mut Expr, ctx: &OptimizerContext<'_>) {
    deep(|| {
        expr.children_mut().iter_mut().for_each(|it| fold_all(it, ctx));
        fold(expr, ctx);
    });
}
