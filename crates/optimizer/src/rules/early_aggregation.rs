//! Computes aggregates of one side of a join before the join, and merges them after it.
//!
//! After Yan and Larson, "Eager Aggregation and Lazy Aggregation" (VLDB 1995). `R` has all
//! aggregated columns; `N` are the columns of `R` that conditions and keys use:
//!
//! ```text
//! γ[G; f(a)](L ⟕[c] R)   becomes   γ[G; f'(p)](L ⟕[c] γ[N; p = f(a)](R))
//!
//! f(a)                                            f'(p)
//! count(a), with an outer join                    sum(coalesce(p, 0))
//! count(*), with an outer join                    sum(coalesce(p, 1)): the row of nulls counts
//! count                                           sum(p)
//! sum of integers, of decimals                    sum(p)
//! min, max, bool_and, bool_or                     the same of p
//! ```
//!
//! The rows of `R` that agree in `N` have the same partners and keys, so that a partner has all or
//! none of them. Any of these rows may represent them, because `N` has no types with equal values
//! that differ. Without a partner, a row of `L` is padded with nulls either way. Then `f` must
//! ignore it: every argument is null if the columns of `R` are.
//!
//! Counts are sums of type HUGEINT, cast back; partial sums of numbers of up to 19 digits fit the
//! type that they have, however many rows there are. Not rewritten:
//! - `avg`, whose states SQL cannot express;
//! - sums of DOUBLE, which would be rounded in another order;
//! - DISTINCT, FILTER and orders;
//! - expressions that may fail for a row that the join would drop, and volatile expressions;
//! - aggregates without keys.

use super::block::{Block, joined};
use super::join_order::rows_of_joins;
use super::outer_joins::is_null_of;
use crate::columns::{output_set, pass, rewrite_up};
use crate::expr::{ColumnSet, behavior, bigint, collect_used, has_one_form, used_columns};
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{AggregateCall, Column, ColumnIds, Expr, JoinKind, Plan, SpecialForm};
use volley_types::Type;

/// A group has at least this many rows before the join.
const GROUP_ROWS_MIN: f64 = 4.0;

/// The join keeps at least this share of the rows; else the scan below it leaves them out, and they
/// need not be grouped.
const KEPT_SHARE_MIN: f64 = 0.5;

/// There are at least this many groups after the join for each before it: grouping rows by few keys
/// costs less than by many, and so does probing a join.
const GROUPS_SHARE_MIN: f64 = 0.5;

/// Sums of numbers of up to this many digits fit 38 digits.
const SUMMED_DIGITS_MAX: u8 = 19;

/// Aggregates before joins where it pays.
pub(super) fn aggregate_early(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |node| {
            let new = rewritten(&node, ctx, &mut estimator);
            Ok(new.unwrap_or(node))
        })
    })
}

/// A join whose one side is aggregated.
struct Sides {
    /// Inner, or Left: then `others` is one plan.
    kind: JoinKind,
    /// What is joined to it.
    others: Vec<Plan>,
    /// What is aggregated, with the conjuncts on it alone.
    aggregated: Plan,
    /// The join's other conjuncts.
    conjuncts: Vec<Expr>,
    /// How many pairs of rows satisfy these.
    pairs: f64,
}

fn rewritten(plan: &Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Option<Plan> {
    let Plan::Aggregate { input, keys, aggregates } = plan else { return None };
    if keys.is_empty() || aggregates.is_empty() || !reaches_join(input) {
        return None;
    }
    let block = Block::of(input, ctx);
    let mut calls = aggregates.clone();
    calls.iter_mut().flat_map(|it| it.1.exprs_mut()).for_each(|it| *it = block.expr(it));
    let keys: Vec<_> = keys.iter().map(|it| (it.0.clone(), block.expr(&it.1))).collect();
    let is_stable = |it: &Expr| behavior(it, &ctx.registry).deterministic;
    if !keys.iter().all(|it| is_stable(&it.1)) {
        return None;
    }
    let sides = Sides::of(input, block, &calls, ctx, estimator)?;
    let made = output_set(&sides.aggregated);
    if !calls.iter().all(|it| sides.takes(&it.1, &made, ctx)) {
        return None;
    }
    let groups = sides.groups(keys.iter().map(|it| &it.1), &made)?;
    let keys_below: Vec<_> = groups.iter().map(pass).collect();
    let grouped = |aggregates| Plan::Aggregate {
        input: Box::new(sides.aggregated.clone()),
        keys: keys_below.clone(),
        aggregates,
    };
    if !sides.pays(plan, &grouped(Vec::new()), estimator) {
        return None;
    }
    let split = calls.into_iter().map(|it| Split::of(it, sides.kind, ctx.column_ids));
    let split: Vec<Split> = split.collect::<Option<_>>()?;
    let partial = grouped(split.iter().map(|it| it.partial.clone()).collect());
    let mut exprs: Vec<_> = keys.iter().map(|it| pass(&it.0)).collect();
    exprs.extend(split.iter().map(|it| it.result.clone()));
    let aggregates = split.into_iter().map(|it| it.total).collect();
    let input = Box::new(sides.joined(partial, ctx));
    let input = Box::new(Plan::Aggregate { input, keys, aggregates });
    Some(Plan::Project { input, exprs })
}

fn reaches_join(plan: &Plan) -> bool {
    match plan {
        Plan::Filter { input, .. } | Plan::Project { input, .. } => reaches_join(input),
        Plan::Join { kind, .. } => {
            matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right)
        }
        _ => false,
    }
}

impl Sides {
    /// The side of the join `plan`, which is `block`, whose columns all of the calls use.
    fn of(
        plan: &Plan,
        mut block: Block,
        calls: &[(Column, AggregateCall)],
        ctx: &OptimizerContext<'_>,
        estimator: &mut Estimator,
    ) -> Option<Sides> {
        if let [Plan::Join { kind: JoinKind::Left | JoinKind::Right, .. }] =
            block.relations.as_slice()
        {
            let join = block.relations.pop()?;
            return if block.conjuncts.is_empty() {
                Sides::of_outer(join, ctx, estimator)
            } else {
                None
            };
        }
        let mut used = ColumnSet::new();
        calls.iter().flat_map(|it| it.1.exprs()).for_each(|it| collect_used(it, &mut used));
        let of_calls = |it: &Plan| !used.is_empty() && used.is_subset(&output_set(it));
        let at = block.relations.iter().position(of_calls).filter(|_| block.relations.len() > 1)?;
        let pairs = rows_of_joins(plan, ctx, estimator);
        let relation = block.relations.remove(at);
        let made = output_set(&relation);
        let (own, conjuncts) =
            block.conjuncts.into_iter().partition(|it| used_columns(it).is_subset(&made));
        let aggregated = joined(vec![relation], own, ctx);
        Some(Sides { kind: JoinKind::Inner, others: block.relations, aggregated, conjuncts, pairs })
    }

    fn of_outer(
        join: Plan,
        ctx: &OptimizerContext<'_>,
        estimator: &mut Estimator,
    ) -> Option<Sides> {
        let Plan::Join { left, right, kind, conditions, lateral: false, .. } = join else {
            return None;
        };
        if !conditions.iter().all(|it| behavior(it, &ctx.registry).deterministic) {
            return None;
        }
        let (left, right) = if kind == JoinKind::Left { (left, right) } else { (right, left) };
        let inner = super::inner_joins::inner_join(
            left.as_ref().clone(),
            right.as_ref().clone(),
            conditions.clone(),
        );
        let pairs = estimator.estimate(&inner).rows;
        let (others, aggregated, conjuncts) = (vec![*left], *right, conditions);
        Some(Sides { kind: JoinKind::Left, others, aggregated, conjuncts, pairs })
    }

    /// Whether the call's arguments are of the aggregated side, and may be computed there.
    fn takes(&self, call: &AggregateCall, made: &ColumnSet, ctx: &OptimizerContext<'_>) -> bool {
        let is_plain = !call.distinct && call.filter.is_none() && call.order_by.is_empty();
        is_plain
            && call.args.iter().all(|it| {
                let behavior = behavior(it, &ctx.registry);
                let is_of_side = used_columns(it).is_subset(made);
                let is_ignored = || is_null_of(it, made, &ctx.registry);
                is_of_side
                    && behavior.deterministic
                    && behavior.infallible
                    && (self.kind == JoinKind::Inner || is_ignored())
            })
    }

    /// The columns of the aggregated side that conditions and keys use, if one of several equal
    /// values may represent all.
    fn groups<'a>(
        &self,
        keys: impl Iterator<Item = &'a Expr>,
        made: &ColumnSet,
    ) -> Option<Vec<Column>> {
        let mut used = ColumnSet::new();
        self.conjuncts.iter().for_each(|it| collect_used(it, &mut used));
        keys.for_each(|it| collect_used(it, &mut used));
        used.retain(|it| made.contains(it));
        let mut columns = self.aggregated.columns();
        columns.retain(|it| used.contains(&it.id));
        let all = columns.iter().all(|it| has_one_form(&it.data_type));
        (all && !columns.is_empty()).then_some(columns)
    }

    /// Whether it pays to make groups of the aggregated side; `plan` is the aggregation.
    fn pays(&self, plan: &Plan, groups: &Plan, estimator: &mut Estimator) -> bool {
        let rows = estimator.estimate(&self.aggregated).rows;
        let groups = estimator.estimate(groups).rows;
        rows >= groups * GROUP_ROWS_MIN
            && self.pairs >= rows * KEPT_SHARE_MIN
            && estimator.estimate(plan).rows >= groups * GROUPS_SHARE_MIN
    }

    fn joined(self, partial: Plan, ctx: &OptimizerContext<'_>) -> Plan {
        let mut others = self.others;
        if self.kind == JoinKind::Inner {
            others.push(partial);
            return joined(others, self.conjuncts, ctx);
        }
        Plan::Join {
            left: Box::new(others.pop().unwrap_or_default()),
            right: Box::new(partial),
            kind: JoinKind::Left,
            conditions: self.conjuncts,
            null_aware: false,
            mark: None,
            lateral: false,
        }
    }
}

/// A call before the join, one after it, and what is made of that.
struct Split {
    partial: (Column, AggregateCall),
    total: (Column, AggregateCall),
    result: (Column, Expr),
}

impl Split {
    fn of(
        (column, call): (Column, AggregateCall),
        kind: JoinKind,
        ids: &ColumnIds,
    ) -> Option<Split> {
        let function = call.function.as_str();
        let is_count = function == "count";
        let can_sum = |it: &Expr| {
            it.data_type.decimal_shape().is_some_and(|(digits, _)| digits <= SUMMED_DIGITS_MAX)
        };
        match (function, call.args.as_slice()) {
            ("count", [] | [_]) | ("min" | "max" | "bool_and" | "bool_or" | "every", [_]) => {}
            ("sum", [arg]) if can_sum(arg) => {}
            _ => return None,
        }
        let below = ids.column(column.name.clone(), call.data_type.clone());
        let mut arg = Expr::column(below.id, below.data_type.clone());
        if is_count && kind == JoinKind::Left {
            let alone = bigint(i64::from(call.args.is_empty()));
            arg = Expr::special(SpecialForm::Coalesce, vec![arg, alone], Type::BigInt);
        }
        let (function, data_type) = match is_count {
            true => ("sum".to_owned(), Type::HugeInt),
            false => (call.function.clone(), call.data_type.clone()),
        };
        let total = match is_count {
            true => ids.column(column.name.clone(), data_type.clone()),
            false => column.clone(),
        };
        let value = Expr::column(total.id, data_type.clone()).cast(call.data_type.clone());
        let after = AggregateCall { function, args: vec![arg], data_type, ..call.clone() };
        Some(Split { partial: (below, call), total: (total, after), result: (column, value) })
    }
}
