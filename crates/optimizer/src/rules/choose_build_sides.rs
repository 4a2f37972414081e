//! Chooses the build side of joins, which is held in memory.

use crate::lowering::as_key;
use crate::stack::deep;
use crate::statistics::Estimate;
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{JoinKind, Plan};
use volley_types::{PhysicalType, Type};

/// Sides swap when the right one has more rows than this many times the left one: which side is the
/// smaller one is a guess.
const SWAP_FACTOR: f64 = 2.0;

/// Row counts that differ by at most this factor count as similar.
const ABOUT: f64 = 1.25;

/// What a row takes in a hash table, next to its columns.
const ROW_BYTES: f64 = 16.0;

/// What texts and nested values are assumed to be long.
const LONG_BYTES: f64 = 32.0;

/// Decides whether the sides of a join, which make so much, are swapped, and what its kind is then.
type Decide = fn(&Plan, &Estimate, &Estimate) -> Option<JoinKind>;

/// Swaps the sides of outer, semi and anti joins whose left side is smaller. Inner joins are in
/// order, by cost.
pub(super) fn choose_build_sides(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    swap_sides(plan, ctx, |plan, left, right| {
        let Plan::Join { kind, null_aware: false, .. } = plan else { return None };
        mirrored(*kind).filter(|_| left.rows * SWAP_FACTOR < right.rows)
    })
}

/// Swaps the sides of inner joins that make about as many rows, where the left one takes fewer
/// bytes. After columns are pruned.
pub(super) fn hold_narrow_sides(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    swap_sides(plan, ctx, |plan, left_makes, right_makes| {
        let Plan::Join { kind: JoinKind::Inner, lateral: false, left, right, .. } = plan else {
            return None;
        };
        let (fewer, more) =
            (left_makes.rows.min(right_makes.rows), left_makes.rows.max(right_makes.rows));
        if fewer * ABOUT < more {
            return None;
        }
        let (bytes, held) =
            (left_makes.rows * row_bytes(left), right_makes.rows * row_bytes(right));
        (bytes * ABOUT < held).then_some(JoinKind::Inner)
    })
}

/// About what a row of the plan takes when it is held.
fn row_bytes(plan: &Plan) -> f64 {
    let columns = plan.columns();
    ROW_BYTES + columns.iter().map(|it| bytes_of(&it.data_type)).sum::<f64>()
}

fn bytes_of(data_type: &Type) -> f64 {
    match data_type.physical() {
        PhysicalType::Null | PhysicalType::Boolean | PhysicalType::I8 => 1.0,
        PhysicalType::I16 => 2.0,
        PhysicalType::I32 | PhysicalType::F32 => 4.0,
        PhysicalType::I64 | PhysicalType::F64 => 8.0,
        PhysicalType::I128 => 16.0,
        _ => LONG_BYTES,
    }
}

fn swap_sides(plan: Plan, ctx: &OptimizerContext<'_>, decide: Decide) -> Result<Plan> {
    // One estimator: it knows what the definitions make, of which each refers to those before.
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, decide, &mut estimator).0))
}

/// The plan with its joins swapped, and what it makes; each node is guessed once.
fn visit(mut plan: Plan, decide: Decide, estimator: &mut Estimator) -> (Plan, Estimate) {
    deep(|| {
        let mut made = Vec::new();
        for input in plan.inputs_mut() {
            let (visited, estimate) = visit(std::mem::take(input), decide, estimator);
            *input = visited;
            made.push(estimate);
        }
        if let [left, right] = made.as_slice()
            && let Some(kind) = decide(&plan, left, right)
            && has_key(&plan, left, right)
        {
            plan = swapped(plan, kind);
            made.swap(0, 1);
        }
        let estimate = estimator.estimate_over(&plan, made);
        (plan, estimate)
    })
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
