//! Constant folding, with the evaluator that would run the expression.

use super::rewrite::rewrite_exprs;
use crate::OptimizerContext;
use crate::expr::as_constant;
use volley_error::Result;
use volley_expression as physical;
use volley_logical::{Expr, ExprKind, Plan};

/// Replaces expressions of constants by their values. One that fails stays: it must fail only if a
/// row needs it.
pub(super) fn fold_constants(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    rewrite_exprs(plan, &|expr| fold(expr, ctx))
}

/// Folds one node whose parts are folded.
pub(super) fn fold(expr: &mut Expr, ctx: &OptimizerContext<'_>) {
    let is_leaf =
        matches!(expr.kind, ExprKind::Column(_) | ExprKind::Constant(_) | ExprKind::Subquery(_));
    if is_leaf || !expr.children().iter().all(|it| as_constant(it).is_some()) {
        return;
    }
    let Some(lowered) = over_constants(expr) else { return };
    if let Some(value) = ctx.fold(&lowered) {
        expr.kind = ExprKind::Constant(value);
    }
}

/// The expression for the evaluator; its arguments are constants.
fn over_constants(expr: &Expr) -> Option<physical::Expr> {
    let constant =
        |it: &Expr| Some(physical::Expr::constant(as_constant(it)?.clone(), it.data_type.clone()));
    let all = |args: &[Expr]| args.iter().map(constant).collect::<Option<Vec<_>>>();
    let kind = match &expr.kind {
        ExprKind::Call { name, args } => {
            physical::ExprKind::Call { name: name.clone(), args: all(args)? }
        }
        ExprKind::Special { form, args } => {
            physical::ExprKind::Special { form: *form, args: all(args)? }
        }
        ExprKind::Cast { input, null_on_error, package } => physical::ExprKind::Cast {
            input: Box::new(constant(input)?),
            null_on_error: *null_on_error,
            package: *package,
        },
        _ => return None,
    };
    Some(physical::Expr::new(kind, expr.data_type.clone()).at(expr.span))
}
