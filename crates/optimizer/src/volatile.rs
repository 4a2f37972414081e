//! Volatile calls, such as `random()`, have one value per row, however many copies of them a plan
//! has: those that an alias or BETWEEN stand for. A projection below computes it once.
//!
//! ```text
//! Filter [x >= 1, x <= 2]           Filter [c >= 1, c <= 2]
//!   input                 becomes     Project [input's columns, c = x]        x = f(random()#1)
//!                                       input
//! ```
//!
//! What is computed is the largest part that all copies of its calls share, so that a CASE around
//! them still decides whether they are evaluated. The column serves the nodes above as far as their
//! rows are those of the projection: not above groups and other projections. This comes before all
//! rules, which know that equal volatile columns are one value and equal volatile calls are not.

mod local;

use crate::{
    OptimizerContext,
    columns::{for_each_node, pass, project_to},
    expr::{fingerprint, same_expr},
    rules::with_ctes,
    stack::deep,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use volley_error::Result;
use volley_logical::{Column, ColumnIds, Expr, ExprKind, Occurrence, Plan};

/// Rewrites a plan so that no volatile call occurs twice for the same rows; it emits the same
/// columns.
pub(crate) fn evaluate_once(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    if copied_calls(&plan).is_empty() {
        return Ok(plan);
    }
    let plan = with_ctes(plan, &mut |mut plan| {
        share_locally(&mut plan, ctx.column_ids);
        Ok(plan)
    })?;
    let uses = copied_calls(&plan);
    if uses.is_empty() {
        return Ok(plan);
    }
    let mut sharing = Sharing { uses, parts: HashMap::new(), ids: ctx.column_ids };
    for_each_node(&plan, &mut |node| {
        node.exprs().into_iter().for_each(|it| sharing.count(it));
    });
    with_ctes(plan, &mut |plan| Ok(sharing.exact(plan)))
}

/// How often the calls occur that occur more than once.
fn copied_calls(plan: &Plan) -> HashMap<Occurrence, usize> {
    let mut uses: HashMap<Occurrence, usize> = HashMap::new();
    for_each_node(plan, &mut |node| {
        let mut rest = node.exprs();
        while let Some(expr) = rest.pop() {
            if let Some(occurrence) = expr.occurrence {
                *uses.entry(occurrence).or_default() += 1;
            }
            rest.extend(expr.children());
        }
    });
    uses.retain(|_, uses| *uses > 1);
    uses
}

/// Rewrites the conditions of joins and the bodies of lambdas, also in subqueries.
fn share_locally(plan: &mut Plan, ids: &ColumnIds) {
    deep(|| plan.inputs_mut().into_iter().for_each(|it| share_locally(it, ids)));
    plan.exprs_mut().into_iter().for_each(|it| share_in_subqueries(it, ids));
    local::share_in_node(plan, ids);
}

fn share_in_subqueries(expr: &mut Expr, ids: &ColumnIds) {
    // Copies of a subquery share its plan, by which they are found to be equal.
    if let ExprKind::Subquery(subquery) = &mut expr.kind
        && !copied_calls(&subquery.plan).is_empty()
    {
        let mut plan = Plan::clone(&subquery.plan);
        share_locally(&mut plan, ids);
        subquery.plan = Arc::new(plan);
    }
    deep(|| expr.children_mut().iter_mut().for_each(|it| share_in_subqueries(it, ids)));
}

/// The copies of calls in a plan.
struct Sharing<'a> {
    /// How often the calls occur that occur more than once.
    uses: HashMap<Occurrence, usize>,
    /// The expressions with such calls, by fingerprint, and how often each occurs.
    parts: HashMap<u64, Vec<(Expr, usize)>>,
    ids: &'a ColumnIds,
}

/// Columns that hold the value of an expression for the rows of a node.
type Available = Vec<(Column, Expr)>;

impl Sharing<'_> {
    /// Counts the parts of an expression. The body of a lambda has a value per element.
    fn count(&mut self, expr: &Expr) {
        if matches!(expr.kind, ExprKind::Lambda { .. }) || !self.has_copies(expr) {
            return;
        }
        let alike = self.parts.entry(fingerprint(expr)).or_default();
        match alike.iter_mut().find(|it| same_expr(&it.0, expr)) {
            Some(known) => known.1 += 1,
            None => alike.push((expr.clone(), 1)),
        }
        deep(|| expr.children().iter().for_each(|it| self.count(it)));
    }

    /// Whether calls in the expression, also in its subqueries, occur elsewhere, too.
    fn has_copies(&self, expr: &Expr) -> bool {
        let mut calls = HashSet::new();
        collect_calls(expr, &mut calls);
        calls.iter().any(|it| self.uses.contains_key(it))
    }

    /// Whether an expression is what all copies of its calls share.
    fn is_shared(&self, expr: &Expr) -> bool {
        let alike = self.parts.get(&fingerprint(expr)).map_or(&[][..], Vec::as_slice);
        let Some((_, count)) = alike.iter().find(|it| same_expr(&it.0, expr)) else {
            return false;
        };
        let mut calls = HashSet::new();
        collect_calls(expr, &mut calls);
        *count > 1 && calls.iter().all(|it| self.uses.get(it).is_none_or(|uses| uses == count))
    }

    /// As [`Sharing::rewritten`]; emits the same columns.
    fn exact(&self, plan: Plan) -> Plan {
        let columns = plan.columns();
        project_to(self.rewritten(plan).0, &columns)
    }

    /// The plan, which may emit more columns, and what they hold.
    fn rewritten(&self, mut plan: Plan) -> (Plan, Available) {
        let mut available = Available::new();
        deep(|| {
            for input in plan.inputs_mut() {
                let (new, made) = self.rewritten(std::mem::take(input));
                *input = new;
                available = made;
            }
        });
        if !has_rows_of_input(&plan) {
            available.clear();
        }
        plan.exprs_mut().into_iter().for_each(|it| replace(it, &available));
        if let Some(computed) = self.compute_below(&mut plan) {
            plan.exprs_mut().into_iter().for_each(|it| replace(it, &computed));
            available.extend(computed);
        }
        plan.exprs_mut().into_iter().for_each(|it| self.rewrite_subqueries(it));
        if !passes_columns(&plan) {
            available.clear();
        }
        (plan, available)
    }

    /// Puts a projection below the node that computes what copies in its expressions share.
    fn compute_below(&self, plan: &mut Plan) -> Option<Available> {
        if !has_rows_of_input(plan) {
            return None;
        }
        let mut shared = Vec::new();
        plan.exprs().into_iter().for_each(|it| self.collect_shared(it, &mut shared));
        if shared.is_empty() {
            return None;
        }
        let column = |it: Expr| (self.ids.column("volatile", it.data_type.clone()), it);
        let computed: Available = shared.into_iter().map(column).collect();
        let mut inputs = plan.inputs_mut();
        let input = inputs.pop()?;
        let mut exprs: Vec<(Column, Expr)> = input.columns().iter().map(pass).collect();
        exprs.extend(computed.iter().cloned());
        *input = Plan::Project { input: Box::new(std::mem::take(input)), exprs };
        Some(computed)
    }

    /// Adds the largest shared parts of an expression, each once.
    fn collect_shared(&self, expr: &Expr, shared: &mut Vec<Expr>) {
        if matches!(expr.kind, ExprKind::Lambda { .. }) || !self.has_copies(expr) {
            return;
        }
        if !self.is_shared(expr) {
            deep(|| expr.children().iter().for_each(|it| self.collect_shared(it, shared)));
        } else if !shared.iter().any(|it| same_expr(it, expr)) {
            shared.push(expr.clone());
        }
    }

    fn rewrite_subqueries(&self, expr: &mut Expr) {
        if !self.has_copies(expr) {
            return;
        }
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            subquery.plan = Arc::new(self.exact(Plan::clone(&subquery.plan)));
        }
        deep(|| expr.children_mut().iter_mut().for_each(|it| self.rewrite_subqueries(it)));
    }
}

/// Adds the volatile calls of an expression, also of its subqueries.
fn collect_calls(expr: &Expr, calls: &mut HashSet<Occurrence>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        calls.extend(expr.occurrence);
        rest.extend(expr.children());
        if let ExprKind::Subquery(subquery) = &expr.kind {
            for_each_node(&subquery.plan, &mut |node| {
                let mut exprs = node.exprs();
                while let Some(expr) = exprs.pop() {
                    calls.extend(expr.occurrence);
                    exprs.extend(expr.children());
                }
            });
        }
    }
}

/// Puts columns in the place of what they hold, also in subqueries.
fn replace(expr: &mut Expr, available: &Available) {
    if available.is_empty() {
        return;
    }
    if let Some((column, _)) = available.iter().find(|it| same_expr(&it.1, expr)) {
        *expr = Expr::column(column.id, column.data_type.clone()).at(expr.span);
        return;
    }
    if let ExprKind::Subquery(subquery) = &mut expr.kind {
        let mut plan = Plan::clone(&subquery.plan);
        replace_in_plan(&mut plan, available);
        subquery.plan = Arc::new(plan);
    }
    deep(|| expr.children_mut().iter_mut().for_each(|it| replace(it, available)));
}

fn replace_in_plan(plan: &mut Plan, available: &Available) {
    plan.exprs_mut().into_iter().for_each(|it| replace(it, available));
    deep(|| plan.inputs_mut().into_iter().for_each(|it| replace_in_plan(it, available)));
}

/// Whether the node evaluates its expressions for the rows of its only input.
fn has_rows_of_input(plan: &Plan) -> bool {
    matches!(plan, Plan::Project { .. } | Plan::Aggregate { .. } | Plan::GroupId { .. })
        || passes_columns(plan)
}

/// Whether the node emits all columns of its only input.
fn passes_columns(plan: &Plan) -> bool {
    matches!(
        plan,
        Plan::Filter { .. }
            | Plan::Window { .. }
            | Plan::Sort { .. }
            | Plan::Limit { .. }
            | Plan::GroupLimit { .. }
            | Plan::Sample { .. }
            | Plan::UniqueId { .. }
            | Plan::Unnest { .. }
    )
}
