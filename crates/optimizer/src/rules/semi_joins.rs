//! Moves semi and anti joins below inner joins, to the input whose columns they test. The rule
//! applies if that input has not many more rows than the inner joins return, or if they drop most
//! of its rows. The estimates do not depend on the order of the inner joins if the columns belong
//! to one of their inputs: joins are ordered later.

use super::join_order::rows_of_joins;
use crate::columns::output_set;
use crate::expr::{ColumnSet, used_by_all};
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{JoinKind, Plan};

/// A semi join that keeps less than this share of the rows is worth doing first.
const SELECTIVE_SHARE: f64 = 0.2;

/// Places all semi and anti joins.
pub(super) fn place_semi_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    // One estimator: it knows what the definitions make, of which each refers to those before.
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, ctx, &mut estimator)))
}

fn visit(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Plan {
    deep(|| {
        for input in plan.inputs_mut() {
            *input = visit(std::mem::take(input), ctx, estimator);
        }
        let Plan::Join { left, right, kind, conditions, .. } = &plan else { return plan };
        if !matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti) {
            return plan;
        }
        let mut tested = used_by_all(conditions.iter());
        let of_right = output_set(right);
        tested.retain(|it| !of_right.contains(it));
        let Some(target) = target_of(left, &tested) else { return plan };
        let all = rows_of_joins(left, ctx, estimator);
        let (own, right) = (estimator.estimate(target), estimator.estimate(right));
        let before = own.rows;
        let after = estimator.estimate_over(&plan, vec![own, right]).rows;
        if before > all && after > before * SELECTIVE_SHARE {
            return plan;
        }
        moved(plan, &tested)
    })
}

/// The input of inner joins that makes all tested columns, if the plan is an inner join at all.
fn target_of<'a>(plan: &'a Plan, tested: &ColumnSet) -> Option<&'a Plan> {
    let below = plan.inputs().into_iter().nth(way_down(plan, tested)?)?;
    Some(target_of(below, tested).unwrap_or(below))
}

/// The input through which a semi join goes down.
fn way_down(plan: &Plan, tested: &ColumnSet) -> Option<usize> {
    match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, lateral: false, .. } => {
            let sides = [left, right];
            let at = sides.iter().position(|it| tested.is_subset(&output_set(it)))?;
            // A join with one row is a filter, cheaper than any semi join.
            let is_filter = matches!(**sides[1 - at], Plan::SingleRow { .. });
            let stays = tested.is_empty() || (is_filter && way_down(sides[at], tested).is_none());
            (!stays).then_some(at)
        }
        Plan::Filter { input, .. } if !tested.is_empty() => {
            matches!(**input, Plan::Join { .. }).then_some(0)
        }
        _ => None,
    }
}

/// The plan with the semi join around the target.
fn moved(plan: Plan, tested: &ColumnSet) -> Plan {
    let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
        return plan;
    };
    around(*left, tested, |target| Plan::Join {
        left: Box::new(target),
        right,
        kind,
        conditions,
        null_aware,
        mark,
        lateral,
    })
}

/// Applies `join` to the target.
fn around(mut plan: Plan, tested: &ColumnSet, join: impl FnOnce(Plan) -> Plan) -> Plan {
    let at = way_down(&plan, tested);
    let below = at.and_then(|at| plan.inputs_mut().into_iter().nth(at));
    let Some(below) = below else { return join(plan) };
    let join: Box<dyn FnOnce(Plan) -> Plan + '_> = Box::new(join);
    *below = around(std::mem::take(below), tested, join);
    plan
}
