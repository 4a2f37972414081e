//! Turns subqueries in expressions into lateral joins.

use super::Unnesting;
use crate::columns::{map_inputs, output_set, project_to};
use crate::expr::{
    ColumnSet, collect_used, eq, has_subquery, in_exprs, negated, split_conjuncts, used_columns,
};
use crate::stack::deep;
use volley_error::{Error, Result, Span};
use volley_logical::{
    Column, ColumnId, Expr, ExprKind, JoinKind, Plan, SetOperation, Subquery, SubqueryKind,
};
use volley_types::Type;

/// What an expression's subqueries are joined to.
enum Bases {
    /// One input.
    One(Plan),
    /// The sides of a join; a subquery goes to the side whose columns it uses.
    Sides(Box<[Plan; 2]>),
}

impl Unnesting<'_> {
    /// Replaces all subqueries in expressions of `plan`.
    pub(super) fn lift(&mut self, mut plan: Plan) -> Result<Plan> {
        deep(|| {
            map_inputs(&mut plan, |input| self.lift(input))?;
            match plan {
                Plan::CteRef { cte, columns } => Ok(Plan::CteRef { cte: self.cte(&cte)?, columns }),
                Plan::Values { columns, rows } if !rows.iter().flatten().all(is_simple) => {
                    self.lift_values(columns, rows)
                }
                Plan::Join { .. } => self.lift_join(plan),
                _ if !plan.exprs().into_iter().any(has_subquery) => Ok(plan),
                Plan::Filter { input, conjuncts } => self.lift_filter(*input, conjuncts),
                other => self.lift_node(other),
            }
        })
    }

    /// A node with one input, below which the subqueries are joined.
    fn lift_node(&mut self, mut plan: Plan) -> Result<Plan> {
        let columns = plan.columns();
        let mut bases = Bases::One(match plan.inputs_mut().into_iter().next() {
            Some(input) => std::mem::take(input),
            None => return Err(Error::unsupported("subquery in a scan's filter")),
        });
        for expr in plan.exprs_mut() {
            self.lift_expr(expr, &mut bases)?;
        }
        if let (Some(input), Bases::One(base)) = (plan.inputs_mut().into_iter().next(), bases) {
            *input = base;
        }
        Ok(project_to(plan, &columns))
    }

    fn lift_filter(&mut self, input: Plan, conjuncts: Vec<Expr>) -> Result<Plan> {
        let columns = input.columns();
        let mut flat = Vec::new();
        conjuncts.into_iter().for_each(|it| split_conjuncts(it, &mut flat));
        let (nested, plain): (Vec<_>, Vec<_>) = flat.into_iter().partition(has_subquery);
        let mut bases = Bases::One(filtered(input, plain));
        let mut rest = Vec::new();
        for conjunct in nested {
            if let Some(expr) = self.lift_conjunct(conjunct, &mut bases)? {
                rest.push(expr);
            }
        }
        let Bases::One(base) = bases else { return Err(lost()) };
        Ok(project_to(filtered(base, rest), &columns))
    }

    /// EXISTS, NOT EXISTS, IN and NOT IN as conjuncts of a filter: semi and anti joins. What else
    /// there is comes back with its subqueries replaced.
    fn lift_conjunct(&mut self, conjunct: Expr, bases: &mut Bases) -> Result<Option<Expr>> {
        let inner = negated(&conjunct);
        let kind = if inner.is_some() { JoinKind::LeftAnti } else { JoinKind::LeftSemi };
        let ExprKind::Subquery(subquery) = &inner.unwrap_or(&conjunct).kind else {
            return self.lifted(conjunct, bases).map(Some);
        };
        if matches!(subquery.kind, SubqueryKind::Scalar) {
            return self.lifted(conjunct, bases).map(Some);
        }
        if is_true(subquery) {
            return Ok(inner.is_some().then(|| Expr::boolean(false)));
        }
        let Subquery { kind: what, plan } = subquery.as_ref().clone();
        let (right, conditions) = self.right_side(what, &plan, bases)?;
        let null_aware = kind == JoinKind::LeftAnti && !conditions.is_empty();
        bases.join(conditions, None, |left, conditions| {
            lateral(left, right, kind, conditions, null_aware)
        })?;
        Ok(None)
    }

    fn lifted(&mut self, mut expr: Expr, bases: &mut Bases) -> Result<Expr> {
        self.lift_expr(&mut expr, bases)?;
        Ok(expr)
    }

    /// Joins the subqueries in `expr` to the bases, and puts columns in their place.
    fn lift_expr(&mut self, expr: &mut Expr, bases: &mut Bases) -> Result<()> {
        deep(|| {
            let ExprKind::Subquery(subquery) = &expr.kind else {
                let mut children = expr.children_mut().iter_mut();
                return children.try_for_each(|it| self.lift_expr(it, bases));
            };
            if is_true(subquery) {
                *expr = Expr::boolean(true).at(expr.span);
                return Ok(());
            }
            let mut used = used_columns(expr);
            let Subquery { kind, plan } = subquery.as_ref().clone();
            let column = match kind {
                SubqueryKind::Scalar => self.lift_scalar(&plan, expr.span, &used, bases)?,
                _ => {
                    let mark = self.ctx.column_ids.column("mark", Type::Boolean);
                    let (right, conditions) = self.right_side(kind, &plan, bases)?;
                    conditions.iter().for_each(|it| collect_used(it, &mut used));
                    let right_columns = output_set(&right);
                    used.retain(|it| !right_columns.contains(it));
                    let marked = Some(mark.clone());
                    bases.join(conditions, Some(&used), |left, conditions| Plan::Join {
                        left: Box::new(left),
                        right: Box::new(right),
                        kind: JoinKind::LeftMark,
                        null_aware: !conditions.is_empty(),
                        conditions,
                        mark: marked,
                        lateral: true,
                    })?;
                    mark
                }
            };
            *expr = Expr::column(column.id, column.data_type).at(expr.span);
            Ok(())
        })
    }

    fn lift_scalar(
        &mut self,
        plan: &Plan,
        span: Option<Span>,
        used: &ColumnSet,
        bases: &mut Bases,
    ) -> Result<Column> {
        let plan = self.lift(plan.clone())?;
        let (renamed, columns) = self.renamed(plan);
        let column = columns.into_iter().next().ok_or_else(lost)?;
        let right = Plan::SingleRow { input: Box::new(renamed), span };
        bases.join(Vec::new(), Some(used), |left, conditions| {
            lateral(left, right, JoinKind::Inner, conditions, false)
        })?;
        Ok(column)
    }

    /// The subquery's plan, and for IN the comparisons with its columns.
    fn right_side(
        &mut self,
        kind: SubqueryKind,
        plan: &Plan,
        bases: &mut Bases,
    ) -> Result<(Plan, Vec<Expr>)> {
        let plan = self.lift(plan.clone())?;
        if matches!(kind, SubqueryKind::Exists) {
            return Ok((without_irrelevant(plan), Vec::new()));
        }
        let (plan, columns) = self.renamed(plan);
        let mut conditions = Vec::new();
        for (expr, column) in in_exprs(&kind).iter().zip(columns) {
            let mut expr = expr.clone();
            self.lift_expr(&mut expr, bases)?;
            conditions.push(eq(expr, Expr::column(column.id, column.data_type)));
        }
        Ok((plan, conditions))
    }

    /// The plan with new identities for its output columns; a subquery may return a column of the
    /// outer query.
    fn renamed(&self, plan: Plan) -> (Plan, Vec<Column>) {
        let ids = self.ctx.column_ids;
        let exprs: Vec<_> = plan
            .columns()
            .into_iter()
            .map(|it| {
                let expr = Expr::column(it.id, it.data_type.clone());
                (ids.column(it.name, it.data_type), expr)
            })
            .collect();
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        (Plan::Project { input: Box::new(plan), exprs }, columns)
    }

    /// Rows that must be computed: one projection of one row each.
    fn lift_values(&mut self, columns: Vec<Column>, rows: Vec<Vec<Expr>>) -> Result<Plan> {
        if let [row] = rows.as_slice() {
            let exprs = columns.into_iter().zip(row.clone()).collect();
            return self.lift(Plan::Project { input: Box::new(Plan::one_row()), exprs });
        }
        let ids = self.ctx.column_ids;
        let mut inputs = Vec::with_capacity(rows.len());
        for row in rows {
            let fresh = columns.iter().map(|it| ids.column(it.name.clone(), it.data_type.clone()));
            let exprs: Vec<(Column, Expr)> = fresh.zip(row).collect();
            let feeds: Vec<ColumnId> = exprs.iter().map(|it| it.0.id).collect();
            let project = Plan::Project { input: Box::new(Plan::one_row()), exprs };
            inputs.push((self.lift(project)?, feeds));
        }
        Ok(Plan::SetOperation { operation: SetOperation::Union, all: true, inputs, columns })
    }

    fn lift_join(&mut self, mut plan: Plan) -> Result<Plan> {
        let columns = plan.columns();
        let Plan::Join { left, right, kind, conditions, lateral, .. } = &mut plan else {
            return Ok(plan);
        };
        if !conditions.iter().any(has_subquery) {
            return Ok(plan);
        }
        let (nested, plain): (Vec<_>, Vec<_>) =
            std::mem::take(conditions).into_iter().partition(has_subquery);
        if *kind == JoinKind::Inner {
            *conditions = plain;
            return self.lift_filter(plan, nested);
        }
        if nested.iter().any(|it| uses_both(it, left, right)) {
            let all = plain.into_iter().chain(nested).collect();
            let sides = [left, right].map(|it| std::mem::take(&mut **it));
            let [left, right] = sides;
            let joined = match *lateral {
                true => self.lift_on_right(left, right, *kind, all)?,
                false => self.lift_on_pairs(left, right, *kind, all)?,
            };
            return Ok(project_to(joined, &columns));
        }
        let sides = [std::mem::take(&mut **left), std::mem::take(&mut **right)];
        let mut bases = Bases::Sides(Box::new(sides));
        *conditions = plain;
        for conjunct in nested {
            conditions.push(self.lifted(conjunct, &mut bases)?);
        }
        if let Bases::Sides(sides) = bases {
            [**left, **right] = *sides;
        }
        Ok(project_to(plan, &columns))
    }
}

impl Bases {
    /// Joins a subquery that uses the columns `used` of its outer query.
    fn join(
        &mut self,
        conditions: Vec<Expr>,
        used: Option<&ColumnSet>,
        join: impl FnOnce(Plan, Vec<Expr>) -> Plan,
    ) -> Result<()> {
        let base = match self {
            Bases::One(base) => base,
            Bases::Sides(sides) => {
                let none = ColumnSet::new();
                let used = used.unwrap_or(&none);
                let [in_left, in_right] =
                    sides.each_ref().map(|it| !output_set(it).is_disjoint(used));
                if in_left && in_right {
                    return Err(Error::unsupported(
                        "subquery in the condition of an outer join that uses columns of both sides",
                    ));
                }
                &mut sides[usize::from(!in_left)]
            }
        };
        *base = join(std::mem::take(base), conditions);
        Ok(())
    }
}

fn lateral(
    left: Plan,
    right: Plan,
    kind: JoinKind,
    conditions: Vec<Expr>,
    null_aware: bool,
) -> Plan {
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        conditions,
        null_aware,
        mark: None,
        lateral: true,
    }
}

fn filtered(input: Plan, conjuncts: Vec<Expr>) -> Plan {
    if conjuncts.is_empty() {
        return input;
    }
    Plan::Filter { input: Box::new(input), conjuncts }
}

/// Whether one of the expression's subqueries uses columns of both sides of a join.
fn uses_both(expr: &Expr, left: &Plan, right: &Plan) -> bool {
    let (left, right) = (output_set(left), output_set(right));
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if matches!(expr.kind, ExprKind::Subquery(_)) {
            let used = used_columns(expr);
            if !used.is_disjoint(&left) && !used.is_disjoint(&right) {
                return true;
            }
        }
        rest.extend(expr.children());
    }
    false
}

fn is_simple(expr: &Expr) -> bool {
    !has_subquery(expr) && used_columns(expr).is_empty()
}

/// EXISTS of what always has a row.
fn is_true(subquery: &Subquery) -> bool {
    matches!(subquery.kind, SubqueryKind::Exists) && has_row(&subquery.plan)
}

/// Whether the plan has a row, whatever its tables hold.
fn has_row(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { keys, .. } => keys.is_empty(),
        Plan::SingleRow { .. } => true,
        Plan::Values { rows, .. } => !rows.is_empty(),
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::UniqueId { input, .. }
        | Plan::Window { input, limit: None, .. } => has_row(input),
        Plan::Limit { input, offset: 0, limit } => *limit != Some(0) && has_row(input),
        Plan::SetOperation { operation: SetOperation::Union, inputs, .. } => {
            inputs.iter().any(|it| has_row(&it.0))
        }
        _ => false,
    }
}

/// Without what does not change whether there is a row: select lists, orders, groups, limits.
fn without_irrelevant(plan: Plan) -> Plan {
    match plan {
        Plan::Project { input, .. } | Plan::Sort { input, .. } | Plan::UniqueId { input, .. } => {
            without_irrelevant(*input)
        }
        Plan::Aggregate { input, keys, .. } if !keys.is_empty() => without_irrelevant(*input),
        Plan::Limit { input, offset: 0, limit } if limit != Some(0) => without_irrelevant(*input),
        other => other,
    }
}

fn lost() -> Error {
    Error::internal("a subquery lost its place")
}
