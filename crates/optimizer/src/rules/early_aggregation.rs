//! Aggregates some of the inputs of joins before the other joins, and merges the groups after them.
//!
//! After Yan and Larson, "Eager Aggregation and Lazy Aggregation" (VLDB 1995). `R`, a relation or
//! several joined ones, has all aggregated columns; `N` are the columns of `R` that conditions and
//! keys use:
//!
//! ```text
//! γ[G; f(a)](L ⋈[c] R)   becomes   γ[G; final f(p)](L ⋈[c] γ[N; p = partial f(a)](R))
//! γ[G; f(a)](L ⟕[c] R)   becomes   γ[G; f'(p)](L ⟕[c] γ[N; p = f(a)](R))
//!
//! f(a)                                            f'(p)
//! count(a), with an outer join                    sum(coalesce(p, 0))
//! count(*), with an outer join                    sum(coalesce(p, 1)): the row of nulls counts
//! sum of integers, of decimals                    sum(p)
//! min, max, bool_and, bool_or                     the same of p
//! ```
//!
//! The rows of `R` that agree in `N` have the same partners and keys, so that a partner has all or
//! none of them. Any of these rows may represent them, because `N` has no types with equal values
//! that differ. Below an inner join, groups have intermediate results; a group may come several
//! times, so that no exchange is needed, and where few rows share a group they pass ungrouped. With
//! an outer join, a row of `L` without a partner is padded with nulls either way. Then `f` must
//! ignore it: every argument is null if the columns of `R` are.
//!
//! Of the relations that may be aggregated together, those are chosen that leave the fewest groups
//! per row: the one with the arguments, or any if rows are counted, and up to [`ADDED_MAX`] more.
//! Grouping sets above the joins stay there.
//!
//! Counts are sums of type HUGEINT, cast back; partial sums of numbers of up to 19 digits fit the
//! type that they have, however many rows there are. Not rewritten:
//! - functions whose results depend on how rows are grouped first, such as sums and averages of
//!   DOUBLE, which would be rounded in another order;
//! - DISTINCT, FILTER and orders;
//! - expressions that may fail for a row that the join would drop, and volatile expressions;
//! - aggregates without keys, with an outer join.

mod split;

use super::block::{Block, joined};
use super::join_order::rows_of_joins;
use super::outer_joins::is_null_of;
use crate::columns::{output_set, pass, rewrite_up};
use crate::expr::{ColumnSet, as_column, behavior, collect_used, has_one_form, used_columns};
use crate::{Estimator, OptimizerContext};
use split::Split;
use volley_error::Result;
use volley_logical::{AggregateCall, CallStep, Column, Expr, JoinKind, Plan};

/// A group has at least this many rows before the join.
const GROUP_ROWS_MIN: f64 = 4.0;

/// The join keeps at least this share of the rows; else the scan below it leaves them out, and they
/// need not be grouped.
const KEPT_SHARE_MIN: f64 = 0.5;

/// There are at least this many groups after the join for each before it: grouping rows by few keys
/// costs less than by many, and so does probing a join.
const GROUPS_SHARE_MIN: f64 = 0.5;

/// A join that makes this many rows of each row of its largest input is worth it, however few
/// groups there are after it.
const MULTIPLIED_MIN: f64 = 3.0;

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

/// More relations are not combined: each combination is estimated.
const RELATIONS_MAX: usize = 12;

/// Relations that are aggregated together with those of the arguments.
const ADDED_MAX: usize = 2;

/// Fewer rows are not worth the search for relations to add.
const SEARCHED_ROWS_MIN: f64 = 10_000.0;

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

/// An aggregation over joins, in columns of the joined relations.
struct Aggregation<'a> {
    plan: &'a Plan,
    /// What is joined.
    joins: &'a Plan,
    /// Keys of groups, or of grouping sets.
    keys: Vec<(Column, Expr)>,
    /// The calls, without the test that keeps the extra rows of grouping sets out.
    calls: Vec<(Column, AggregateCall)>,
}

fn rewritten(plan: &Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Option<Plan> {
    let Plan::Aggregate { input, keys, aggregates } = plan else { return None };
    let (joins, keys, present) = match &**input {
        Plan::GroupId { input, keys, present, .. } => (&**input, keys, present.as_ref()),
        joins => (joins, keys, None),
    };
    if aggregates.is_empty() || !reaches_join(joins) {
        return None;
    }
    let block = Block::of(joins, ctx);
    let in_block = |(column, expr): &(Column, Expr)| (column.clone(), block.expr(expr));
    let keys = keys.iter().map(in_block).collect();
    let mut calls = aggregates.clone();
    for (_, call) in &mut calls {
        let is_present = |it: &mut Expr| present.is_some_and(|id| as_column(it) == Some(id.id));
        call.filter.take_if(is_present);
        call.exprs_mut().for_each(|it| *it = block.expr(it));
    }
    let aggregation = Aggregation { plan, joins, keys, calls };
    let is_plain = |it: &(Column, AggregateCall)| {
        let call = &it.1;
        let is_whole = !call.distinct && call.filter.is_none() && call.order_by.is_empty();
        is_whole && call.step == CallStep::Complete
    };
    let is_stable = |it: &(Column, Expr)| behavior(&it.1, &ctx.registry).deterministic;
    if !aggregation.calls.iter().all(is_plain) || !aggregation.keys.iter().all(is_stable) {
        return None;
    }
    let (sides, groups) = aggregation.best_sides(block, ctx, estimator)?;
    aggregation.split(sides, groups, ctx)
}

impl Aggregation<'_> {
    /// The sides of the join, and the groups below it, that leave the fewest groups per row, if
    /// some pay.
    fn best_sides(
        &self,
        mut block: Block,
        ctx: &OptimizerContext<'_>,
        estimator: &mut Estimator,
    ) -> Option<(Sides, Vec<Column>)> {
        if let [Plan::Join { kind: JoinKind::Left | JoinKind::Right, .. }] =
            block.relations.as_slice()
        {
            // Below grouping sets, rows without a partner would need a mark of their own.
            let is_one_list = !matches!(self.plan.inputs().first(), Some(Plan::GroupId { .. }));
            // Sums of counts are null where there are none.
            let has_keys = !self.keys.is_empty();
            let join = block.relations.pop().filter(|_| is_one_list && has_keys)?;
            let is_alone = block.conjuncts.is_empty();
            let sides = is_alone.then(|| Sides::of_outer(join, ctx, estimator)).flatten()?;
            let (groups, share) = self.groups_of(&sides, ctx, estimator)?;
            return share.is_finite().then_some((sides, groups));
        }
        let mut candidates = self.first_relations(&block);
        if candidates.is_empty() {
            // The estimate of all joins below costs as much as their order.
            return None;
        }
        let pairs = rows_of_joins(self.joins, ctx, estimator);
        let searches = block.relations.len() <= RELATIONS_MAX && pairs >= SEARCHED_ROWS_MIN;
        let mut best: Option<(f64, Sides, Vec<Column>)> = None;
        for _ in 0..=(if searches { ADDED_MAX } else { 0 }) {
            let mut next: Option<(f64, Vec<usize>)> = None;
            for candidate in std::mem::take(&mut candidates) {
                if candidate.len() == block.relations.len() {
                    continue;
                }
                let sides = Sides::of_relations(&block, &candidate, pairs, ctx);
                let Some((groups, share)) = self.groups_of(&sides, ctx, estimator) else {
                    next.get_or_insert((f64::INFINITY, candidate));
                    continue;
                };
                if next.as_ref().is_none_or(|it| share < it.0) {
                    next = Some((share, candidate));
                }
                if share.is_finite() && best.as_ref().is_none_or(|it| share < it.0) {
                    best = Some((share, sides, groups));
                }
            }
            let Some((_, candidate)) = next else { break };
            candidates = neighbors(&block, &candidate);
        }
        best.map(|(_, sides, groups)| (sides, groups))
    }

    /// The relation that has all columns of the calls; each one, if calls only count rows.
    fn first_relations(&self, block: &Block) -> Vec<Vec<usize>> {
        let mut used = ColumnSet::new();
        self.calls.iter().flat_map(|it| it.1.exprs()).for_each(|it| collect_used(it, &mut used));
        let relations = block.relations.iter().enumerate();
        if self.calls.iter().all(|it| it.1.args.is_empty()) {
            let all = relations.map(|it| vec![it.0]);
            return if all.len() <= RELATIONS_MAX { all.collect() } else { Vec::new() };
        }
        let has_some = |it: &Plan| !used.is_disjoint(&output_set(it));
        let all: Vec<usize> = relations.filter(|it| has_some(it.1)).map(|it| it.0).collect();
        // Several may be connected by no condition.
        if all.len() == 1 { vec![all] } else { Vec::new() }
    }
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
    /// The sides where some relations of inner joins are aggregated.
    fn of_relations(
        block: &Block,
        aggregated: &[usize],
        pairs: f64,
        ctx: &OptimizerContext<'_>,
    ) -> Sides {
        let all = block.relations.iter().enumerate();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(|it| aggregated.contains(&it.0));
        let relations = |of: Vec<(usize, &Plan)>| of.into_iter().map(|it| it.1.clone()).collect();
        let own: Vec<Plan> = relations(own);
        let made: ColumnSet = own.iter().flat_map(output_set).collect();
        let (conditions, conjuncts) =
            block.conjuncts.iter().cloned().partition(|it| used_columns(it).is_subset(&made));
        let aggregated = joined(own, conditions, ctx);
        Sides { kind: JoinKind::Inner, others: relations(others), aggregated, conjuncts, pairs }
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
        call.args.iter().all(|it| {
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

impl Aggregation<'_> {
    /// The columns that the aggregated side is grouped by, and how many groups there are for each
    /// of its rows: infinitely many where it does not pay. `None` where the calls cannot be split.
    fn groups_of(
        &self,
        sides: &Sides,
        ctx: &OptimizerContext<'_>,
        estimator: &mut Estimator,
    ) -> Option<(Vec<Column>, f64)> {
        let made = output_set(&sides.aggregated);
        if !self.calls.iter().all(|it| sides.takes(&it.1, &made, ctx)) {
            return None;
        }
        let columns = sides.groups(self.keys.iter().map(|it| &it.1), &made)?;
        let input = Box::new(sides.aggregated.clone());
        let keys = columns.iter().map(pass).collect();
        let grouped = Plan::Aggregate { input, keys, aggregates: Vec::new() };
        let rows = estimator.estimate(&sides.aggregated).rows;
        let groups = estimator.estimate(&grouped).rows;
        let most = sides.others.iter().map(|it| estimator.estimate(it).rows).fold(rows, f64::max);
        let multiplies = sides.pairs >= most * MULTIPLIED_MIN;
        let pays = rows >= groups * GROUP_ROWS_MIN
            && sides.pairs >= rows * KEPT_SHARE_MIN
            && (multiplies || estimator.estimate(self.plan).rows >= groups * GROUPS_SHARE_MIN);
        Some((columns, if pays { groups / rows.max(1.0) } else { f64::INFINITY }))
    }

    /// The aggregation in two: below the join by `groups`, and above it.
    fn split(self, sides: Sides, groups: Vec<Column>, ctx: &OptimizerContext<'_>) -> Option<Plan> {
        let Plan::Aggregate { input, keys, aggregates } = self.plan else { return None };
        let calls = self.calls.into_iter();
        let split = calls.map(|it| Split::of(it, sides.kind, ctx));
        let mut split: Vec<Split> = split.collect::<Option<_>>()?;
        // What keeps the extra rows of grouping sets out.
        for (split, (_, call)) in split.iter_mut().zip(aggregates) {
            split.total.1.filter = call.filter.clone();
        }
        let partial = Plan::Aggregate {
            input: Box::new(sides.aggregated.clone()),
            keys: groups.iter().map(pass).collect(),
            aggregates: split.iter().map(|it| it.partial.clone()).collect(),
        };
        let below = sides.joined(partial, ctx);
        let (input, keys) = match &**input {
            Plan::GroupId { sets, id, present, .. } => {
                let (sets, id, present) = (sets.clone(), id.clone(), present.clone());
                let input = Box::new(below);
                (Plan::GroupId { input, keys: self.keys, sets, id, present }, keys.clone())
            }
            _ => (below, self.keys),
        };
        let mut exprs: Vec<_> = keys.iter().map(|it| pass(&it.0)).collect();
        exprs.extend(split.iter().map(|it| it.result.clone()));
        let aggregates = split.into_iter().map(|it| it.total).collect();
        let input = Box::new(Plan::Aggregate { input: Box::new(input), keys, aggregates });
        Some(Plan::Project { input, exprs })
    }
}

/// The relations with one more that a condition connects to them.
fn neighbors(block: &Block, chosen: &[usize]) -> Vec<Vec<usize>> {
    let made: ColumnSet = chosen.iter().flat_map(|it| output_set(&block.relations[*it])).collect();
    let connects = |other: &ColumnSet| {
        block.conjuncts.iter().map(used_columns).any(|used| {
            !used.is_disjoint(&made)
                && !used.is_disjoint(other)
                && used.iter().all(|it| made.contains(it) || other.contains(it))
        })
    };
    let others = (0..block.relations.len()).filter(|it| !chosen.contains(it));
    let connected = others.filter(|it| connects(&output_set(&block.relations[*it])));
    connected.map(|it| chosen.iter().copied().chain([it]).collect()).collect()
}
