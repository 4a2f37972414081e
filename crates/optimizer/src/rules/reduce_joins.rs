//! Drops joins, or makes them semi joins, where only the existence of rows matters.
//!
//! ```text
//! L ⟕[c] R    becomes    L           if no column of R is used, and no row of L has two partners
//!                                    or repeated rows do not matter
//! L ⋈[c] R    becomes    L ⋉[c] R    if no column of R is used, repeated rows do not matter, and
//!                                    the join makes many more rows than L has
//! ```
//!
//! Repeated rows do not matter below DISTINCT, below aggregations by functions such as `min`, on
//! the right side of semi and anti joins, and in common table expressions that are referenced
//! there only.

use super::cte::{definitions_of, with_definitions};
use super::distinct::is_unique;
use crate::columns::{for_each_node, output_set, project_to};
use crate::expr::{ColumnSet, as_column, behavior, collect_used};
use crate::lowering::as_key;
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{AggregateCall, Expr, JoinKind, Plan, SetOperation};

/// An inner join that makes at least this many rows for each of one side is made a semi join.
const REPETITIONS_MIN: f64 = 2.0;

/// Aggregates to which repetitions of arguments make no difference.
const IGNORE_REPETITIONS: [&str; 5] = ["min", "max", "bool_and", "bool_or", "every"];

/// Reduces all joins.
pub(super) fn reduce_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    if !has_candidates(&plan) {
        return Ok(plan);
    }
    // What computes columns that are not used must not refer to a join that is dropped.
    let plan = super::prune::prune_columns(plan, ctx)?;
    let columns = plan.columns();
    let definitions = definitions_of(&plan);
    let mut reduction = Reduction { ctx, estimator: Estimator::new(ctx), ctes: HashMap::new() };
    let all = Use { columns: output_set(&plan), repeats: Repeats::Matter };
    let plan = reduction.visit(plan, all);
    let mut reduced = HashMap::new();
    // The references of a definition are visited before it.
    for cte in definitions.iter().rev() {
        let made = cte.plan.columns();
        let every = || Use { columns: output_set(&cte.plan), repeats: Repeats::Matter };
        let used = reduction.ctes.remove(&cte.id).unwrap_or_else(every);
        let definition = reduction.visit(cte.plan.clone(), used);
        reduced.insert(cte.id, project_to(definition, &made));
    }
    let plan = with_definitions(plan, &definitions, reduced, &|_, _| {});
    Ok(project_to(plan, &columns))
}

/// Whether there is an outer join, or an inner join and something that ignores repetitions.
fn has_candidates(plan: &Plan) -> bool {
    let (mut has_outer, mut has_inner, mut ignores) = (false, false, false);
    for_each_node(plan, &mut |node| match node {
        Plan::Join { kind: JoinKind::Left | JoinKind::Right, .. } => has_outer = true,
        Plan::Join { kind: JoinKind::Inner, .. } => has_inner = true,
        Plan::Join { .. } | Plan::SetOperation { all: false, .. } => ignores = true,
        Plan::Aggregate { aggregates, .. } => {
            ignores |= aggregates.iter().all(|it| ignores_repetitions(&it.1));
        }
        _ => {}
    });
    has_outer || (has_inner && ignores)
}

/// Whether it makes a difference how often a row is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeats {
    Matter,
    Ignored,
}

/// What is used of a plan's rows.
#[derive(Clone, Debug)]
struct Use {
    columns: ColumnSet,
    repeats: Repeats,
}

impl Use {
    /// The same, and the columns of more expressions.
    fn and<'a>(&self, exprs: impl IntoIterator<Item = &'a Expr>) -> Use {
        let mut used = self.clone();
        exprs.into_iter().for_each(|it| collect_used(it, &mut used.columns));
        used
    }

    /// Only the columns of expressions.
    fn of<'a>(repeats: Repeats, exprs: impl IntoIterator<Item = &'a Expr>) -> Use {
        Use { columns: ColumnSet::new(), repeats }.and(exprs)
    }

    fn uses(&self, plan: &Plan) -> bool {
        plan.column_refs().iter().any(|it| self.columns.contains(&it.id))
    }
}

struct Reduction<'a> {
    ctx: &'a OptimizerContext<'a>,
    estimator: Estimator,
    /// What references use of each common table expression, in its own columns.
    ctes: HashMap<u32, Use>,
}

impl Reduction<'_> {
    fn visit(&mut self, plan: Plan, used: Use) -> Plan {
        deep(|| match plan {
            Plan::Join { .. } => {
                let plan = self.reduced(plan, &used);
                match plan {
                    Plan::Join { .. } => self.visit_join(plan, &used),
                    side => self.visit(side, used),
                }
            }
            Plan::CteRef { ref cte, ref columns } => {
                let made = cte.plan.columns();
                let pairs = columns.iter().zip(&made).filter(|it| used.columns.contains(&it.0.id));
                let own = pairs.map(|it| it.1.id);
                let none = Use { columns: ColumnSet::new(), repeats: Repeats::Ignored };
                let all = self.ctes.entry(cte.id).or_insert(none);
                all.columns.extend(own);
                if used.repeats == Repeats::Matter {
                    all.repeats = Repeats::Matter;
                }
                plan
            }
            other => self.visit_inputs(other, &used),
        })
    }

    fn visit_inputs(&mut self, mut plan: Plan, used: &Use) -> Plan {
        let exprs = plan.exprs();
        let is_stable = exprs.iter().all(|it| behavior(it, &self.ctx.registry).deterministic);
        let repeats = if is_stable { used.repeats } else { Repeats::Matter };
        let below = match &plan {
            Plan::Filter { .. } | Plan::Sort { .. } => Use { repeats, ..used.clone() }.and(exprs),
            Plan::Project { exprs, .. } => {
                let read = exprs.iter().filter(|it| used.columns.contains(&it.0.id));
                Use::of(repeats, read.map(|it| &it.1))
            }
            Plan::Aggregate { keys, aggregates, .. } => {
                let ignores = is_stable && aggregates.iter().all(|it| ignores_repetitions(&it.1));
                let is_distinct = ignores && !(keys.is_empty() && aggregates.is_empty());
                let repeats = if is_distinct { Repeats::Ignored } else { Repeats::Matter };
                Use::of(repeats, exprs)
            }
            Plan::SetOperation { operation, all, inputs, .. } => {
                let keeps =
                    *all && (*operation != SetOperation::Union || repeats == Repeats::Matter);
                let repeats = if keeps { Repeats::Matter } else { Repeats::Ignored };
                Use { columns: inputs.iter().flat_map(|it| &it.1).copied().collect(), repeats }
            }
            _ => {
                let columns = plan.inputs().into_iter().flat_map(output_set).collect();
                Use { columns, repeats: Repeats::Matter }
            }
        };
        for input in plan.inputs_mut() {
            *input = self.visit(std::mem::take(input), below.clone());
        }
        plan
    }

    /// Both inputs of a join that stays.
    fn visit_join(&mut self, mut plan: Plan, used: &Use) -> Plan {
        let Plan::Join { left, right, kind, conditions, lateral, .. } = &mut plan else {
            return plan;
        };
        let below = used.and(conditions.iter());
        let existence = Use { repeats: Repeats::Ignored, ..below.clone() };
        let is_stable = conditions.iter().all(|it| behavior(it, &self.ctx.registry).deterministic);
        let all = |of: &Plan| Use { columns: output_set(of), repeats: Repeats::Matter };
        let (of_left, of_right) = match kind {
            _ if *lateral || !is_stable => (all(left), all(right)),
            JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => (below, existence),
            JoinKind::RightSemi | JoinKind::RightAnti => (existence, below),
            _ => (below.clone(), below),
        };
        **left = self.visit(std::mem::take(&mut **left), of_left);
        **right = self.visit(std::mem::take(&mut **right), of_right);
        plan
    }

    /// The join without, or only testing for partners on, a side that is not used.
    fn reduced(&mut self, plan: Plan, used: &Use) -> Plan {
        let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
            return plan;
        };
        let is_stable = conditions.iter().all(|it| behavior(it, &self.ctx.registry).deterministic);
        let whole = |left, right, kind, conditions| {
            let mark = mark.clone();
            Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
        };
        if lateral || !is_stable {
            return whole(left, right, kind, conditions);
        }
        match kind {
            JoinKind::Left
                if !used.uses(&right) && self.is_needless(&left, &right, &conditions, used) =>
            {
                *left
            }
            JoinKind::Right
                if !used.uses(&left) && self.is_needless(&right, &left, &conditions, used) =>
            {
                *right
            }
            JoinKind::Inner if used.repeats == Repeats::Ignored => {
                let sides = [used.uses(&left), used.uses(&right)];
                let plan = whole(left, right, JoinKind::Inner, conditions);
                self.existence_join(plan, sides)
            }
            kind => whole(left, right, kind, conditions),
        }
    }

    /// Whether an outer join returns each row of `kept` once, or it does not matter how often.
    fn is_needless(&self, kept: &Plan, other: &Plan, conditions: &[Expr], used: &Use) -> bool {
        if used.repeats == Repeats::Ignored {
            return true;
        }
        let (in_kept, in_other) = (output_set(kept), output_set(other));
        let keys = conditions.iter().filter_map(|it| as_key(it, &in_kept, &in_other));
        let columns = keys.filter_map(|it| as_column(it.right)).collect();
        is_unique(other, &columns, self.ctx)
    }

    /// The inner join as a semi join where it repeats rows of the only side that is used.
    fn existence_join(&mut self, plan: Plan, [uses_left, uses_right]: [bool; 2]) -> Plan {
        if uses_left == uses_right {
            return plan;
        }
        let pairs = self.estimator.estimate(&plan).rows;
        let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
            return plan;
        };
        let (kept, tested) = if uses_left { (&left, &right) } else { (&right, &left) };
        let rows = self.estimator.estimate(kept).rows;
        let (in_kept, in_tested) = (output_set(kept), output_set(tested));
        let has_key = conditions.iter().any(|it| as_key(it, &in_kept, &in_tested).is_some());
        if !has_key || pairs < rows * REPETITIONS_MIN {
            return Plan::Join { left, right, kind, conditions, null_aware, mark, lateral };
        }
        let (left, right) = if uses_left { (left, right) } else { (right, left) };
        let kind = JoinKind::LeftSemi;
        Plan::Join { left, right, kind, conditions, null_aware, mark, lateral }
    }
}

fn ignores_repetitions(call: &AggregateCall) -> bool {
    call.distinct || IGNORE_REPETITIONS.contains(&call.function.as_str())
}
