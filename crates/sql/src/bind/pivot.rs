//! PIVOT: values of a column become columns. UNPIVOT: columns become rows.
//!
//! PIVOT is an aggregation whose calls have a filter for each value. UNPIVOT repeats rows once per
//! column, as for grouping sets, and takes another column's value in each repetition.

use super::{
    Binder, Bound, Clause, expr::first_span, inspect, scope::Scope, select::column_expr,
    unsupported,
};
use crate::parse::PIVOT_GROUPS;
use sqlparser::ast::{
    self, ExprWithAlias, FunctionArguments, NullInclusion, PivotValueSource, TableAlias,
    TableFactor, Value as Literal,
};
use std::collections::{HashMap, HashSet};
use volley_error::{Error, Result};
use volley_logical::{
    AggregateCall, Column, ColumnId, Expr, ExprKind, GroupingSet, Plan, SpecialForm,
};
use volley_types::{Type, Value};

/// What PIVOT makes columns of.
struct Pivot<'a> {
    aggregates: Vec<&'a ExprWithAlias>,
    /// The columns that rows are grouped by, if that is said.
    groups: Option<Vec<&'a ast::Expr>>,
    columns: &'a [ast::Expr],
    values: &'a [ExprWithAlias],
}

impl<'a> Binder<'a> {
    /// `table PIVOT (...)` and `table UNPIVOT (...)`.
    pub(super) fn pivot(&mut self, factor: &'a TableFactor) -> Result<(Plan, Scope)> {
        match factor {
            TableFactor::Pivot {
                table,
                aggregate_functions,
                value_column,
                value_source,
                default_on_null: None,
                alias,
            } => {
                let PivotValueSource::List(values) = value_source else {
                    let error = unsupported("PIVOT without a list of values", None);
                    return Err(error.hint("list them: FOR column IN (value, ...)"));
                };
                let (plan, scope) = self.factor(table)?;
                let (aggregates, groups) = parts(aggregate_functions);
                let pivot = Pivot { aggregates, groups, columns: value_column, values };
                let bind = |it: &mut Self| it.pivoted(plan, pivot);
                let (bound, _) = self.with_level(scope, Clause::Select, bind)?;
                self.pivot_scope(bound, alias.as_ref())
            }
            TableFactor::Unpivot { table, value, null_inclusion, name, columns, alias } => {
                let ast::Expr::Identifier(value) = value else {
                    let span = self.span(first_span(value));
                    return Err(unsupported("UNPIVOT into several columns", span));
                };
                let (plan, scope) = self.factor(table)?;
                let names = [name.value.as_str(), value.value.as_str()];
                let keeps_nulls = matches!(null_inclusion, Some(NullInclusion::IncludeNulls));
                let bind = |it: &mut Self| it.unpivoted(plan, names, columns, keeps_nulls);
                let (bound, _) = self.with_level(scope, Clause::Select, bind)?;
                self.pivot_scope(bound, alias.as_ref())
            }
            _ => Err(unsupported("DEFAULT ON NULL of PIVOT", None)),
        }
    }

    fn pivot_scope(&self, bound: Bound, alias: Option<&TableAlias>) -> Result<(Plan, Scope)> {
        self.aliased(bound, alias, ("", ""))
    }

    fn pivoted(&mut self, input: Plan, pivot: Pivot<'a>) -> Result<Bound> {
        let mut tested = Vec::with_capacity(pivot.columns.len());
        for column in pivot.columns {
            tested.push(self.expr(column)?);
        }
        let mut bound = Vec::with_capacity(pivot.aggregates.len());
        for aggregate in &pivot.aggregates {
            bound.push((*aggregate, self.expr(&aggregate.expr)?));
        }
        let calls = std::mem::take(&mut self.level()?.aggregates).into_calls();
        let groups = match &pivot.groups {
            Some(written) => {
                let exprs = written.iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?;
                self.group_columns(&exprs)?
            }
            None => self.unused_columns(&tested, &calls)?,
        };
        for column in &groups {
            self.needs_equality(&column.data_type, "PIVOT", None)?;
        }
        let mut exprs: Vec<(Column, Expr)> =
            groups.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        let keys = exprs.clone();
        let mut aggregates = Vec::with_capacity(calls.len() * pivot.values.len());
        for value in pivot.values {
            let test = self.pivot_test(&tested, &value.expr)?;
            let mut renamed = HashMap::new();
            for (column, call) in &calls {
                let own = self.column(column.name.clone(), column.data_type.clone());
                renamed.insert(column.id, own.id);
                aggregates.push((own, filtered(call.clone(), test.clone())));
            }
            for (aggregate, expr) in &bound {
                let name = self.pivot_name(value, aggregate, bound.len());
                let mut expr = expr.clone();
                rename(&mut expr, &renamed);
                if let Some(column) = self.first_use(&expr, &groups) {
                    let message =
                        format!("column {} of PIVOT is no argument of an aggregate", column.name);
                    return Err(Error::invalid_query(message).span(expr.span));
                }
                exprs.push((self.column(name, expr.data_type.clone()), expr));
            }
        }
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let grouped = Plan::Aggregate { input: Box::new(input), keys, aggregates };
        Ok(Bound { plan: Plan::Project { input: Box::new(grouped), exprs }, columns })
    }

    /// A column in sight that the expression uses, and that rows are not grouped by.
    fn first_use(&self, expr: &Expr, groups: &[Column]) -> Option<Column> {
        let mut used = HashSet::new();
        inspect::collect_columns(expr, &mut used);
        let scope = self.scope().ok()?;
        let mut columns = scope.columns.iter().map(|it| &it.column);
        let is_group = |it: &Column| groups.iter().any(|group| group.id == it.id);
        columns.find(|it| used.contains(&it.id) && !is_group(it)).cloned()
    }

    /// The columns that these expressions are.
    fn group_columns(&self, exprs: &[Expr]) -> Result<Vec<Column>> {
        let scope = self.scope()?;
        let column = |expr: &Expr| {
            let found = super::group::scope_column(scope, expr).cloned();
            found.ok_or_else(|| {
                let message = "GROUP BY of PIVOT takes columns";
                Error::invalid_query(message).span(expr.span)
            })
        };
        exprs.iter().map(column).collect()
    }

    /// The columns that neither values nor aggregates are taken of.
    fn unused_columns(
        &self,
        tested: &[Expr],
        calls: &[(Column, AggregateCall)],
    ) -> Result<Vec<Column>> {
        let mut used = HashSet::new();
        let exprs = calls.iter().flat_map(|it| it.1.exprs()).chain(tested);
        exprs.for_each(|it| inspect::collect_columns(it, &mut used));
        let columns = self.scope()?.plain().map(|it| &it.column);
        Ok(columns.filter(|it| !used.contains(&it.id)).cloned().collect())
    }

    /// Whether a row has a value.
    fn pivot_test(&mut self, tested: &[Expr], value: &'a ast::Expr) -> Result<Expr> {
        let values = self.tuple(value)?;
        self.compare_rows("is_not_distinct_from", tested.to_vec(), values)
    }

    /// The name of a value's column.
    fn pivot_name(
        &self,
        value: &ExprWithAlias,
        aggregate: &ExprWithAlias,
        aggregates: usize,
    ) -> String {
        let value = match &value.alias {
            Some(alias) => alias.value.clone(),
            None => text_of(&value.expr),
        };
        match &aggregate.alias {
            Some(alias) => format!("{value}_{}", alias.value),
            None if aggregates > 1 => format!("{value}_{}", aggregate.expr),
            None => value,
        }
    }

    /// `names`: of the column of names, and of the column of values.
    fn unpivoted(
        &mut self,
        input: Plan,
        names: [&str; 2],
        listed: &'a [ExprWithAlias],
        keeps_nulls: bool,
    ) -> Result<Bound> {
        let (mut exprs, mut labels) = (Vec::new(), Vec::new());
        for ExprWithAlias { expr: written, alias } in listed {
            for (_, expr) in self.for_each_choice(|it| it.expr(written))? {
                let column = self.group_columns(std::slice::from_ref(&expr))?.remove(0);
                labels.push(alias.as_ref().map_or(column.name, |it| it.value.clone()));
                exprs.push(expr);
            }
        }
        let others = self.unused_columns(&exprs, &[])?;
        let values = self.unify(exprs, "UNPIVOT")?;
        let value_type = values.first().map_or(Type::Unknown, |it| it.data_type.clone());
        let id = self.column("column_id", Type::BigInt);
        let sets = (0..).zip(&values).map(|(id, _)| GroupingSet { id, keys: Vec::new() });
        let input = Plan::GroupId {
            input: Box::new(input),
            keys: Vec::new(),
            sets: sets.collect(),
            id: id.clone(),
            present: None,
        };
        let labels = labels.into_iter().map(|it| Expr::constant(Value::text(it), Type::Varchar));
        let [name, value] = names;
        let name = self.column(name, Type::Varchar);
        let value = self.column(value, value_type.clone());
        let mut exprs: Vec<(Column, Expr)> =
            others.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        exprs.push((name, self.by_id(&id, labels.collect(), Type::Varchar)?));
        exprs.push((value.clone(), self.by_id(&id, values, value_type)?));
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let mut plan = Plan::Project { input: Box::new(input), exprs };
        if !keeps_nulls {
            let form = SpecialForm::IsNull;
            let is_null = Expr::special(form, vec![column_expr(&value, None)], Type::Boolean);
            let conjuncts = vec![self.negated(is_null, true)?];
            plan = Plan::Filter { input: Box::new(plan), conjuncts };
        }
        Ok(Bound { plan, columns })
    }

    /// The value whose number a column has.
    fn by_id(&self, id: &Column, values: Vec<Expr>, data_type: Type) -> Result<Expr> {
        let last = values.len().saturating_sub(1);
        let mut args = Vec::with_capacity(2 * values.len());
        for (number, value) in (0..).zip(values) {
            if number < last as i64 {
                let number = Expr::constant(Value::BigInt(number), Type::BigInt);
                args.push(self.call("eq", vec![column_expr(id, None), number], None)?);
            }
            args.push(value);
        }
        match args.len() {
            1 => Ok(args.remove(0)),
            _ => Ok(Expr::special(SpecialForm::Switch, args, data_type)),
        }
    }
}

/// The aggregates of PIVOT, and what stands behind its GROUP BY: see the tokens.
fn parts(written: &[ExprWithAlias]) -> (Vec<&ExprWithAlias>, Option<Vec<&ast::Expr>>) {
    let mut groups = None;
    let mut aggregates = Vec::with_capacity(written.len());
    for item in written {
        match &item.expr {
            ast::Expr::Function(function)
                if crate::parse::dotted(&function.name) == PIVOT_GROUPS =>
            {
                let FunctionArguments::List(list) = &function.args else { continue };
                let exprs = list.args.iter().filter_map(|it| match it {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                });
                groups = Some(exprs.collect());
            }
            _ => aggregates.push(item),
        }
    }
    (aggregates, groups)
}

fn filtered(mut call: AggregateCall, test: Expr) -> AggregateCall {
    call.filter = Some(match call.filter.take() {
        Some(filter) => Expr::special(SpecialForm::And, vec![test, filter], Type::Boolean),
        None => test,
    });
    call
}

fn rename(expr: &mut Expr, by: &HashMap<ColumnId, ColumnId>) {
    if let ExprKind::Column(id) = &mut expr.kind
        && let Some(new) = by.get(id)
    {
        *id = *new;
    }
    expr.children_mut().iter_mut().for_each(|it| rename(it, by));
}

/// A value as the name of a column.
fn text_of(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        ast::Expr::Tuple(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("_"),
        ast::Expr::Nested(inner) => text_of(inner),
        other => other.to_string(),
    }
}
