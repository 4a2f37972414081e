//! The order of inner joins, by cost.
//!
//! Adjacent inner joins, with the projections between them inlined, are a *region*: a set of
//! inputs, and conjuncts. Equal columns form classes, so that `a = b AND b = c` also joins `a` with
//! `c`. Up to [`INPUTS_OF_DP_MAX`] inputs, dynamic programming over sets of inputs finds the
//! cheapest tree, bushy ones included ([`dp`]); above, the pair that makes the fewest rows is
//! joined first ([`greedy`]).

mod region;
mod graph;
mod dp;
mod greedy;

use crate::expr::as_column;
use crate::stack::deep;
use crate::statistics::Estimate;
use crate::{Estimator, OptimizerContext};
use graph::{Graph, Inputs};
use region::Region;
use volley_error::Result;
use volley_logical::{Column, Expr, JoinKind, Plan};

/// Dynamic programming inspects all splits of all sets of inputs: 3^11 is about 177 thousand.
const INPUTS_OF_DP_MAX: usize = 11;

/// A plan and what it makes.
type Guessed = (Plan, Estimate);

/// How inputs are joined.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Input(usize),
    /// The side that streams, and the side that is held in memory.
    Join(Box<Tree>, Box<Tree>),
}

/// Orders all inner joins.
pub(super) fn order_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    // One estimator: it knows what the definitions make, of which each refers to those before.
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| Ok(visit(plan, ctx, &mut estimator).0))
}

/// How many rows inner joins make, guessed alike for every order in which they are written.
pub(super) fn rows_of_joins(
    plan: &Plan,
    ctx: &OptimizerContext<'_>,
    estimator: &mut Estimator,
) -> f64 {
    if begins_region(plan, ctx) {
        let region = Region::of(plan.clone(), ctx);
        if region.inputs.len() < Inputs::BITS as usize {
            let estimates: Vec<Estimate> =
                region.inputs.iter().map(|it| estimator.estimate(it)).collect();
            return Graph::new(&region, &estimates).rows_of_all();
        }
    }
    estimator.estimate(plan).rows
}

/// The plan with its joins ordered, and what it makes; each node is guessed once.
fn visit(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Guessed {
    deep(|| {
        if begins_region(&plan, ctx) {
            return ordered(plan, ctx, estimator);
        }
        let mut made = Vec::new();
        for input in plan.inputs_mut() {
            let (visited, estimate) = visit(std::mem::take(input), ctx, estimator);
            *input = visited;
            made.push(estimate);
        }
        let estimate = estimator.estimate_over(&plan, made);
        (plan, estimate)
    })
}

/// The region that begins with the plan, ordered.
fn ordered(plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Guessed {
    let columns = plan.columns();
    let mut region = Region::of(plan, ctx);
    let mut estimates = Vec::with_capacity(region.inputs.len());
    for input in &mut region.inputs {
        let (visited, estimate) = visit(std::mem::take(input), ctx, estimator);
        *input = visited;
        estimates.push(estimate);
    }
    let graph = Graph::new(&region, &estimates);
    let tree = match region.inputs.len() {
        0..=INPUTS_OF_DP_MAX => dp::best_tree(&graph),
        _ => greedy::good_tree(&graph),
    };
    let joined = region.build(&tree, &graph, estimates, estimator);
    region.restore(joined, &columns, estimator)
}

/// Whether inner joins begin here, maybe below filters that could not be pushed into them.
fn begins_region(plan: &Plan, ctx: &OptimizerContext<'_>) -> bool {
    match plan {
        Plan::Join { kind, lateral, .. } => *kind == JoinKind::Inner && !lateral,
        Plan::Filter { input, .. } => region::reaches_join(input, ctx),
        _ => false,
    }
}

impl Tree {
    /// A join of two trees, the one of fewer rows in memory.
    fn join(left: (Tree, f64), right: (Tree, f64)) -> Tree {
        let (stream, held) = if left.1 >= right.1 { (left.0, right.0) } else { (right.0, left.0) };
        Tree::Join(Box::new(stream), Box::new(held))
    }
}

/// Whether a projection only passes columns on.
fn passes_all(exprs: &[(Column, Expr)]) -> bool {
    exprs.iter().all(|(column, expr)| as_column(expr) == Some(column.id))
}
