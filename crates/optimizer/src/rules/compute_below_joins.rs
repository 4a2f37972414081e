//! Computes tests of texts of one join input below the join.
//!
//! ```text
//! γ[sum(CASE WHEN d.name = 'Sunday' THEN f.v END)] (f ⋈ d)   becomes
//! γ[sum(CASE WHEN t THEN f.v END)] (f ⋈ π[*, t = (d.name = 'Sunday')] d)
//! ```
//!
//! The test runs once per row of the small input, and the join carries a number instead of a text
//! where the text is not used otherwise. Only expressions that cannot fail move: rows that the join
//! drops must raise no error.

use crate::columns::{output_set, pass, rewrite_up};
use crate::expr::{ColumnSet, as_column, behavior, same_expr, used_columns};
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use volley_error::Result;
use volley_logical::{Column, Expr, ExprKind, JoinKind, Plan};

/// The join makes at least this many rows for each of the input.
const ROWS_PER_INPUT_ROW_MIN: f64 = 4.0;

/// Moves all expressions that can move.
pub(super) fn compute_below_joins(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut estimator = Estimator::new(ctx);
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |node| Ok(moved(node, ctx, &mut estimator)))
    })
}

fn moved(mut plan: Plan, ctx: &OptimizerContext<'_>, estimator: &mut Estimator) -> Plan {
    let is_above_join = matches!(&plan, Plan::Project { input, .. } | Plan::Aggregate { input, .. }
        if matches!(**input, Plan::Join { .. }));
    if !is_above_join {
        return plan;
    }
    let mut sides = Vec::new();
    plan.inputs().into_iter().for_each(|it| add_sides(it, &mut sides));
    let made = sides.iter().map(|it| output_set(it)).collect();
    let mut tests = Tests { ctx, sides: made, found: Vec::new() };
    plan.exprs().into_iter().for_each(|it| tests.find(it));
    let mut tests = tests.found;
    if tests.is_empty() {
        return plan;
    }
    let rows: f64 = plan.inputs().into_iter().map(|it| estimator.estimate(it).rows).sum();
    let small = sides.iter().map(|it| estimator.estimate(it).rows * ROWS_PER_INPUT_ROW_MIN <= rows);
    let small: Vec<bool> = small.collect();
    tests.retain(|it| small.get(it.1) == Some(&true));
    let computed: Vec<(Column, Expr)> = tests
        .into_iter()
        .map(|(test, _)| (ctx.column_ids.column("test", test.data_type.clone()), test))
        .collect();
    for test in &computed {
        let used = used_columns(&test.1);
        plan.inputs_mut().into_iter().filter_map(|it| side_of(it, &used)).for_each(|it| {
            compute(it, test.clone());
        });
    }
    plan.exprs_mut().into_iter().for_each(|it| replace(it, &computed));
    plan
}

/// Which inputs of a join have rows that it returns as they are, or drops.
fn kept_sides(kind: JoinKind) -> [bool; 2] {
    use JoinKind::{Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightSemi};
    [
        matches!(kind, Inner | Left | LeftSemi | LeftAnti | LeftMark),
        matches!(kind, Inner | Right | RightSemi | RightAnti),
    ]
}

/// Adds what is joined, below all joins.
fn add_sides<'p>(plan: &'p Plan, sides: &mut Vec<&'p Plan>) {
    deep(|| match plan {
        Plan::Join { left, right, kind, lateral: false, .. } => {
            let kept = [left, right].into_iter().zip(kept_sides(*kind)).filter(|it| it.1);
            kept.for_each(|it| add_sides(it.0, sides));
        }
        other => sides.push(other),
    });
}

/// What is joined that makes all of the columns.
fn side_of<'p>(plan: &'p mut Plan, used: &ColumnSet) -> Option<&'p mut Plan> {
    let Plan::Join { left, right, kind, lateral: false, .. } = plan else { return Some(plan) };
    let [keeps_left, keeps_right] = kept_sides(*kind);
    if keeps_left && used.is_subset(&output_set(left)) {
        return side_of(left, used);
    }
    if keeps_right && used.is_subset(&output_set(right)) {
        return side_of(right, used);
    }
    None
}

/// The plan with one more column.
fn compute(plan: &mut Plan, computed: (Column, Expr)) {
    let mut exprs: Vec<_> = plan.columns().iter().map(pass).collect();
    exprs.push(computed);
    *plan = Plan::Project { input: Box::new(std::mem::take(plan)), exprs };
}

/// Puts columns in place of what they are.
fn replace(expr: &mut Expr, computed: &[(Column, Expr)]) {
    deep(|| match computed.iter().find(|it| same_expr(&it.1, expr)) {
        Some((column, _)) => {
            let span = expr.span;
            *expr = pass(column).1.at(span);
        }
        None => expr.children_mut().iter_mut().for_each(|it| replace(it, computed)),
    });
}

/// The largest expressions that may move, each once.
struct Tests<'a> {
    ctx: &'a OptimizerContext<'a>,
    /// The columns of what is joined.
    sides: Vec<ColumnSet>,
    /// Each with the position of its side.
    found: Vec<(Expr, usize)>,
}

impl Tests<'_> {
    fn find(&mut self, expr: &Expr) {
        deep(|| {
            let used = used_columns(expr);
            let side = self.sides.iter().position(|it| used.is_subset(it));
            let Some(side) = side.filter(|_| self.is_test(expr)) else {
                return expr.children().iter().for_each(|it| self.find(it));
            };
            if self.found.iter().all(|it| !same_expr(&it.0, expr)) {
                self.found.push((expr.clone(), side));
            }
        });
    }

    /// Whether the expression reads texts, returns none, and may be computed for more rows.
    fn is_test(&self, expr: &Expr) -> bool {
        let is_function = matches!(
            expr.kind,
            ExprKind::Call { .. } | ExprKind::Special { .. } | ExprKind::Cast { .. }
        );
        if !is_function || expr.data_type.is_string() || expr.data_type.is_nested() {
            return false;
        }
        let (mut reads_text, mut is_closed) = (false, true);
        let mut rest = vec![expr];
        while let Some(expr) = rest.pop() {
            reads_text |= as_column(expr).is_some() && expr.data_type.is_string();
            is_closed &= !matches!(
                expr.kind,
                ExprKind::Lambda { .. } | ExprKind::Parameter(_) | ExprKind::Subquery(_)
            );
            rest.extend(expr.children());
        }
        let behavior = behavior(expr, &self.ctx.registry);
        reads_text && is_closed && behavior.deterministic && behavior.infallible
    }
}
