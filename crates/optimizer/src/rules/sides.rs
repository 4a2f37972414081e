//! Which side of a join is held in memory, for the joins that are not ordered by cost.

use crate::columns::{output_set, rewrite_up};
use crate::lowering::as_key;
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{JoinKind, Plan};

/// Sides swap when the right one has more rows than this many times the left one: which side is the
/// smaller one is a guess.
const SWAP_FACTOR: f64 = 2.0;

/// Swaps the sides of outer, semi and anti joins whose left side is smaller.
pub(super) fn choose_build_sides(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        let mut estimator = Estimator::new();
        rewrite_up(plan, &mut |node| Ok(swapped(node, &mut estimator)))
    })
}

fn swapped(plan: Plan, estimator: &mut Estimator) -> Plan {
    let Plan::Join { left, right, kind, conditions, null_aware: false, .. } = &plan else {
        return plan;
    };
    let Some(other) = mirrored(*kind) else { return plan };
    let (in_left, in_right) = (output_set(left), output_set(right));
    if !conditions.iter().any(|it| as_key(it, &in_left, &in_right).is_some()) {
        return plan;
    }
    let (l, r) = (estimator.estimate(left).rows, estimator.estimate(right).rows);
    if l * SWAP_FACTOR >= r {
        return plan;
    }
    let Plan::Join { left, right, conditions, null_aware, mark, lateral, .. } = plan else {
        return plan;
    };
    Plan::Join { left: right, right: left, kind: other, conditions, null_aware, mark, lateral }
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
