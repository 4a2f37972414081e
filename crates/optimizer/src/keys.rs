//! Custom types with comparison keys: comparisons, groups and sorts use the keys of the values
//! ([`volley_types::ComparisonKey`]). Later steps need not know these types.
//!
//! ```text
//! a = b, a IN (b, ...)    key(a) = key(b), ...          so joins on them hash keys
//! ORDER BY a              ORDER BY key(a), also in windows
//! GROUP BY a              GROUP BY key(a), and any_value(a) is the group's value
//! a IN (SELECT b ...)     key(a) IN (SELECT key(b) ...)
//! ```
//!
//! This runs before unnesting. Unnesting groups and joins by columns of outer queries, where values
//! that are equal but not identical must stay distinct.

use crate::{
    OptimizerContext,
    columns::{for_each_node, pass, project_to, rewrite_up},
    stack::deep,
};
use std::sync::Arc;
use volley_error::Result;
use volley_logical::{
    AggregateCall, CallStep, Column, ColumnId, ColumnIds, Expr, ExprKind, Plan, SpecialForm,
    SubqueryKind,
};

/// The function from a value to its key.
const KEY: &str = "comparison_key";

const COMPARISONS: [&str; 8] =
    ["eq", "neq", "lt", "lte", "gt", "gte", "is_distinct_from", "is_not_distinct_from"];

/// Rewrites a plan whose expressions may have subqueries. The output columns stay the same.
pub(crate) fn compare_by_keys(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    if !has_keys(&plan) {
        return Ok(plan);
    }
    rewritten(plan, ctx.column_ids)
}

/// Whether an expression of the plan is of a type with keys.
fn has_keys(plan: &Plan) -> bool {
    let mut found = false;
    for_each_node(plan, &mut |node| {
        let mut rest = node.exprs();
        while let Some(expr) = rest.pop() {
            found |= expr.data_type.key_type().is_some();
            rest.extend(expr.children());
        }
        found |= node.column_refs().iter().any(|it| it.data_type.key_type().is_some());
    });
    found
}

fn rewritten(plan: Plan, ids: &ColumnIds) -> Result<Plan> {
    crate::rules::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |mut node| {
            for expr in node.exprs_mut() {
                rewrite_expr(expr, ids)?;
            }
            Ok(match node {
                Plan::Aggregate { .. } => group_by_keys(node, ids),
                Plan::GroupLimit { .. } => limit_by_keys(node, ids),
                Plan::Sort { input, mut keys } => {
                    keys.iter_mut().for_each(|it| to_key(&mut it.expr));
                    Plan::Sort { input, keys }
                }
                Plan::Window { input, mut partition_by, mut order_by, calls, limit } => {
                    partition_by.iter_mut().for_each(to_key);
                    order_by.iter_mut().for_each(|it| to_key(&mut it.expr));
                    Plan::Window { input, partition_by, order_by, calls, limit }
                }
                other => other,
            })
        })
    })
}

/// Compares keys in an expression and its subqueries.
fn rewrite_expr(expr: &mut Expr, ids: &ColumnIds) -> Result<()> {
    deep(|| {
        for child in expr.children_mut() {
            rewrite_expr(child, ids)?;
        }
        match &mut expr.kind {
            ExprKind::Call { name, args } if COMPARISONS.contains(&name.as_str()) => {
                args.iter_mut().for_each(to_key);
            }
            ExprKind::Special { form: SpecialForm::In, args } => args.iter_mut().for_each(to_key),
            ExprKind::Subquery(subquery) => {
                let mut plan = rewritten(Plan::clone(&subquery.plan), ids)?;
                if let SubqueryKind::In(exprs) = &mut subquery.kind {
                    plan = keys_of_all(plan, exprs, ids);
                }
                subquery.plan = Arc::new(plan);
            }
            _ => {}
        }
        Ok(())
    })
}

/// The plan with keys for columns where `exprs`, one per column, are compared by keys.
fn keys_of_all(plan: Plan, exprs: &mut [Expr], ids: &ColumnIds) -> Plan {
    if exprs.iter().all(|it| it.data_type.key_type().is_none()) {
        return plan;
    }
    let columns = plan.columns();
    let keyed = columns.iter().map(|it| key_column(it, ids).unwrap_or_else(|| pass(it)));
    let keyed = keyed.collect();
    exprs.iter_mut().for_each(to_key);
    Plan::Project { input: Box::new(plan), exprs: keyed }
}

/// Makes an expression its key, where it has one.
fn to_key(expr: &mut Expr) {
    let Some(key_type) = expr.data_type.key_type() else { return };
    let inner = std::mem::replace(expr, Expr::boolean(true));
    let span = inner.span;
    *expr = Expr::call(KEY, vec![inner], key_type).at(span);
}

/// The key of a column, where it has one.
fn key_column(column: &Column, ids: &ColumnIds) -> Option<(Column, Expr)> {
    let key_type = column.data_type.key_type()?;
    let mut expr = Expr::column(column.id, column.data_type.clone());
    to_key(&mut expr);
    Some((ids.column(column.name.clone(), key_type), expr))
}

/// Groups by keys; a group's value is that of any of its rows.
pub(crate) fn group_by_keys(plan: Plan, ids: &ColumnIds) -> Plan {
    let columns = plan.columns();
    let Plan::Aggregate { input, mut keys, mut aggregates } = plan else { return plan };
    for order in aggregates.iter_mut().flat_map(|it| &mut it.1.order_by) {
        to_key(&mut order.expr);
    }
    let mut chosen: Vec<(Column, Expr)> = Vec::new();
    for (column, expr) in &mut keys {
        let Some(key_type) = column.data_type.key_type() else { continue };
        let value = ids.column(column.name.clone(), column.data_type.clone());
        aggregates.push((value.clone(), any_value(expr.clone())));
        let output = Expr::column(value.id, value.data_type.clone());
        let key = ids.column(column.name.clone(), key_type);
        chosen.push((std::mem::replace(column, key), output));
        to_key(expr);
    }
    let node = Plan::Aggregate { input, keys, aggregates };
    if chosen.is_empty() {
        return node;
    }
    let output = |column: Column| {
        let found = chosen.iter().find(|it| it.0.id == column.id);
        found.cloned().unwrap_or_else(|| pass(&column))
    };
    let exprs = columns.into_iter().map(output).collect();
    Plan::Project { input: Box::new(node), exprs }
}

/// The value of any row of a group.
pub(crate) fn any_value(of: Expr) -> AggregateCall {
    AggregateCall {
        function: "any_value".to_owned(),
        data_type: of.data_type.clone(),
        span: of.span,
        args: vec![of],
        distinct: false,
        filter: None,
        step: CallStep::Complete,
        order_by: Vec::new(),
    }
}

fn limit_by_keys(plan: Plan, ids: &ColumnIds) -> Plan {
    let columns = plan.columns();
    let Plan::GroupLimit { input, keys, mut order, offset, limit } = plan else { return plan };
    order.iter_mut().for_each(|it| to_key(&mut it.expr));
    let mut exprs: Vec<(Column, Expr)> = columns.iter().map(pass).collect();
    let mut key = |id: ColumnId| {
        let column = columns.iter().find(|it| it.id == id)?;
        let computed = key_column(column, ids)?;
        let id = computed.0.id;
        exprs.push(computed);
        Some(id)
    };
    let keys: Vec<ColumnId> = keys.into_iter().map(|id| key(id).unwrap_or(id)).collect();
    if exprs.len() == columns.len() {
        return Plan::GroupLimit { input, keys, order, offset, limit };
    }
    let input = Box::new(Plan::Project { input, exprs });
    project_to(Plan::GroupLimit { input, keys, order, offset, limit }, &columns)
}
