//! Questions about bound expressions and plans.

use std::{
    collections::HashSet,
    hash::{Hash, Hasher},
};
use volley_logical::{ColumnId, Expr, ExprKind, Plan, SubqueryKind};
use volley_types::{Type, Value};

/// Whether two expressions are the same but for their places in the text.
pub(super) fn same(left: &Expr, right: &Expr) -> bool {
    if left.data_type != right.data_type || left.occurrence != right.occurrence {
        return false;
    }
    let children = || {
        let (left, right) = (left.children(), right.children());
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| same(a, b))
    };
    match (&left.kind, &right.kind) {
        (ExprKind::Column(a), ExprKind::Column(b)) => a == b,
        (ExprKind::Constant(a), ExprKind::Constant(b)) => a == b,
        (ExprKind::Parameter(a), ExprKind::Parameter(b)) => a == b,
        (ExprKind::Lambda { parameters: a, .. }, ExprKind::Lambda { parameters: b, .. }) => {
            a == b && children()
        }
        (ExprKind::Call { name: a, .. }, ExprKind::Call { name: b, .. }) => a == b && children(),
        (
            ExprKind::Cast { null_on_error: a, package: p, .. },
            ExprKind::Cast { null_on_error: b, package: q, .. },
        ) => a == b && p == q && children(),
        (ExprKind::Special { form: a, .. }, ExprKind::Special { form: b, .. }) => {
            a == b && children()
        }
        (ExprKind::Subquery(a), ExprKind::Subquery(b)) => {
            std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
                && std::sync::Arc::ptr_eq(&a.plan, &b.plan)
                && children()
        }
        _ => false,
    }
}

/// Hashes an expression: alike for expressions that are the [`same`]. Numbers are left out, since
/// equal ones may be written differently.
pub(super) fn hash(expr: &Expr, state: &mut impl Hasher) {
    match &expr.kind {
        ExprKind::Column(id) => id.hash(state),
        ExprKind::Constant(Value::Varchar(text)) => text.hash(state),
        ExprKind::Constant(value) => value.as_i128().hash(state),
        ExprKind::Call { name, .. } => name.hash(state),
        ExprKind::Special { form, .. } => form.hash(state),
        ExprKind::Parameter(parameter) => parameter.hash(state),
        ExprKind::Lambda { .. } | ExprKind::Cast { .. } | ExprKind::Subquery(_) => {}
    }
    expr.children().iter().for_each(|it| hash(it, state));
}

/// The value of a literal, or of a list or a row of literals, and its type.
pub(super) fn literal(expr: &Expr) -> Option<(Value, Type)> {
    let all = |args: &[Expr]| args.iter().map(literal).collect::<Option<Vec<_>>>();
    match &expr.kind {
        ExprKind::Constant(value) => Some((value.clone(), expr.data_type.clone())),
        ExprKind::Cast { input, .. } => {
            let (value, _) = literal(input)?;
            value.is_null().then_some((value, expr.data_type.clone()))
        }
        ExprKind::Call { name, args } => {
            let values = all(args)?.into_iter().map(|it| it.0).collect();
            let value = match name.as_str() {
                "list_value" => Value::Array(values),
                "row" => Value::Row(values),
                _ => return None,
            };
            Some((value, expr.data_type.clone()))
        }
        _ => None,
    }
}

/// Whether the expression contains a call of a volatile function, also inside of subqueries.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    let in_plan = match &expr.kind {
        ExprKind::Subquery(subquery) => has_volatile(&subquery.plan),
        _ => false,
    };
    expr.occurrence.is_some() || in_plan || expr.children().iter().any(is_volatile)
}

fn has_volatile(plan: &Plan) -> bool {
    plan.exprs().into_iter().any(is_volatile) || plan.inputs().into_iter().any(has_volatile)
}

/// Whether the expression contains a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Subquery(_)) || expr.children().iter().any(has_subquery)
}

/// Adds the columns that the expression names, also inside of subqueries.
pub(super) fn collect_columns(expr: &Expr, columns: &mut HashSet<ColumnId>) {
    match &expr.kind {
        ExprKind::Column(id) => {
            columns.insert(*id);
        }
        ExprKind::Subquery(subquery) => {
            collect_plan_columns(&subquery.plan, columns);
            if let SubqueryKind::In(exprs) = &subquery.kind {
                exprs.iter().for_each(|it| collect_columns(it, columns));
            }
        }
        _ => expr.children().iter().for_each(|it| collect_columns(it, columns)),
    }
}

/// Whether the expression names one of these columns, also inside of subqueries.
pub(super) fn names_any(expr: &Expr, ids: &HashSet<ColumnId>) -> bool {
    let mut columns = HashSet::new();
    collect_columns(expr, &mut columns);
    !columns.is_disjoint(ids)
}

fn collect_plan_columns(plan: &Plan, columns: &mut HashSet<ColumnId>) {
    plan.exprs().into_iter().for_each(|it| collect_columns(it, columns));
    plan.inputs().into_iter().for_each(|it| collect_plan_columns(it, columns));
}

/// The text of a string literal that no cast was applied to.
pub(super) fn string_literal(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Constant(Value::Varchar(text)) => Some(text),
        _ => None,
    }
}

/// Whether the expression is just this column.
pub(super) fn is_column(expr: &Expr, id: ColumnId) -> bool {
    matches!(expr.kind, ExprKind::Column(own) if own == id)
}

/// Whether this is NULL without a type of its own.
pub(super) fn is_null_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(Value::Null))
}

/// The identities of a plan's columns.
pub(super) fn output_ids(plan: &Plan) -> HashSet<ColumnId> {
    plan.columns().iter().map(|it| it.id).collect()
}
