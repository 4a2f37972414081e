//! Groups by the keys that determine the others.
//!
//! ```text
//! γ[c.id, c.name; f] (c ⋈ R)    becomes    γ[c.id; f, any_value(c.name)] (c ⋈ R)
//! ```
//!
//! where `id` is a PRIMARY KEY, or UNIQUE and NOT NULL. Rows that agree in the key of a table come
//! from one row of it, also where an outer join pads the table's columns: all are null then.

use crate::OptimizerContext;
use crate::columns::{output_set, pass, rewrite_up};
use crate::expr::{ColumnSet, as_column};
use crate::keys::any_value;
use crate::stack::deep;
use volley_error::Result;
use volley_logical::{Column, Expr, Plan, TableRef};

/// Reduces the keys of all aggregations.
pub(super) fn reduce_group_keys(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(reduced(node, ctx))))
}

fn reduced(plan: Plan, ctx: &OptimizerContext<'_>) -> Plan {
    let columns = plan.columns();
    let Plan::Aggregate { input, mut keys, mut aggregates } = plan else { return plan };
    let mut dropped: Vec<(Column, Expr)> = Vec::new();
    // A key goes if those that are left determine it.
    for at in (0..keys.len()).rev() {
        let Some(id) = as_column(&keys[at].1) else { continue };
        let others = keys.iter().enumerate().filter(|it| it.0 != at);
        let others: ColumnSet = others.filter_map(|(_, it)| as_column(&it.1)).collect();
        if others.is_empty() || !determined(&input, &others, ctx).contains(&id) {
            continue;
        }
        let (column, expr) = keys.remove(at);
        let value = ctx.column_ids.column(column.name.clone(), column.data_type.clone());
        dropped.push((column, pass(&value).1));
        aggregates.push((value, any_value(expr)));
    }
    let grouped = Plan::Aggregate { input, keys, aggregates };
    if dropped.is_empty() {
        return grouped;
    }
    let put = |column: Column| {
        let found = dropped.iter().find(|it| it.0.id == column.id).cloned();
        found.unwrap_or_else(|| pass(&column))
    };
    Plan::Project { exprs: columns.into_iter().map(put).collect(), input: Box::new(grouped) }
}

/// The columns of the plan in which rows agree that agree in `known`.
fn determined(plan: &Plan, known: &ColumnSet, ctx: &OptimizerContext<'_>) -> ColumnSet {
    deep(|| match plan {
        Plan::Scan { table, columns, .. } => {
            let has = |at: usize| columns.iter().any(|it| it.1 == at && known.contains(&it.0.id));
            match keys_of(table, ctx).iter().any(|key| key.iter().all(|it| has(*it))) {
                true => output_set(plan),
                false => ColumnSet::new(),
            }
        }
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => {
            determined(input, known, ctx)
        }
        Plan::Join { left, right, .. } => {
            let mut all = determined(left, known, ctx);
            all.extend(determined(right, known, ctx));
            all
        }
        Plan::Project { input, exprs } => {
            let passed = || exprs.iter().filter_map(|it| Some((it.0.id, as_column(&it.1)?)));
            let below = passed().filter(|it| known.contains(&it.0)).map(|it| it.1).collect();
            let all = determined(input, &below, ctx);
            passed().filter(|it| all.contains(&it.1)).map(|it| it.0).collect()
        }
        Plan::Aggregate { keys, .. } if keys.iter().all(|it| known.contains(&it.0.id)) => {
            output_set(plan)
        }
        _ => ColumnSet::new(),
    })
}

/// The positions of columns that no two rows of the table agree in, without nulls.
pub(super) fn keys_of(table: &TableRef, ctx: &OptimizerContext<'_>) -> Vec<Vec<usize>> {
    // A table that cannot be read says so when it is read.
    let table = ctx.tables.resolve(table).ok();
    let Some(stored) = table.and_then(|it| it.as_stored()) else { return Vec::new() };
    let definition = &stored.definition;
    let keys = definition
        .keys
        .iter()
        .filter(|key| key.is_primary || key.columns.iter().all(|it| definition.is_not_null(*it)));
    keys.map(|it| it.columns.clone()).collect()
}
