//! The order of inner joins, by cost.
//!
//! Inner joins that follow each other, with projections between them taken apart, are a *region*: a
//! set of inputs, and conjuncts. Equal columns form classes, so that `a = b AND b = c` also joins
//! `a` with `c`. Up to [`INPUTS_OF_DP_MAX`] inputs, dynamic programming over sets of inputs finds
//! the cheapest tree, bushy ones included ([`dp`]); above, the pair that makes the fewest rows is
//! joined first ([`greedy`]).

mod region;
mod graph;
mod dp;
mod greedy;

use crate::columns::map_inputs;
use crate::expr::as_column;
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use graph::Graph;
use region::Region;
use volley_error::Result;
use volley_logical::{Column, Expr, JoinKind, Plan};

/// Dynamic programming looks at all splits of all sets of inputs: 3^11 is about 177 thousand.
const INPUTS_OF_DP_MAX: usize = 11;

/// How inputs are joined.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Input(usize),
    /// The side that streams, and the side that is held in memory.
    Join(Box<Tree>, Box<Tree>),
}

/// Orders all inner joins.
pub(super) fn order_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        let mut estimator = Estimator::new();
        visit(plan, ctx, &mut estimator)
    })
}

fn visit(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Result<Plan> {
    deep(|| {
        if !begins_region(&plan, ctx) {
            map_inputs(&mut plan, |input| visit(input, ctx, estimator))?;
            return Ok(plan);
        }
        let columns = plan.columns();
        let mut region = Region::of(plan, ctx);
        for input in &mut region.inputs {
            *input = visit(std::mem::take(input), ctx, estimator)?;
        }
        let estimates = region.inputs.iter().map(|it| estimator.estimate(it)).collect();
        let graph = Graph::new(&region, estimates);
        let tree = match region.inputs.len() {
            0..=INPUTS_OF_DP_MAX => dp::best_tree(&graph),
            _ => greedy::good_tree(&graph),
        };
        let ordered = region.build(&tree, &graph);
        let plan = region.restore(ordered, &columns);
        Ok(plan)
    })
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
