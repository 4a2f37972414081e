//! Applies a rewrite to all expressions of a plan.

use crate::columns::rewrite_up;
use crate::stack::deep;
use volley_error::Result;
use volley_logical::{Expr, Plan};

/// Rewrites every expression of a plan bottom up, also in common table expressions.
pub(super) fn rewrite_exprs(plan: Plan, rewrite: &impl Fn(&mut Expr)) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |mut node: Plan| {
            for expr in node.exprs_mut() {
                rewrite_expr(expr, rewrite);
            }
            Ok(node)
        })
    })
}

/// Rewrites an expression's parts, then the expression.
pub(super) fn rewrite_expr(expr: &mut Expr, rewrite: &impl Fn(&mut Expr)) {
    deep(|| {
        for child in expr.children_mut() {
            rewrite_expr(child, rewrite);
        }
        rewrite(expr);
    });
}
