//! Flattens inner joins to regions and rebuilds them.

use super::graph::Graph;
use super::{Guessed, Tree, passes_all};
use crate::columns::output_set;
use crate::expr::{
    ColumnSet, Growth, as_column, behavior, binary_call, same_expr, substitute, used_columns,
    without_duplicates,
};
use crate::rules::filters::filtered_plainly;
use crate::rules::inner_joins::{EqualColumns, equality, inner_join};
use crate::stack::deep;
use crate::statistics::Estimate;
use crate::{Estimator, OptimizerContext};
use std::collections::HashMap;
use volley_logical::{Column, ColumnId, Expr, JoinKind, Plan};

/// Inner joins as inputs and conjuncts.
pub(super) struct Region {
    /// What is joined.
    pub(super) inputs: Vec<Plan>,
    /// Conditions that are not equalities of two columns of different inputs.
    pub(super) conjuncts: Vec<Expr>,
    /// Columns that are equal.
    pub(super) equal: EqualColumns,
    /// What projections between the joins computed, in columns of the inputs.
    computed: HashMap<ColumnId, Expr>,
    /// Conditions without columns of the region, or whose value may differ from call to call.
    above: Vec<Expr>,
    /// Of expressions above the projection that is being taken off.
    growth: Growth,
}

impl Region {
    pub(super) fn of(plan: Plan, ctx: &OptimizerContext<'_>) -> Region {
        let mut region = Region {
            inputs: Vec::new(),
            conjuncts: Vec::new(),
            equal: EqualColumns::of(&[]),
            computed: HashMap::new(),
            above: Vec::new(),
            growth: Growth::default(),
        };
        region.take_apart(plan, ctx);
        let made: Vec<ColumnSet> = region.inputs.iter().map(output_set).collect();
        let mut conjuncts = without_duplicates(std::mem::take(&mut region.conjuncts));
        let is_plain =
            |it: &Expr| !used_columns(it).is_empty() && behavior(it, &ctx.registry).deterministic;
        (conjuncts, region.above) = conjuncts.into_iter().partition(is_plain);
        region.equal = EqualColumns::of(&conjuncts);
        conjuncts.retain(|it| !region.is_of_class(it));
        region.conjuncts = conjuncts;
        region.filter_inputs(&made);
        region
    }

    fn take_apart(&mut self, plan: Plan, ctx: &OptimizerContext<'_>) {
        deep(|| match plan {
            Plan::Join {
                left, right, kind: JoinKind::Inner, conditions, lateral: false, ..
            } => {
                self.take_apart(*left, ctx);
                self.take_apart(*right, ctx);
                self.add(conditions);
            }
            Plan::Filter { input, conjuncts } if reaches_join(&input, ctx) => {
                self.take_apart(*input, ctx);
                self.add(conjuncts);
            }
            Plan::Project { input, exprs }
                if can_dissolve(&input, &exprs, ctx) && self.growth.with(&exprs).is_some() =>
            {
                let outer = self.growth;
                self.growth = outer.with(&exprs).unwrap_or(outer);
                self.take_apart(*input, ctx);
                self.growth = outer;
                if !passes_all(&exprs) {
                    for (column, mut expr) in exprs {
                        substitute(&mut expr, &self.computed);
                        if as_column(&expr) != Some(column.id) {
                            self.computed.insert(column.id, expr);
                        }
                    }
                }
            }
            other => self.inputs.push(other),
        });
    }

    fn add(&mut self, conjuncts: Vec<Expr>) {
        for mut conjunct in conjuncts {
            substitute(&mut conjunct, &self.computed);
            self.conjuncts.push(conjunct);
        }
    }

    /// Whether the classes of equal columns say what the conjunct says.
    fn is_of_class(&self, conjunct: &Expr) -> bool {
        let Some((a, b)) = binary_call(conjunct, "eq") else { return false };
        let (Some(a), Some(b)) = (as_column(a), as_column(b)) else { return false };
        a != b && self.equal.equal_to(a).iter().any(|it| it.0 == b)
    }

    /// Conditions on single inputs go there, also that two columns of one input are equal because
    /// both equal a third one.
    fn filter_inputs(&mut self, made: &[ColumnSet]) {
        let mut rest = std::mem::take(&mut self.conjuncts);
        for (input, made) in self.inputs.iter_mut().zip(made) {
            let (mut own, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|it| used_columns(it).is_subset(made));
            rest = others;
            for class in self.equal.classes() {
                let inside: Vec<_> = class.iter().filter(|it| made.contains(&it.0)).collect();
                own.extend(inside.windows(2).map(|it| equality(it[0], it[1])));
            }
            own.retain(|it| !is_filtered_by(input, it));
            *input = filtered_plainly(std::mem::take(input), own);
        }
        self.conjuncts = rest;
    }

    /// The plan of a tree over inputs that make `estimates`.
    pub(super) fn build(
        &mut self,
        tree: &Tree,
        graph: &Graph,
        estimates: Vec<Estimate>,
        estimator: &mut Estimator,
    ) -> Guessed {
        let inputs = std::mem::take(&mut self.inputs).into_iter().zip(estimates);
        let mut parts = Parts {
            inputs: inputs.map(Some).collect(),
            conjuncts: std::mem::take(&mut self.conjuncts),
            estimator,
        };
        let (joined, _) = self.build_tree(tree, graph, &mut parts);
        filtered_guess(joined, parts.conjuncts, parts.estimator)
    }

    fn build_tree(
        &self,
        tree: &Tree,
        graph: &Graph,
        parts: &mut Parts<'_>,
    ) -> (Guessed, ColumnSet) {
        deep(|| {
            let (stream, held) = match tree {
                Tree::Input(index) => {
                    let input = parts.inputs[*index].take().unwrap_or_default();
                    return (input, graph.made[*index].clone());
                }
                Tree::Join(stream, held) => (stream, held),
            };
            let ((left, of_left), in_left) = self.build_tree(stream, graph, parts);
            let ((right, of_right), in_right) = self.build_tree(held, graph, parts);
            let mut conditions = Vec::new();
            for class in self.equal.classes() {
                let of = |side: &ColumnSet| class.iter().find(|it| side.contains(&it.0));
                if let (Some(a), Some(b)) = (of(&in_left), of(&in_right)) {
                    conditions.push(equality(a, b));
                }
            }
            let made = merged(in_left, in_right);
            let (own, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut parts.conjuncts)
                .into_iter()
                .partition(|it| used_columns(it).is_subset(&made));
            parts.conjuncts = rest;
            conditions.extend(own);
            let plan = inner_join(left, right, conditions);
            let estimate = parts.estimator.estimate_over(&plan, vec![of_left, of_right]);
            ((plan, estimate), made)
        })
    }

    /// Puts back what projections computed, and conditions that stay above.
    pub(super) fn restore(
        self,
        joined: Guessed,
        columns: &[Column],
        estimator: &mut Estimator,
    ) -> Guessed {
        let (plan, estimate) = filtered_guess(joined, self.above, estimator);
        if columns.iter().all(|it| !self.computed.contains_key(&it.id)) {
            return (plan, estimate);
        }
        let exprs = columns.iter().map(|column| {
            let passed = || Expr::column(column.id, column.data_type.clone());
            (column.clone(), self.computed.get(&column.id).cloned().unwrap_or_else(passed))
        });
        let plan = Plan::Project { exprs: exprs.collect(), input: Box::new(plan) };
        let estimate = estimator.estimate_over(&plan, vec![estimate]);
        (plan, estimate)
    }
}

/// What trees are built from.
struct Parts<'a> {
    inputs: Vec<Option<Guessed>>,
    /// Those that no join has yet.
    conjuncts: Vec<Expr>,
    estimator: &'a mut Estimator,
}

/// Like [`filtered_plainly`], with what it makes.
fn filtered_guess(
    (plan, estimate): Guessed,
    conjuncts: Vec<Expr>,
    estimator: &mut Estimator,
) -> Guessed {
    if conjuncts.is_empty() {
        return (plan, estimate);
    }
    let plan = filtered_plainly(plan, conjuncts);
    let estimate = estimator.estimate_over(&plan, vec![estimate]);
    (plan, estimate)
}

/// The columns of both sides, in time of the smaller one.
fn merged(a: ColumnSet, b: ColumnSet) -> ColumnSet {
    let (mut all, more) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    all.extend(more);
    all
}

/// Whether there is a join under filters and projections.
pub(super) fn reaches_join(plan: &Plan, ctx: &OptimizerContext<'_>) -> bool {
    match plan {
        Plan::Join { kind, lateral, .. } => *kind == JoinKind::Inner && !lateral,
        Plan::Filter { input, .. } => reaches_join(input, ctx),
        Plan::Project { input, exprs } => can_dissolve(input, exprs, ctx),
        _ => false,
    }
}

/// Whether a projection's expressions may be evaluated above other joins.
fn can_dissolve(input: &Plan, exprs: &[(Column, Expr)], ctx: &OptimizerContext<'_>) -> bool {
    reaches_join(input, ctx) && exprs.iter().all(|it| behavior(&it.1, &ctx.registry).deterministic)
}

/// Whether the input itself keeps only rows that satisfy the conjunct.
fn is_filtered_by(input: &Plan, conjunct: &Expr) -> bool {
    match input {
        Plan::Filter { conjuncts, input } => {
            conjuncts.iter().any(|it| same_expr(it, conjunct)) || is_filtered_by(input, conjunct)
        }
        Plan::Scan { filters, .. } => filters.iter().any(|it| same_expr(it, conjunct)),
        _ => false,
    }
}
