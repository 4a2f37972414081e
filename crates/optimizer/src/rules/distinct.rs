//! Drops DISTINCT if the input is distinct, or if repetitions do not matter.

use super::group_keys::keys_of;
use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::{ColumnSet, as_column, as_constant};
use volley_error::Result;
use volley_logical::{JoinKind, Plan};

/// Drops needless DISTINCTs and constant keys.
pub(super) fn drop_distinct(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(simplified(node, ctx))))
}

fn simplified(plan: Plan, ctx: &OptimizerContext<'_>) -> Plan {
    match plan {
        Plan::Aggregate { input, keys, aggregates } if aggregates.is_empty() => {
            let columns: Option<ColumnSet> = keys.iter().map(|it| as_column(&it.1)).collect();
            if columns.is_some_and(|it| is_unique(&input, &it, ctx)) {
                return Plan::Project { input, exprs: keys };
            }
            Plan::Aggregate { input, keys, aggregates }
        }
        Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
            if matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark) =>
        {
            let right = Box::new(without_distinct(*right));
            Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
        }
        other => with_fewer_keys(other),
    }
}

/// Repetitions on the right side of a semi join change nothing.
fn without_distinct(plan: Plan) -> Plan {
    match plan {
        Plan::Aggregate { input, keys, aggregates }
            if aggregates.is_empty() && !keys.is_empty() =>
        {
            Plan::Project { input, exprs: keys }
        }
        Plan::Project { input, exprs } => {
            Plan::Project { input: Box::new(without_distinct(*input)), exprs }
        }
        other => other,
    }
}

/// A key that is constant does not divide groups. One key stays: without any there would be a group
/// of no rows.
fn with_fewer_keys(plan: Plan) -> Plan {
    let Plan::Aggregate { input, keys, aggregates } = plan else { return plan };
    let (constant, mut others): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|it| as_constant(&it.1).is_some());
    if constant.is_empty() || others.is_empty() {
        others.extend(constant);
        return Plan::Aggregate { input, keys: others, aggregates };
    }
    let grouped = Plan::Aggregate { input, keys: others, aggregates };
    let mut exprs: Vec<_> = grouped.columns().iter().map(crate::columns::pass).collect();
    exprs.extend(constant);
    Plan::Project { input: Box::new(grouped), exprs }
}

/// Whether no two rows of a plan agree in all of these columns.
pub(super) fn is_unique(plan: &Plan, columns: &ColumnSet, ctx: &OptimizerContext<'_>) -> bool {
    match plan {
        Plan::Aggregate { keys, .. } => keys.iter().all(|it| columns.contains(&it.0.id)),
        Plan::Scan { table, columns: own, .. } => {
            let has = |at: usize| own.iter().any(|it| it.1 == at && columns.contains(&it.0.id));
            keys_of(table, ctx).iter().any(|key| key.iter().all(|it| has(*it)))
        }
        Plan::SetOperation { all: false, columns: own, .. } => {
            own.iter().all(|it| columns.contains(&it.id))
        }
        Plan::UniqueId { input, column } => {
            columns.contains(&column.id) || is_unique(input, columns, ctx)
        }
        Plan::Project { input, exprs } => {
            let below = exprs.iter().filter(|it| columns.contains(&it.0.id));
            is_unique(input, &below.filter_map(|it| as_column(&it.1)).collect(), ctx)
        }
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Window { input, .. } => is_unique(input, columns, ctx),
        Plan::Join { left, kind: JoinKind::LeftSemi | JoinKind::LeftAnti, .. } => {
            is_unique(left, columns, ctx)
        }
        Plan::Values { rows, .. } => rows.len() <= 1,
        Plan::SingleRow { .. } => true,
        _ => false,
    }
}
