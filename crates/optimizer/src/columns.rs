//! The columns that a plan makes, uses, and references from outside.

use crate::expr::{ColumnSet, collect_used};
use crate::stack::deep;
use std::collections::HashMap;
use volley_logical::{Column, ColumnId, ColumnIds, Expr, ExprKind, Plan};

/// The columns that a plan uses but does not make: its correlations.
pub(crate) fn free_columns(plan: &Plan) -> ColumnSet {
    let (mut used, mut made) = (ColumnSet::new(), ColumnSet::new());
    let mut rest = vec![plan];
    while let Some(plan) = rest.pop() {
        for expr in plan.exprs() {
            collect_used(expr, &mut used);
        }
        if let Plan::GroupLimit { keys, .. } = plan {
            used.extend(keys);
        }
        collect_made(plan, &mut made);
        rest.extend(plan.inputs());
    }
    used.retain(|id| !made.contains(id));
    used
}

/// Adds the columns that the node itself defines.
fn collect_made(plan: &Plan, made: &mut ColumnSet) {
    match plan {
        Plan::Scan { columns, .. } => made.extend(columns.iter().map(|it| it.0.id)),
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::Recursive { columns, .. }
        | Plan::WorkingTable { columns, .. }
        | Plan::CteRef { columns, .. } => made.extend(columns.iter().map(|it| it.id)),
        Plan::Project { exprs, .. } => made.extend(exprs.iter().filter_map(defined)),
        Plan::Aggregate { keys, aggregates, .. } => {
            made.extend(keys.iter().filter_map(defined));
            made.extend(aggregates.iter().map(|it| it.0.id));
        }
        Plan::GroupId { keys, id, present, .. } => {
            made.extend(keys.iter().map(|it| &it.0).chain([id]).chain(present).map(|it| it.id));
        }
        Plan::Window { calls, .. } => made.extend(calls.iter().map(|it| it.0.id)),
        Plan::Join { mark, .. } => made.extend(mark.iter().map(|it| it.id)),
        Plan::UniqueId { column, .. } => {
            made.insert(column.id);
        }
        Plan::Unnest { generators, ordinality, .. } => {
            let columns = generators.iter().flat_map(|it| &it.columns);
            made.extend(columns.chain(ordinality).map(|it| it.id));
        }
        _ => {}
    }
}

/// The column of a projection, unless it passes a column on under its own identity.
fn defined((column, expr): &(Column, Expr)) -> Option<ColumnId> {
    let passes = matches!(&expr.kind, ExprKind::Column(id) if *id == column.id);
    (!passes).then_some(column.id)
}

/// The identities of the output columns of a plan.
pub(crate) fn output_set(plan: &Plan) -> ColumnSet {
    plan.column_refs().into_iter().map(|it| it.id).collect()
}

/// Passes a column on.
pub(crate) fn pass(column: &Column) -> (Column, Expr) {
    (column.clone(), Expr::column(column.id, column.data_type.clone()))
}

/// A projection to exactly these columns of the input; the input itself if it has exactly these.
pub(crate) fn project_to(input: Plan, columns: &[Column]) -> Plan {
    if input.columns().iter().map(|it| it.id).eq(columns.iter().map(|it| it.id)) {
        return input;
    }
    Plan::Project { input: Box::new(input), exprs: columns.iter().map(pass).collect() }
}

/// A copy of a plan in which every column that it makes has a new identity, and the new identities
/// by the old ones.
pub(crate) fn fresh_copy(plan: &Plan, ids: &ColumnIds) -> (Plan, HashMap<ColumnId, ColumnId>) {
    let mut made = ColumnSet::new();
    let mut rest = vec![plan];
    while let Some(plan) = rest.pop() {
        collect_made(plan, &mut made);
        collect_subqueries(plan, &mut rest);
        rest.extend(plan.inputs());
    }
    let renamed: HashMap<ColumnId, ColumnId> =
        made.into_iter().map(|id| (id, ids.next())).collect();
    let mut copy = plan.clone();
    rename(&mut copy, &renamed);
    (copy, renamed)
}

fn collect_subqueries<'a>(plan: &'a Plan, plans: &mut Vec<&'a Plan>) {
    let mut rest = plan.exprs();
    while let Some(expr) = rest.pop() {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            plans.push(&subquery.plan);
        }
        rest.extend(expr.children());
    }
}

/// Renames columns wherever they are made or used.
pub(crate) fn rename(plan: &mut Plan, by: &HashMap<ColumnId, ColumnId>) {
    deep(|| {
        rename_made(plan, by);
        for expr in plan.exprs_mut() {
            rename_in_expr(expr, by);
        }
        for input in plan.inputs_mut() {
            rename(input, by);
        }
    });
}

fn rename_made(plan: &mut Plan, by: &HashMap<ColumnId, ColumnId>) {
    let new = |id: &mut ColumnId| {
        if let Some(other) = by.get(id) {
            *id = *other;
        }
    };
    match plan {
        Plan::Scan { columns, .. } => columns.iter_mut().for_each(|it| new(&mut it.0.id)),
        Plan::Values { columns, .. }
        | Plan::CteRef { columns, .. }
        | Plan::WorkingTable { columns, .. } => {
            columns.iter_mut().for_each(|it| new(&mut it.id));
        }
        Plan::SetOperation { columns, inputs, .. } | Plan::Recursive { columns, inputs, .. } => {
            columns.iter_mut().for_each(|it| new(&mut it.id));
            inputs.iter_mut().flat_map(|it| &mut it.1).for_each(new);
        }
        Plan::Project { exprs, .. } => exprs.iter_mut().for_each(|it| new(&mut it.0.id)),
        Plan::Aggregate { keys, aggregates, .. } => {
            keys.iter_mut().for_each(|it| new(&mut it.0.id));
            aggregates.iter_mut().for_each(|it| new(&mut it.0.id));
        }
        Plan::GroupId { keys, id, present, .. } => {
            let made = keys.iter_mut().map(|it| &mut it.0).chain([id]).chain(present);
            made.for_each(|it| new(&mut it.id));
        }
        Plan::Window { calls, limit, .. } => {
            calls.iter_mut().for_each(|it| new(&mut it.0.id));
            limit.iter_mut().for_each(|it| new(&mut it.0));
        }
        Plan::Join { mark, .. } => mark.iter_mut().for_each(|it| new(&mut it.id)),
        Plan::GroupLimit { keys, .. } => keys.iter_mut().for_each(new),
        Plan::UniqueId { column, .. } => new(&mut column.id),
        Plan::Unnest { generators, ordinality, .. } => {
            let columns = generators.iter_mut().flat_map(|it| &mut it.columns);
            columns.chain(ordinality).for_each(|it| new(&mut it.id));
        }
        _ => {}
    }
}

/// Renames columns in an expression, also in its subqueries.
pub(crate) fn rename_in_expr(expr: &mut Expr, by: &HashMap<ColumnId, ColumnId>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match &mut expr.kind {
            ExprKind::Column(id) => {
                if let Some(other) = by.get(id) {
                    *id = *other;
                }
            }
            ExprKind::Subquery(subquery) => {
                let mut plan = Plan::clone(&subquery.plan);
                rename(&mut plan, by);
                subquery.plan = plan.into();
                rest.extend(expr.children_mut());
            }
            _ => rest.extend(expr.children_mut()),
        }
    }
}

/// Calls `f` for every node, also in subqueries and, once each, in common table expressions.
pub(crate) fn for_each_node(plan: &Plan, f: &mut impl FnMut(&Plan)) {
    let mut seen = std::collections::HashSet::new();
    let mut rest = vec![plan];
    while let Some(plan) = rest.pop() {
        f(plan);
        collect_subqueries(plan, &mut rest);
        rest.extend(plan.inputs());
        if let Plan::CteRef { cte, .. } = plan
            && seen.insert(cte.id)
        {
            rest.push(&cte.plan);
        }
    }
}

/// Replaces every input by `f` of it.
pub(crate) fn map_inputs<E>(
    plan: &mut Plan,
    mut f: impl FnMut(Plan) -> Result<Plan, E>,
) -> Result<(), E> {
    for input in plan.inputs_mut() {
        *input = f(std::mem::take(input))?;
    }
    Ok(())
}

/// Rewrites a plan bottom up: `f` gets every node after its inputs.
pub(crate) fn rewrite_up<E>(
    mut plan: Plan,
    f: &mut impl FnMut(Plan) -> Result<Plan, E>,
) -> Result<Plan, E> {
    deep(|| {
        map_inputs(&mut plan, |input| rewrite_up(input, f))?;
        f(plan)
    })
}
