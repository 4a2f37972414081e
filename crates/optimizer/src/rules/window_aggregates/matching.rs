//! Matches the aggregated relations with relations outside that read the same tables.

use crate::OptimizerContext;
use crate::expr::{ColumnSet, as_column, behavior};
use crate::rules::block::Block;
use crate::rules::share_subplans::{Renaming, repeats, same_plan};
use std::collections::HashMap;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, Plan};

/// With many relations that read one table, not all assignments are tried.
const ASSIGNMENTS_MAX: usize = 16;

/// An aggregation of a block.
pub(super) struct Group<'a> {
    /// What is aggregated.
    pub(super) input: &'a Plan,
    /// The same, split.
    pub(super) block: Block,
    /// The output key columns, and columns of the block.
    pub(super) keys: Vec<(ColumnId, ColumnId)>,
    /// In columns of the block.
    pub(super) calls: Vec<(Column, AggregateCall)>,
}

impl Group<'_> {
    /// The aggregation that the plan is, if its keys are columns and its calls plain.
    pub(super) fn of<'a>(plan: &'a Plan, ctx: &OptimizerContext<'_>) -> Option<Group<'a>> {
        let Plan::Aggregate { input, keys, aggregates } = plan else { return None };
        let is_plain = |call: &AggregateCall| {
            !call.distinct
                && call.order_by.is_empty()
                && call.exprs().all(|it| behavior(it, &ctx.registry).deterministic)
        };
        if keys.is_empty() || aggregates.is_empty() || !aggregates.iter().all(|it| is_plain(&it.1))
        {
            return None;
        }
        let block = Block::of(input, ctx);
        let key = |(column, expr): &(Column, Expr)| {
            let id = as_column(&block.expr(expr))?;
            (!expr.data_type.is_float()).then_some((column.id, id))
        };
        let keys = keys.iter().map(key).collect::<Option<_>>()?;
        let mut calls = aggregates.clone();
        for expr in calls.iter_mut().flat_map(|it| it.1.exprs_mut()) {
            *expr = block.expr(expr);
        }
        Some(Group { input, block, keys, calls })
    }

    /// The output columns.
    pub(super) fn columns(&self) -> ColumnSet {
        let keys = self.keys.iter().map(|it| it.0);
        keys.chain(self.calls.iter().map(|it| it.0.id)).collect()
    }
}

/// For each relation that is aggregated, another one outside that reads the same.
#[derive(Clone, Default)]
pub(super) struct Assignment {
    /// Positions among the relations outside.
    pub(super) relations: Vec<usize>,
    /// The columns of these, by those of the ones that are aggregated.
    pub(super) renaming: Renaming,
}

/// The ways to find all of `inner` among `outer`.
pub(super) fn assignments(
    inner: &[Plan],
    outer: &[&Plan],
    ctx: &OptimizerContext<'_>,
) -> Vec<Assignment> {
    let mut found = vec![Assignment::default()];
    for relation in inner {
        let mut longer = Vec::new();
        for (at, other) in outer.iter().enumerate() {
            let Some(renaming) = reads_same(relation, other, ctx) else { continue };
            for assignment in found.iter().filter(|it| !it.relations.contains(&at)) {
                let mut assignment = assignment.clone();
                assignment.relations.push(at);
                assignment.renaming.extend(renaming.clone());
                longer.push(assignment);
            }
        }
        longer.truncate(ASSIGNMENTS_MAX);
        found = longer;
    }
    found
}

/// The columns of `outer` by those of `inner`, if both make the same rows. Of a table, `outer` may
/// read more columns.
fn reads_same(inner: &Plan, outer: &Plan, ctx: &OptimizerContext<'_>) -> Option<Renaming> {
    let (
        Plan::Scan { table: table_a, columns: of_a, .. },
        Plan::Scan { table: table_b, columns: of_b, .. },
    ) = (inner, outer)
    else {
        let mut renaming = HashMap::new();
        let is_same = same_plan(inner, outer, &mut renaming) && repeats(inner, ctx);
        return is_same.then_some(renaming);
    };
    if table_a != table_b {
        return None;
    }
    let twin = |(column, position): &(Column, usize)| {
        let (twin, _) = of_b.iter().find(|it| it.1 == *position)?;
        Some((column.id, Expr::column(twin.id, twin.data_type.clone())))
    };
    of_a.iter().map(twin).collect()
}
