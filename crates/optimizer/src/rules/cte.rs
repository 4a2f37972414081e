//! Common table expressions: rewrites and inlines their definitions.

use crate::OptimizerContext;
use crate::columns::{fresh_copy, rewrite_up};
use crate::stack::deep;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_logical::{Column, Cte, Expr, Plan};

/// Applies `f` to the plan and, once each, to the definitions of the common table expressions that
/// it uses; references see the new definitions, which have the same output columns.
pub(crate) fn with_ctes(plan: Plan, f: &mut dyn FnMut(Plan) -> Result<Plan>) -> Result<Plan> {
    let mut done = HashMap::new();
    let plan = replace_definitions(plan, f, &mut done)?;
    f(plan)
}

fn replace_definitions(
    plan: Plan,
    f: &mut dyn FnMut(Plan) -> Result<Plan>,
    done: &mut HashMap<u32, Arc<Cte>>,
) -> Result<Plan> {
    if !has_cte(&plan) {
        return Ok(plan);
    }
    rewrite_up(plan, &mut |node| {
        let Plan::CteRef { cte, columns } = node else { return Ok(node) };
        if let Some(cte) = done.get(&cte.id) {
            return Ok(Plan::CteRef { cte: cte.clone(), columns });
        }
        let made = cte.plan.columns();
        let inner = replace_definitions(cte.plan.clone(), f, done)?;
        let plan = crate::columns::project_to(f(inner)?, &made);
        let new = Cte { id: cte.id, name: cte.name.clone(), plan, materialized: cte.materialized };
        let new = Arc::new(new);
        done.insert(cte.id, new.clone());
        Ok(Plan::CteRef { cte: new, columns })
    })
}

/// All common table expressions, each after those that it uses.
pub(super) fn definitions_of(plan: &Plan) -> Vec<Arc<Cte>> {
    fn visit(plan: &Plan, found: &mut Vec<Arc<Cte>>) {
        deep(|| {
            if let Plan::CteRef { cte, .. } = plan
                && found.iter().all(|it| it.id != cte.id)
            {
                visit(&cte.plan, found);
                found.push(cte.clone());
            }
            for input in plan.inputs() {
                visit(input, found);
            }
        });
    }
    let mut found = Vec::new();
    visit(plan, &mut found);
    found
}

/// Adapts the columns of a reference to the new definition.
type AdaptColumns<'a> = &'a dyn Fn(&Cte, &mut Vec<Column>);

/// Replaces definitions, in the plan and in each other, by `plans`, by identity. `definitions`:
/// all of them, each after those that it uses.
pub(super) fn with_definitions(
    plan: Plan,
    definitions: &[Arc<Cte>],
    mut plans: HashMap<u32, Plan>,
    adapt: AdaptColumns<'_>,
) -> Plan {
    let mut done: HashMap<u32, Arc<Cte>> = HashMap::new();
    for cte in definitions {
        let Some(plan) = plans.remove(&cte.id) else { continue };
        let plan = with_references(plan, &done, adapt);
        let (id, name) = (cte.id, cte.name.clone());
        let new = Cte { id, name, plan, materialized: cte.materialized };
        done.insert(id, Arc::new(new));
    }
    with_references(plan, &done, adapt)
}

fn with_references(mut plan: Plan, done: &HashMap<u32, Arc<Cte>>, adapt: AdaptColumns<'_>) -> Plan {
    deep(|| {
        if let Plan::CteRef { cte, columns } = &mut plan
            && let Some(new) = done.get(&cte.id)
        {
            adapt(cte, columns);
            *cte = new.clone();
        }
        for input in plan.inputs_mut() {
            *input = with_references(std::mem::take(input), done, adapt);
        }
        plan
    })
}

fn has_cte(plan: &Plan) -> bool {
    let mut rest = vec![plan];
    while let Some(plan) = rest.pop() {
        if matches!(plan, Plan::CteRef { .. }) {
            return true;
        }
        rest.extend(plan.inputs());
    }
    false
}

/// How often each common table expression is referenced, by references that run.
fn count_references(plan: &Plan) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    let mut rest = vec![plan];
    while let Some(plan) = rest.pop() {
        rest.extend(plan.inputs());
        if let Plan::CteRef { cte, .. } = plan {
            let count = counts.entry(cte.id).or_insert(0);
            *count += 1;
            if *count == 1 {
                rest.push(&cte.plan);
            }
        }
    }
    counts
}

/// Puts definitions in place of references: of those referenced once, and of those that are cheap
/// to compute again, where filters and column choice then reach the tables.
pub(super) fn inline_ctes(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    if !has_cte(&plan) {
        return Ok(plan);
    }
    let counts = count_references(&plan);
    inline(plan, &counts, ctx)
}

fn inline(plan: Plan, counts: &HashMap<u32, usize>, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut definitions = HashMap::new();
    inline_in(plan, counts, &mut definitions, ctx)
}

fn inline_in(
    plan: Plan,
    counts: &HashMap<u32, usize>,
    definitions: &mut HashMap<u32, Arc<Cte>>,
    ctx: &OptimizerContext<'_>,
) -> Result<Plan> {
    rewrite_up(plan, &mut |node| {
        let Plan::CteRef { cte, columns } = node else { return Ok(node) };
        let once = counts.get(&cte.id) == Some(&1);
        if once && !cte.materialized {
            // This is the only reference: no copy, which would copy the whole subtree.
            let plan = inline_in(cte.plan.clone(), counts, definitions, ctx)?;
            let exprs = columns.into_iter().zip(plan.columns());
            let exprs = exprs.map(|(it, inner)| (it, Expr::column(inner.id, inner.data_type)));
            return Ok(Plan::Project { exprs: exprs.collect(), input: Box::new(plan) });
        }
        let cte = match definitions.get(&cte.id) {
            Some(done) => done.clone(),
            None => {
                let plan = inline_in(cte.plan.clone(), counts, definitions, ctx)?;
                let (id, name) = (cte.id, cte.name.clone());
                let done = Arc::new(Cte { id, name, plan, materialized: cte.materialized });
                definitions.insert(cte.id, done.clone());
                done
            }
        };
        if cte.materialized || !is_cheap(&cte.plan, ctx) {
            return Ok(Plan::CteRef { cte, columns });
        }
        let (copy, renamed) = fresh_copy(&cte.plan, ctx.column_ids);
        let made = cte.plan.columns();
        let exprs = columns.into_iter().zip(made).map(|(column, inner)| {
            let id = renamed.get(&inner.id).copied().unwrap_or(inner.id);
            (column, Expr::column(id, inner.data_type))
        });
        Ok(Plan::Project { exprs: exprs.collect(), input: Box::new(copy) })
    })
}

/// Whether a plan reads one table and does next to nothing.
pub(super) fn is_cheap(plan: &Plan, ctx: &OptimizerContext<'_>) -> bool {
    let repeats = |exprs: Vec<&Expr>| {
        exprs.into_iter().all(|it| crate::expr::behavior(it, &ctx.registry).deterministic)
    };
    match plan {
        Plan::Scan { .. } => true,
        Plan::Values { rows, .. } => rows.len() <= 1 && repeats(plan.exprs()),
        Plan::Project { input, .. } | Plan::Filter { input, .. } => {
            repeats(plan.exprs()) && is_cheap(input, ctx)
        }
        _ => false,
    }
}
