//! Pushes filters above the references of a common table expression into its definition.
//!
//! ```text
//! WITH c AS (definition)                    becomes   WITH c AS (σ[p OR q] definition)
//! ... σ[p] c ... σ[q] c ...                           ... σ[p] c ... σ[q] c ...
//! ```
//!
//! A row that no reference keeps is not needed. If one reference keeps all rows, nothing is pushed.
//! The filters above the references stay. The disjunction goes as deep as other filters: a factor
//! common to all references reaches the scans, and a disjunction over several inputs of a join
//! gives a condition on each ([`super::inner_joins`]).

use super::cte::{definitions_of, with_definitions};
use super::filters::push;
use super::rewrite::rewrite_expr;
use super::{fold, simplify};
use crate::OptimizerContext;
use crate::columns::project_to;
use crate::expr::{Behavior, and, behavior, or, split_conjuncts, substitute, without_duplicates};
use crate::stack::deep;
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{Column, Cte, Expr, Plan};

/// A disjunction of more terms is not pushed: each row would have to be tested by all of them.
const REFERENCES_MAX: usize = 64;

/// Pushes the filters of references into all definitions.
pub(super) fn filter_ctes(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let definitions = definitions_of(&plan);
    if definitions.is_empty() {
        return Ok(plan);
    }
    let mut references = References::default();
    references.collect(&plan, ctx);
    let mut filtered = HashMap::new();
    // A definition's filters are pushed before the references in it are looked at.
    for cte in definitions.iter().rev() {
        let definition = match references.condition(cte, ctx) {
            Some(conjuncts) => {
                let columns = cte.plan.columns();
                project_to(push(cte.plan.clone(), conjuncts, ctx), &columns)
            }
            None => cte.plan.clone(),
        };
        references.collect(&definition, ctx);
        filtered.insert(cte.id, definition);
    }
    Ok(with_definitions(plan, &definitions, filtered, &|_, _| {}))
}

/// For each common table expression, what each reference keeps; `None` once one keeps all rows.
#[derive(Default)]
struct References(HashMap<u32, Option<Vec<Expr>>>);

impl References {
    fn collect(&mut self, plan: &Plan, ctx: &OptimizerContext<'_>) {
        deep(|| match plan {
            Plan::Filter { input, conjuncts } => match &**input {
                Plan::CteRef { cte, columns } => self.add(cte, columns, conjuncts, ctx),
                other => self.collect(other, ctx),
            },
            Plan::CteRef { cte, .. } => {
                self.0.insert(cte.id, None);
            }
            other => other.inputs().into_iter().for_each(|it| self.collect(it, ctx)),
        });
    }

    fn add(&mut self, cte: &Cte, columns: &[Column], kept: &[Expr], ctx: &OptimizerContext<'_>) {
        let is_safe = |it: &&Expr| {
            let Behavior { deterministic, infallible } = behavior(it, &ctx.registry);
            deterministic && infallible
        };
        let mut kept: Vec<Expr> = kept.iter().filter(is_safe).cloned().collect();
        let terms = self.0.entry(cte.id).or_insert_with(|| Some(Vec::new()));
        if kept.is_empty() || terms.as_ref().is_some_and(|it| it.len() == REFERENCES_MAX) {
            *terms = None;
        }
        let Some(terms) = terms else { return };
        let made = cte.plan.columns().into_iter().map(|it| Expr::column(it.id, it.data_type));
        let by = columns.iter().map(|it| it.id).zip(made).collect();
        kept.iter_mut().for_each(|it| substitute(it, &by));
        terms.push(and(kept));
    }

    /// What holds of every row of the definition that a reference keeps.
    fn condition(&self, cte: &Cte, ctx: &OptimizerContext<'_>) -> Option<Vec<Expr>> {
        let terms = self.0.get(&cte.id)?.clone()?;
        let mut condition = or(without_duplicates(terms));
        rewrite_expr(&mut condition, &|expr| fold::fold(expr, ctx));
        rewrite_expr(&mut condition, &simplify::simplify);
        let mut conjuncts = Vec::new();
        split_conjuncts(condition, &mut conjuncts);
        Some(conjuncts)
    }
}
