//! Splits aggregations into few groups: one aggregation per list of DISTINCT arguments.
//!
//! ```text
//! Aggregate k, count(distinct x), count(distinct y), sum(z)
//!
//! Join same k                        without keys: the product of single rows
//!   Join same k
//!     Aggregate k, count(distinct x)
//!     Aggregate k, count(distinct y)
//!   Aggregate k, sum(z)
//! ```
//!
//! Each of them finds distinct arguments before groups, in all drivers (`lowering/distinct.rs`).
//! Each repeats the scan with its filters and projections, and reads only the columns that it
//! needs. Other inputs run once and are shared. Calls that cannot be computed in steps stay in one
//! aggregation, separate from the others.

use super::cte::is_cheap;
use super::filters::push;
use super::inner_joins::inner_join;
use crate::columns::{for_each_node, fresh_copy, pass, rewrite_up};
use crate::expr::{behavior, same, same_expr, without_duplicates};
use crate::lowering::DISTINCT_GROUPS_MAX;
use crate::{Estimator, OptimizerContext};
use std::sync::Arc;
use volley_error::Result;
use volley_function::AggregateKind;
use volley_logical::{AggregateCall, Column, Cte, Expr, Plan};
use volley_types::Type;

/// Splits aggregations whose calls have different DISTINCT arguments.
pub(super) fn split_distinct(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut next_cte = 0;
    for_each_node(&plan, &mut |node| {
        if let Plan::CteRef { cte, .. } = node {
            next_cte = next_cte.max(cte.id.saturating_add(1));
        }
    });
    let mut splitting = Splitting { ctx, estimator: Estimator::new(ctx), next_cte, is_done: false };
    let plan = super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |node| Ok(splitting.node(node)))
    })?;
    match splitting.is_done && ctx.is_enabled("prune_columns") {
        true => super::prune::prune_columns(plan, ctx),
        false => Ok(plan),
    }
}

struct Splitting<'a> {
    ctx: &'a OptimizerContext<'a>,
    estimator: Estimator,
    /// The identity of the next common table expression.
    next_cte: u32,
    /// Whether an aggregation was split.
    is_done: bool,
}

/// How the calls of a [`Part`] are done.
enum Way {
    /// In steps, of all rows.
    Rows,
    /// In steps, of rows that are distinct in these arguments, where this filter holds.
    Distinct(Vec<Expr>, Option<Expr>),
    /// All at once.
    OneStep,
}

/// Calls that one aggregation does.
struct Part {
    way: Way,
    calls: Vec<(Column, AggregateCall)>,
}

impl Splitting<'_> {
    fn node(&mut self, node: Plan) -> Plan {
        let Plan::Aggregate { aggregates, .. } = &node else { return node };
        let parts = parts_of(aggregates, self.ctx);
        let lists = parts.iter().filter(|it| matches!(it.way, Way::Distinct(..))).count();
        let others = parts.iter().any(|it| matches!(it.way, Way::OneStep));
        if lists == 0 || lists + usize::from(others) < 2 || !self.can_split(&node) {
            return node;
        }
        self.is_done = true;
        self.split(node, parts)
    }

    /// Whether the aggregation can be done by several, and makes few groups.
    fn can_split(&mut self, node: &Plan) -> bool {
        let Plan::Aggregate { keys, .. } = node else { return false };
        let registry = &self.ctx.registry;
        let can_compare = |it: &Type| {
            let types = [it.clone(), it.clone()];
            it.key_type().is_none()
                && registry.resolve_scalar("is_not_distinct_from", &types).is_ok()
        };
        node.exprs().into_iter().all(|it| behavior(it, registry).deterministic)
            && keys.iter().all(|it| can_compare(&it.0.data_type))
            && (keys.is_empty() || self.estimator.estimate(node).rows <= DISTINCT_GROUPS_MAX)
    }

    /// One aggregation per part, and their results next to each other.
    fn split(&mut self, node: Plan, parts: Vec<Part>) -> Plan {
        let columns = node.columns();
        let Plan::Aggregate { input, keys, .. } = node else { return node };
        let input = self.repeatable(*input);
        let mut exprs: Vec<_> = keys.iter().map(|it| pass(&it.0)).collect();
        let mut joined: Option<Plan> = None;
        for part in parts {
            let made: Vec<Column> = part.calls.iter().map(|it| it.0.clone()).collect();
            let aggregate = self.aggregate(input.clone(), &keys, part.calls);
            let Some(left) = joined.take() else {
                exprs.extend(made.iter().map(pass));
                joined = Some(aggregate);
                continue;
            };
            let (right, renamed) = fresh_copy(&aggregate, self.ctx.column_ids);
            let renamed = |it: &Column| {
                let id = renamed.get(&it.id).copied().unwrap_or(it.id);
                Expr::column(id, it.data_type.clone())
            };
            let conditions = keys.iter().map(|it| same(pass(&it.0).1, renamed(&it.0)));
            joined = Some(inner_join(left, right, conditions.collect()));
            exprs.extend(made.iter().map(|it| (it.clone(), renamed(it))));
        }
        let position = |column: &Column| columns.iter().position(|it| it.id == column.id);
        exprs.sort_by_key(|it| position(&it.0));
        Plan::Project { input: Box::new(joined.unwrap_or_default()), exprs }
    }

    /// The input as it is, if it costs little and may run again, otherwise a reference to it.
    fn repeatable(&mut self, input: Plan) -> Plan {
        if may_repeat(&input, self.ctx) {
            return input;
        }
        let columns = input.columns();
        let (plan, _) = fresh_copy(&input, self.ctx.column_ids);
        let (id, name) = (self.next_cte, "shared".to_owned());
        self.next_cte += 1;
        Plan::CteRef { cte: Arc::new(Cte { id, name, plan, materialized: false }), columns }
    }

    /// The aggregation of some of the calls.
    fn aggregate(
        &self,
        mut input: Plan,
        keys: &[(Column, Expr)],
        mut aggregates: Vec<(Column, AggregateCall)>,
    ) -> Plan {
        // Without keys there is a group even when no row is left.
        if keys.is_empty()
            && let Some(filter) = common_filter(&aggregates)
        {
            input = push(input, vec![filter], self.ctx);
            aggregates.iter_mut().for_each(|it| it.1.filter = None);
        }
        Plan::Aggregate { input: Box::new(input), keys: keys.to_vec(), aggregates }
    }
}

/// The calls by the way in which they are done.
fn parts_of(aggregates: &[(Column, AggregateCall)], ctx: &OptimizerContext<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (column, call) in aggregates {
        let way = way_of(call, ctx);
        let call = (column.clone(), call.clone());
        match parts.iter_mut().find(|it| is_same_way(&it.way, &way)) {
            Some(part) => part.calls.push(call),
            None => parts.push(Part { way, calls: vec![call] }),
        }
    }
    parts
}

fn way_of(call: &AggregateCall, ctx: &OptimizerContext<'_>) -> Way {
    let types: Vec<Type> = call.args.iter().map(|it| it.data_type.clone()).collect();
    let bound = ctx.registry.resolve_aggregate(&call.function, &types);
    let folds = bound.is_ok_and(|it| matches!(it.function, AggregateKind::Folding(_)));
    if !folds || !call.order_by.is_empty() {
        return Way::OneStep;
    }
    if !call.distinct {
        return Way::Rows;
    }
    // Types with an order of their own have keys to be grouped by.
    match !types.is_empty() && types.iter().all(|it| it.key_type().is_none()) {
        true => Way::Distinct(without_duplicates(call.args.clone()), call.filter.clone()),
        false => Way::OneStep,
    }
}

fn is_same_way(a: &Way, b: &Way) -> bool {
    match (a, b) {
        (Way::Distinct(a, filter_a), Way::Distinct(b, filter_b)) => {
            let is_in = |it: &Expr, all: &[Expr]| all.iter().any(|other| same_expr(it, other));
            a.len() == b.len() && a.iter().all(|it| is_in(it, b)) && same_filter(filter_a, filter_b)
        }
        (Way::Rows, Way::Rows) | (Way::OneStep, Way::OneStep) => true,
        _ => false,
    }
}

fn same_filter(a: &Option<Expr>, b: &Option<Expr>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same_expr(a, b),
        _ => false,
    }
}

/// The filter that all of the calls have.
fn common_filter(aggregates: &[(Column, AggregateCall)]) -> Option<Expr> {
    let filter = &aggregates.first()?.1.filter;
    let all = aggregates.iter().all(|it| same_filter(&it.1.filter, filter));
    filter.clone().filter(|_| all)
}

/// Whether the plan makes the same rows again, for little.
fn may_repeat(plan: &Plan, ctx: &OptimizerContext<'_>) -> bool {
    match plan {
        Plan::CteRef { .. } => true,
        Plan::Filter { input, .. } | Plan::Project { input, .. } => {
            let is_stable = |it: &Expr| behavior(it, &ctx.registry).deterministic;
            plan.exprs().into_iter().all(is_stable) && may_repeat(input, ctx)
        }
        Plan::GroupId { input, .. } => may_repeat(input, ctx),
        other => is_cheap(other, ctx),
    }
}
