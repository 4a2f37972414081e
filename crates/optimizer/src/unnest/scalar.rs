//! Lateral joins with exactly one row per row of the left side: scalar subqueries.
//!
//! An aggregation without keys has a row even without input. Making that row on the right side
//! would need the domain. Instead an outer join makes a row of nulls, counts in it are set to zero,
//! and the expressions over the aggregates are computed above the join.

use super::Unnesting;
use super::dependent::{Lateral, with_outer};
use super::domain::{Domain, Mapping, replacements};
use super::graft::is_row_wise;
use super::number::takes_nested;
use crate::columns::{free_columns, output_set, pass};
use crate::expr::{bigint, collect_used};
use std::collections::HashMap;
use volley_error::{Result, Span};
use volley_logical::{
    AggregateCall, CallStep, Column, ColumnId, Expr, JoinKind, Plan, SpecialForm,
};
use volley_types::{Type, Value};

/// Aggregates that are zero, not null, of no rows.
const ZERO_OF_NOTHING: &[&str] = &["count", "approx_distinct", "count_if"];

/// What the error says when a scalar subquery has two rows.
pub(super) const TWO_ROWS: &str = "scalar subquery returned more than one row";

/// Projections, outermost first.
type Projections = Vec<Vec<(Column, Expr)>>;

impl Lateral {
    /// Whether the right side has exactly one row for each row of the left side.
    pub(super) fn is_single(&self) -> bool {
        let decides = match self.kind {
            JoinKind::Inner => true,
            JoinKind::Left => self.conditions.is_empty(),
            _ => false,
        };
        decides && (matches!(self.right, Plan::SingleRow { .. }) || is_one_group(&self.right))
    }
}

impl Unnesting<'_> {
    /// Joins the only row of the right side.
    pub(super) fn remove_single(&mut self, join: Lateral) -> Result<Plan> {
        let Lateral { left, right, conditions, .. } = join;
        let span = span_of(&right);
        let (projections, core) = take_apart(right);
        let left_columns = left.columns();
        let mut join = left_join(left, core, Vec::new());
        let joined = match std::mem::take(&mut join.right) {
            Plan::Aggregate { input, keys, aggregates } if keys.is_empty() => {
                join.right = *input;
                self.join_groups(join, aggregates)?
            }
            other => {
                join.right = other;
                self.join_checked(join, span)?
            }
        };
        let plan = projected(joined, projections, &left_columns);
        Ok(match conditions.is_empty() {
            true => plan,
            false => Plan::Filter { input: Box::new(plan), conjuncts: conditions },
        })
    }

    /// Aggregates per row of the domain, and joins the groups.
    fn join_groups(
        &mut self,
        join: Lateral,
        mut aggregates: Vec<(Column, AggregateCall)>,
    ) -> Result<Plan> {
        let counts = self.zeroed(&aggregates);
        let results: Vec<Column> = aggregates.iter().map(|it| it.0.clone()).collect();
        for (column, _) in &mut aggregates {
            if let Some(new) = counts.get(&column.id) {
                *column = new.clone();
            }
        }
        let (left, right, conditions) = self.groups(join, aggregates)?;
        let columns: Vec<Column> = left.columns();
        let joined = left_join(left, right, conditions).into_plan();
        let results = results.into_iter().map(|column| match counts.get(&column.id) {
            Some(inner) => (column, zero_if_null(inner)),
            None => pass(&column),
        });
        let exprs = columns.iter().map(pass).chain(results).collect();
        Ok(Plan::Project { input: Box::new(joined), exprs })
    }

    /// The left side, the groups of the right side's rows by what they belong to, and the
    /// conditions by which they do.
    fn groups(
        &mut self,
        join: Lateral,
        aggregates: Vec<(Column, AggregateCall)>,
    ) -> Result<(Plan, Plan, Vec<Expr>)> {
        let Lateral { left, right: input, .. } = join;
        if takes_nested(&left, &input) && is_row_wise(&input) {
            let (left, groups, same_row) = self.numbered_right(left, input).grouped(aggregates);
            return Ok((left, self.resolve(groups)?, vec![same_row]));
        }
        let mut taken = free_columns(&input);
        aggregates.iter().flat_map(|it| it.1.exprs()).for_each(|it| collect_used(it, &mut taken));
        let left_columns = output_set(&left);
        taken.retain(|it| left_columns.contains(it));
        let mut domain = Domain::new(left, &taken);
        let pushed = self.push_groups(input, Vec::new(), aggregates, &taken, &mut domain)?;
        let right = self.resolve(pushed.plan)?;
        Ok((domain.into_left(), right, with_outer(&pushed.map)))
    }

    /// New columns for the counts among `aggregates`, by the old ones.
    pub(super) fn zeroed(
        &self,
        aggregates: &[(Column, AggregateCall)],
    ) -> HashMap<ColumnId, Column> {
        let ids = self.ctx.column_ids;
        let counts = aggregates.iter().filter(|it| is_zero_of_nothing(&it.1));
        let fresh = |it: &Column| ids.column(it.name.clone(), it.data_type.clone());
        counts.map(|(column, _)| (column.id, fresh(column))).collect()
    }

    /// Joins a right side that may turn out to have several rows, which is an error.
    fn join_checked(&mut self, mut join: Lateral, span: Option<Span>) -> Result<Plan> {
        let (has_one, columns) = (has_one_row_at_most(&join.right), join.right.columns());
        let pushed = self.push_into_right(&mut join)?;
        join.conditions = with_outer(&pushed.map);
        if has_one {
            join.right = self.resolve(pushed.plan)?;
            return Ok(join.into_plan());
        }
        let (groups, count) = self.counted_groups(pushed.plan, &columns, &pushed.map);
        join.right = self.resolve(groups)?;
        let joined = join.into_plan();
        Ok(Plan::Filter { input: Box::new(joined), conjuncts: vec![at_most_one(&count, span)] })
    }

    /// Per row of the domain: a row of the plan, and how many there are.
    pub(super) fn counted_groups(
        &self,
        plan: Plan,
        columns: &[Column],
        map: &Mapping,
    ) -> (Plan, Column) {
        let count = self.ctx.column_ids.column("rows", Type::BigInt);
        let by = replacements(map);
        let keys: Vec<_> = map.values().map(|it| pass(&it.column)).collect();
        let is_key = |id: &ColumnId| map.values().any(|it| it.column.id == *id);
        // The plan's columns are returned under their own identities: they are renamed below.
        let mut renames = Vec::new();
        let mut aggregates = vec![(count.clone(), call("count", Vec::new(), Type::BigInt))];
        for column in columns.iter().filter(|it| !by.contains_key(&it.id) && !is_key(&it.id)) {
            let ids = self.ctx.column_ids;
            let below = ids.column(column.name.clone(), column.data_type.clone());
            let arg = Expr::column(below.id, below.data_type.clone());
            aggregates
                .push((column.clone(), call("any_value", vec![arg], below.data_type.clone())));
            renames.push((below, Expr::column(column.id, column.data_type.clone())));
        }
        let exprs = map.values().map(|it| pass(&it.column)).chain(renames).collect();
        let input = Box::new(Plan::Project { input: Box::new(plan), exprs });
        (Plan::Aggregate { input, keys, aggregates }, count)
    }
}

fn left_join(left: Plan, right: Plan, conditions: Vec<Expr>) -> Lateral {
    Lateral { left, right, kind: JoinKind::Left, conditions, null_aware: false, mark: None }
}

/// A condition that fails when there are two rows; a filter reports it.
pub(super) fn at_most_one(count: &Column, span: Option<Span>) -> Expr {
    let count = Expr::column(count.id, Type::BigInt);
    let several = Expr::call("gt", vec![count, bigint(1)], Type::Boolean);
    let message = Expr::constant(Value::text(TWO_ROWS), Type::Varchar);
    let error = Expr::call("error", vec![message], Type::Unknown).at(span);
    let error = error.cast(Type::Boolean).at(span);
    Expr::special(SpecialForm::Switch, vec![several, error, Expr::boolean(true)], Type::Boolean)
}

pub(super) fn call(function: &str, args: Vec<Expr>, data_type: Type) -> AggregateCall {
    AggregateCall {
        function: function.to_owned(),
        args,
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        step: CallStep::Complete,
        data_type,
        span: None,
    }
}

/// `coalesce(column, 0)`.
pub(super) fn zero_if_null(column: &Column) -> Expr {
    let value = Expr::column(column.id, column.data_type.clone());
    let zero = bigint(0).cast(column.data_type.clone());
    Expr::special(SpecialForm::Coalesce, vec![value, zero], column.data_type.clone())
}

/// Whether an aggregate is zero of no rows.
pub(super) fn is_zero_of_nothing(call: &AggregateCall) -> bool {
    ZERO_OF_NOTHING.contains(&call.function.as_str())
}

/// Applies projections above the join; they pass on the columns of the left side.
fn projected(mut plan: Plan, projections: Projections, left: &[Column]) -> Plan {
    for mut exprs in projections.into_iter().rev() {
        let more = left.iter().filter(|it| exprs.iter().all(|own| own.0.id != it.id)).map(pass);
        let more: Vec<_> = more.collect();
        exprs.extend(more);
        plan = Plan::Project { input: Box::new(plan), exprs };
    }
    plan
}

/// The projections on top of a plan with one row, and what is below them.
fn take_apart(mut plan: Plan) -> (Projections, Plan) {
    let mut projections = Vec::new();
    loop {
        match plan {
            Plan::SingleRow { input, .. } | Plan::Sort { input, .. } => plan = *input,
            Plan::Project { input, exprs } if is_one_group(&input) => {
                projections.push(exprs);
                plan = *input;
            }
            other => return (projections, other),
        }
    }
}

/// The place of the subquery that the plan is the only row of.
fn span_of(plan: &Plan) -> Option<Span> {
    match plan {
        Plan::SingleRow { span, .. } => *span,
        _ => None,
    }
}

/// Whether the plan is an aggregation without keys, maybe projected.
fn is_one_group(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { keys, .. } => keys.is_empty(),
        Plan::Project { input, .. } | Plan::Sort { input, .. } => is_one_group(input),
        _ => false,
    }
}

/// Whether the plan has no second row.
pub(super) fn has_one_row_at_most(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { keys, .. } => keys.is_empty(),
        Plan::SingleRow { .. } => true,
        Plan::Limit { limit, .. } => limit.is_some_and(|it| it <= 1),
        Plan::Values { rows, .. } => rows.len() <= 1,
        Plan::Project { input, .. } | Plan::Sort { input, .. } | Plan::Filter { input, .. } => {
            has_one_row_at_most(input)
        }
        _ => false,
    }
}
