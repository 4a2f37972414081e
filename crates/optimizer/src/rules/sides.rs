//! Which side of a join is held in memory, for the joins that are not ordered by cost.

use crate::lowering::as_key;
use crate::stack::deep;
use crate::statistics::Estimate;
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{JoinKind, Plan};

/// Sides swap when the right one has more rows than this many times the left one: which side is the
/// smaller one is a guess.
const SWAP_FACTOR: f64 = 2.0;

/// Swaps the sides of outer, semi and anti joins whose left side is smaller.
pub(super) fn choose_build_sides(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    // One estimator: it knows what the definitions make, of which each refers to those before.
    let mut estimator = Estimator::new();
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, &mut estimator).0))
}

/// The plan with its joins swapped, and what it makes; each node is guessed once.
fn visit(mut plan: Plan, estimator: &mut Estimator) -> (Plan, Estimate) {
    deep(|| {
        let mut made = Vec::new();
        for input in plan.inputs_mut() {
            let (visited, estimate) = visit(std::mem::take(input), estimator);
            *input = visited;
            made.push(estimate);
        }
        if let ([left, right], Some(kind)) = (made.as_slice(), swapped_kind(&plan))
            && left.rows * SWAP_FACTOR < right.rows
            && has_key(&plan, left, right)
        {
            plan = swapped(plan, kind);
            made.swap(0, 1);
        }
        let estimate = estimator.estimate_over(&plan, made);
        (plan, estimate)
    })
}

/// The kind that the join has when its sides are swapped, if they may be.
fn swapped_kind(plan: &Plan) -> Option<JoinKind> {
    match plan {
        Plan::Join { kind, null_aware: false, .. } => mirrored(*kind),
        _ => None,
    }
}

fn has_key(plan: &Plan, left: &Estimate, right: &Estimate) -> bool {
    plan.exprs().iter().any(|it| as_key(it, &left.columns, &right.columns).is_some())
}

fn swapped(plan: Plan, kind: JoinKind) -> Plan {
    let Plan::Join { left, right, conditions, null_aware, mark, lateral, .. } = plan else {
        return plan;
    };
    Plan::Join { left: right, right: left, kind, conditions, null_aware, mark, lateral }
}

fn mirrored(kind: JoinKind) -> Option<JoinKind> {
    Some(match kind {
        JoinKind::Left => JoinKind::Right,
        JoinKind::Right => JoinKind::Left,
        JoinKind::Full => JoinKind::Full,
        JoinKind::LeftSemi => JoinKind::RightSemi,
        JoinKind::LeftAnti => JoinKind::RightAnti,
        _ => return None,
    })
}
