//! Drops unused columns, down to the scans.

use super::cte::{definitions_of, with_definitions};
use crate::OptimizerContext;
use crate::expr::{ColumnSet, collect_used, stays_small};
use crate::stack::deep;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_logical::{Column, ColumnId, Cte, Expr, Plan, SetOperation};

/// Drops unused columns everywhere; the output columns of the plan stay the same.
pub(super) fn prune_columns(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let columns = plan.columns();
    let required = columns.iter().map(|it| it.id).collect();
    let mut pruning = Pruning { read: HashMap::new(), pruned: HashMap::new() };
    // The users of a common table expression are asked before it is.
    let definitions = definitions_of(&plan);
    let plan = pruning.plan(plan, &required);
    for cte in definitions.iter().rev() {
        pruning.definition(cte);
    }
    let read = pruning.read;
    let plan = with_definitions(plan, &definitions, pruning.pruned, &|cte, columns| {
        let mut read = read.get(&cte.id).into_iter().flatten();
        columns.retain(|_| read.next().copied().unwrap_or(true));
    });
    Ok(crate::columns::project_to(plan, &columns))
}

struct Pruning {
    /// Which positions of each common table expression are read.
    read: HashMap<u32, Vec<bool>>,
    /// The pruned definitions.
    pruned: HashMap<u32, Plan>,
}

impl Pruning {
    /// Prunes a definition to the columns that references read.
    fn definition(&mut self, cte: &Arc<Cte>) {
        let made = cte.plan.columns();
        let read = self.read.get(&cte.id).cloned().unwrap_or_else(|| vec![true; made.len()]);
        let kept: Vec<Column> =
            made.into_iter().zip(&read).filter(|it| *it.1).map(|it| it.0).collect();
        let required = kept.iter().map(|it| it.id).collect();
        let plan = self.plan(cte.plan.clone(), &required);
        self.pruned.insert(cte.id, crate::columns::project_to(plan, &kept));
    }

    fn plan(&mut self, mut plan: Plan, required: &ColumnSet) -> Plan {
        deep(|| {
            match &mut plan {
                Plan::Scan { columns, filters, .. } => {
                    let mut used = required.clone();
                    filters.iter().for_each(|it| collect_used(it, &mut used));
                    columns.retain(|it| used.contains(&it.0.id));
                }
                Plan::Values { columns, rows } => prune_values(columns, rows, required),
                Plan::Project { exprs, .. } => exprs.retain(|it| required.contains(&it.0.id)),
                Plan::Aggregate { aggregates, .. } => {
                    aggregates.retain(|it| required.contains(&it.0.id));
                }
                Plan::CteRef { cte, columns } => {
                    let read = self.read.entry(cte.id).or_insert(vec![false; columns.len()]);
                    for (read, column) in read.iter_mut().zip(columns) {
                        *read |= required.contains(&column.id);
                    }
                }
                Plan::SetOperation { .. } => return self.set_operation(plan, required),
                Plan::Recursive { inputs, .. } => {
                    // The step reads the columns, and makes all of them again.
                    for (input, feeds) in inputs {
                        let required = feeds.iter().copied().collect();
                        *input = self.plan(std::mem::take(input), &required);
                    }
                    return plan;
                }
                Plan::Window { calls, limit, input, .. } => {
                    let is_limit = |it: &ColumnId| limit.is_some_and(|limit| limit.0 == *it);
                    calls.retain(|it| required.contains(&it.0.id) || is_limit(&it.0.id));
                    if calls.is_empty() {
                        return self.plan(std::mem::take(input), required);
                    }
                    // No call has the last keys when those that had them are gone.
                    let keys = calls.iter().map(|it| it.1.order_keys).max().unwrap_or(0);
                    if let Plan::Window { order_by, .. } = &mut plan {
                        order_by.truncate(keys);
                    }
                }
                Plan::Unnest { ordinality, .. } => {
                    ordinality.take_if(|it| !required.contains(&it.id));
                }
                Plan::UniqueId { column, input } if !required.contains(&column.id) => {
                    return self.plan(std::mem::take(input), required);
                }
                _ => {}
            }
            let below = required_below(&plan, required);
            for input in plan.inputs_mut() {
                *input = self.plan(std::mem::take(input), &below);
            }
            plan
        })
    }

    fn set_operation(&mut self, plan: Plan, required: &ColumnSet) -> Plan {
        let Plan::SetOperation { operation, all, inputs, mut columns } = plan else { return plan };
        // Distinct rows are distinct in all their columns.
        let keeps_rows = operation == SetOperation::Union && all;
        let kept: Vec<bool> =
            columns.iter().map(|it| !keeps_rows || required.contains(&it.id)).collect();
        retain_by(&mut columns, &kept);
        let inputs = inputs.into_iter().map(|(input, mut feeds)| {
            retain_by(&mut feeds, &kept);
            let required: ColumnSet = feeds.iter().copied().collect();
            (self.plan(input, &required), feeds)
        });
        Plan::SetOperation { operation, all, inputs: inputs.collect(), columns }
    }
}

/// What a node needs of its inputs: what is required of it, and what it uses itself. Inputs ignore
/// what they do not make.
fn required_below(plan: &Plan, required: &ColumnSet) -> ColumnSet {
    let mut below = match plan {
        Plan::Project { .. } | Plan::Aggregate { .. } => ColumnSet::new(),
        _ => required.clone(),
    };
    plan.exprs().into_iter().for_each(|it| collect_used(it, &mut below));
    if let Plan::GroupLimit { keys, .. } = plan {
        below.extend(keys);
    }
    below
}

fn prune_values(columns: &mut Vec<Column>, rows: &mut [Vec<Expr>], required: &ColumnSet) {
    let kept: Vec<bool> = columns.iter().map(|it| required.contains(&it.id)).collect();
    if kept.iter().all(|it| *it) {
        return;
    }
    retain_by(columns, &kept);
    rows.iter_mut().for_each(|it| retain_by(it, &kept));
}

fn retain_by<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}

/// Merges projections that follow each other, and drops those that change nothing.
pub(super) fn merge_projections(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        crate::columns::rewrite_up(plan, &mut |node| Ok(merged(node, ctx)))
    })
}

fn merged(plan: Plan, ctx: &OptimizerContext<'_>) -> Plan {
    let Plan::Project { input, mut exprs } = plan else { return plan };
    if input.columns().iter().map(|it| it.id).eq(exprs.iter().map(|it| it.0.id))
        && exprs.iter().all(|it| crate::expr::as_column(&it.1) == Some(it.0.id))
    {
        return *input;
    }
    match *input {
        Plan::Project { input: below, exprs: inner } if can_merge(&exprs, &inner, ctx) => {
            let by: HashMap<ColumnId, Expr> =
                inner.into_iter().map(|(column, expr)| (column.id, expr)).collect();
            exprs.iter_mut().for_each(|it| crate::expr::substitute(&mut it.1, &by));
            Plan::Project { input: below, exprs }
        }
        other => Plan::Project { input: Box::new(other), exprs },
    }
}

/// Whether no computed column would be computed twice, and expressions stay small.
fn can_merge(
    outer: &[(Column, Expr)],
    inner: &[(Column, Expr)],
    ctx: &OptimizerContext<'_>,
) -> bool {
    let mut uses: HashMap<ColumnId, usize> = HashMap::new();
    for (_, expr) in outer {
        let mut rest = vec![expr];
        while let Some(expr) = rest.pop() {
            if let Some(id) = crate::expr::as_column(expr) {
                *uses.entry(id).or_default() += 1;
            }
            rest.extend(expr.children());
        }
    }
    let by: HashMap<ColumnId, &Expr> = inner.iter().map(|it| (it.0.id, &it.1)).collect();
    if !outer.iter().all(|it| stays_small(&it.1, |id| by.get(&id).copied())) {
        return false;
    }
    inner.iter().all(|(column, expr)| {
        let is_plain =
            crate::expr::as_column(expr).is_some() || crate::expr::as_constant(expr).is_some();
        let once = uses.get(&column.id).is_none_or(|it| *it == 1)
            && crate::expr::behavior(expr, &ctx.registry).deterministic;
        is_plain || once
    })
}
