//! Inner joins as relations and conjuncts, without the filters and projections above the relations.

use super::filters::push;
use super::inner_joins::join_in_order;
use crate::OptimizerContext;
use crate::columns::pass;
use crate::expr::{Growth, as_column, behavior, substitute};
use crate::stack::deep;
use std::collections::HashMap;
use volley_logical::{Column, ColumnId, Expr, JoinKind, Plan};

/// Inner joins that follow each other.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// What is joined: scans without filters, and other plans that are neither inner joins nor
    /// filters nor projections.
    pub(super) relations: Vec<Plan>,
    /// What holds of all rows, in columns of the relations; deterministic.
    pub(super) conjuncts: Vec<Expr>,
    /// What projections computed, in columns of the relations; deterministic.
    pub(super) computed: HashMap<ColumnId, Expr>,
    /// Of expressions above the projection that is being taken off.
    growth: Growth,
}

impl Block {
    /// Takes a plan apart. Nodes with expressions whose values may differ from call to call are
    /// relations as they are.
    pub(super) fn of(plan: &Plan, ctx: &OptimizerContext<'_>) -> Block {
        let mut block = Block::default();
        block.take_apart(plan, ctx);
        block
    }

    fn take_apart(&mut self, plan: &Plan, ctx: &OptimizerContext<'_>) {
        let is_stable = || plan.exprs().iter().all(|it| behavior(it, &ctx.registry).deterministic);
        deep(|| match plan {
            Plan::Join { left, right, conditions, .. } if is_inner(plan) && is_stable() => {
                self.take_apart(left, ctx);
                self.take_apart(right, ctx);
                self.add(conditions);
            }
            Plan::Filter { input, conjuncts } if is_stable() => {
                self.take_apart(input, ctx);
                self.add(conjuncts);
            }
            Plan::Project { input, exprs } if is_stable() && self.growth.with(exprs).is_some() => {
                let outer = self.growth;
                self.growth = outer.with(exprs).unwrap_or(outer);
                self.take_apart(input, ctx);
                self.growth = outer;
                for (column, expr) in exprs {
                    let expr = self.expr(expr);
                    if as_column(&expr) != Some(column.id) {
                        self.computed.insert(column.id, expr);
                    }
                }
            }
            Plan::Scan { table, name, columns, filters } => {
                let (table, name, columns) = (table.clone(), name.clone(), columns.clone());
                self.relations.push(Plan::Scan { table, name, columns, filters: Vec::new() });
                self.add(filters);
            }
            other => self.relations.push(other.clone()),
        });
    }

    fn add(&mut self, conjuncts: &[Expr]) {
        for conjunct in conjuncts {
            let conjunct = self.expr(conjunct);
            self.conjuncts.push(conjunct);
        }
    }

    /// An expression above the block in columns of its relations.
    pub(super) fn expr(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        substitute(&mut expr, &self.computed);
        expr
    }

    /// The output columns of the block's plan, above another plan of its relations.
    pub(super) fn restored(
        &self,
        plan: Plan,
        columns: &[Column],
        by: &HashMap<ColumnId, Expr>,
    ) -> Plan {
        let exprs = columns.iter().map(|column| {
            let mut expr = self.expr(&pass(column).1);
            substitute(&mut expr, by);
            (column.clone(), expr)
        });
        Plan::Project { exprs: exprs.collect(), input: Box::new(plan) }
    }
}

/// Relations joined, with conjuncts as deep as they go.
pub(super) fn joined(
    relations: Vec<Plan>,
    conjuncts: Vec<Expr>,
    ctx: &OptimizerContext<'_>,
) -> Plan {
    push(join_in_order(relations, Vec::new()), conjuncts, ctx)
}

/// Whether the node is an inner join.
pub(super) fn is_inner(plan: &Plan) -> bool {
    matches!(plan, Plan::Join { kind: JoinKind::Inner, lateral: false, .. })
}
