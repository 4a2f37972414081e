//! PIVOT: values of a column become columns. It is an aggregation whose calls have a filter for
//! each value.

use super::{
    Binder, Bound, Clause, expr::first_span, inspect, scope::Scope, select::column_expr,
    unpivot::Unpivot, unsupported,
};
use crate::parse::{PIVOT_GROUPS, PIVOT_OF, PIVOT_VALUES};
use sqlparser::ast::{
    self, ExprWithAlias, FunctionArguments, Ident, NullInclusion, PivotValueSource, Spanned,
    TableAlias, TableFactor, Value as Literal,
};
use std::collections::{HashMap, HashSet};
use volley_error::{Error, Result, Span};
use volley_logical::{AggregateCall, Column, ColumnId, Expr, ExprKind, Plan, SortKey, SpecialForm};
use volley_types::{Type, Value};

/// An expression of aggregates.
struct Aggregated<'a> {
    expr: &'a ast::Expr,
    alias: Option<&'a Ident>,
}

/// What PIVOT makes columns of.
struct Pivot<'a> {
    aggregates: Vec<Aggregated<'a>>,
    /// The columns that rows are grouped by, if that is said.
    groups: Option<Vec<&'a ast::Expr>>,
    columns: &'a [ast::Expr],
    values: &'a [ExprWithAlias],
}

/// A value, or one of each column, that a column is made of.
struct Choice {
    /// The name of the column.
    name: String,
    /// One per column of PIVOT.
    values: Vec<Expr>,
}

/// The most columns that PIVOT makes of the values that it finds.
const COLUMNS_MAX: usize = 10_000;

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
                    let error = unsupported("ANY and subqueries in PIVOT", None);
                    return Err(error.hint("PIVOT table ON column finds its values"));
                };
                let (plan, scope) = self.factor(table)?;
                let (aggregates, groups) = parts(aggregate_functions);
                let pivot = Pivot { aggregates, groups, columns: value_column, values };
                let bind = |it: &mut Self| it.pivoted(plan, pivot);
                let (bound, _) = self.with_level(scope, Clause::Select, bind)?;
                self.pivot_scope(bound, alias.as_ref())
            }
            TableFactor::Unpivot { table, value, null_inclusion, name, columns, alias } => {
                let (plan, scope) = self.factor(table)?;
                let unpivot = Unpivot {
                    name,
                    values: self.value_names(value)?,
                    listed: columns,
                    keeps_nulls: matches!(null_inclusion, Some(NullInclusion::IncludeNulls)),
                };
                let bind = |it: &mut Self| it.unpivoted(plan, &unpivot);
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
            bound.push((aggregate, self.aggregated(aggregate.expr)?));
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
        let choices = self.choices_of(&input, &tested, pivot.values)?;
        check_distinct(&choices)?;
        let mut aggregates = Vec::with_capacity(calls.len() * choices.len());
        for choice in choices {
            let test = self.compare_rows("is_not_distinct_from", tested.clone(), choice.values)?;
            let mut renamed = HashMap::new();
            for (column, call) in &calls {
                let own = self.column(column.name.clone(), column.data_type.clone());
                renamed.insert(column.id, own.id);
                aggregates.push((own, filtered(call.clone(), test.clone())));
            }
            for (aggregate, expr) in &bound {
                let name = pivot_name(&choice.name, aggregate, bound.len());
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

    /// An expression of aggregates.
    fn aggregated(&mut self, written: &'a ast::Expr) -> Result<Expr> {
        let before = self.level()?.aggregates.len();
        let expr = self.expr(written)?;
        let span = expr.span.or_else(|| self.span(first_span(written)));
        if !self.level()?.windows.is_empty() {
            return Err(unsupported("calls with OVER in PIVOT", span));
        }
        if self.level()?.aggregates.len() == before {
            let error = Error::invalid_query("PIVOT takes expressions of aggregates").span(span);
            return Err(error.hint("such as sum(x) or sum(x) / 2"));
        }
        Ok(expr)
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
    pub(super) fn group_columns(&self, exprs: &[Expr]) -> Result<Vec<Column>> {
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
    pub(super) fn unused_columns(
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

    /// The values that columns are made of: those written, or for several columns, and for those
    /// whose values are to be found, all combinations.
    fn choices_of(
        &mut self,
        input: &Plan,
        tested: &[Expr],
        written: &'a [ExprWithAlias],
    ) -> Result<Vec<Choice>> {
        let lists: Vec<&[ast::FunctionArg]> =
            written.iter().filter_map(|it| call_of(PIVOT_VALUES, &it.expr)).collect();
        if lists.is_empty() {
            let choice = |it: &'a ExprWithAlias| {
                let alias = it.alias.as_ref().map(|alias| alias.value.clone());
                let name = alias.unwrap_or_else(|| text_of(&it.expr));
                Ok(Choice { name, values: self.tuple(&it.expr)? })
            };
            return written.iter().map(choice).collect();
        }
        if lists.len() != tested.len() || lists.len() != written.len() {
            return Err(Error::invalid_query("PIVOT takes a list of values per column"));
        }
        let mut choices = vec![Choice { name: String::new(), values: Vec::new() }];
        for (list, column) in lists.into_iter().zip(tested) {
            let values = match list {
                [] => self.found_values(input, column)?,
                [query] if let Some(ast::Expr::Subquery(query)) = plain_expr(query) => {
                    self.queried_values(query, column)?
                }
                list => self.written_values(list)?,
            };
            let with = |before: &Choice, (name, value): &(String, Expr)| {
                let separator = if before.values.is_empty() { "" } else { "_" };
                let name = format!("{}{separator}{name}", before.name);
                let values = before.values.iter().chain([value]).cloned().collect();
                Choice { name, values }
            };
            let all = choices.iter().flat_map(|it| values.iter().map(move |value| with(it, value)));
            choices = all.take(COLUMNS_MAX + 1).collect();
            if choices.len() > COLUMNS_MAX {
                let message = format!("PIVOT into more than {COLUMNS_MAX} columns");
                return Err(Error::invalid_query(message).span(column.span));
            }
        }
        Ok(choices)
    }

    fn written_values(&mut self, list: &'a [ast::FunctionArg]) -> Result<Vec<(String, Expr)>> {
        let value = |it: &'a ast::FunctionArg| match it {
            ast::FunctionArg::Named { name, arg: ast::FunctionArgExpr::Expr(written), .. } => {
                Ok((name.value.clone(), self.expr(written)?))
            }
            other => {
                let written = self.plain_arg(other, None)?;
                Ok((text_of(written), self.expr(written)?))
            }
        };
        list.iter().map(value).collect()
    }

    /// The values that a column of PIVOT has, in their order, but for null: a query that runs now.
    fn found_values(&mut self, input: &Plan, column: &Expr) -> Result<Vec<(String, Expr)>> {
        self.needs_equality(&column.data_type, "PIVOT", column.span)?;
        self.needs_order(&column.data_type, "PIVOT without a list of values", column.span)?;
        let value = self.column("value", column.data_type.clone());
        let is_null = Expr::special(SpecialForm::IsNull, vec![column.clone()], Type::Boolean);
        let conjuncts = vec![self.negated(is_null, true)?];
        let plan = Plan::Filter { input: Box::new(input.clone()), conjuncts };
        let keys = vec![(value.clone(), column.clone())];
        let plan = Plan::Aggregate { input: Box::new(plan), keys, aggregates: Vec::new() };
        let key =
            SortKey { expr: column_expr(&value, None), descending: false, nulls_first: false };
        let plan = Plan::Sort { input: Box::new(plan), keys: vec![key] };
        let plan =
            Plan::Limit { input: Box::new(plan), offset: 0, limit: Some(COLUMNS_MAX as u64 + 1) };
        self.values_of(Bound { plan, columns: vec![value] }, column.span)
    }

    /// The values that a query gives, each once, in their order, but for null.
    fn queried_values(
        &mut self,
        query: &'a ast::Query,
        column: &Expr,
    ) -> Result<Vec<(String, Expr)>> {
        let span = self.span(query.span()).or(column.span);
        // It runs before there are rows around it.
        let hidden: Vec<bool> = self.levels.iter().map(|it| it.hidden).collect();
        self.levels.iter_mut().for_each(|it| it.hidden = true);
        let bound = self.query(query)?;
        self.levels.iter_mut().zip(hidden).for_each(|(level, before)| level.hidden = before);
        if bound.columns.len() != 1 {
            let message =
                format!("the values of PIVOT are one column, not {}", bound.columns.len());
            return Err(Error::invalid_query(message).span(span));
        }
        let mut seen = HashSet::new();
        let mut values = self.values_of(bound, span)?;
        values.retain(|it| seen.insert(it.0.clone()));
        Ok(values)
    }

    /// The values of a query of one column, with their names: it runs now.
    fn values_of(&self, query: Bound, span: Option<Span>) -> Result<Vec<(String, Expr)>> {
        if self.in_view {
            let error = unsupported("PIVOT without a list of values in a view", span);
            return Err(error.hint("list them: ON column IN (value, ...)"));
        }
        let data_type = query.columns.first().map_or(Type::Unknown, |it| it.data_type.clone());
        let rows = self.shared.catalog.rows(query.into()).map_err(|it| it.span(span))?;
        let named = |it: Value| {
            let name = it.display(&data_type).to_string();
            (name, Expr::constant(it, data_type.clone()))
        };
        Ok(rows.into_iter().flatten().filter(|it| !it.is_null()).map(named).collect())
    }
}

/// Refuses a value that is listed twice.
fn check_distinct(choices: &[Choice]) -> Result<()> {
    let same_values = |a: &Choice, b: &Choice| {
        let pairs = a.values.iter().zip(&b.values);
        a.values.len() == b.values.len() && pairs.into_iter().all(|(a, b)| inspect::same(a, b))
    };
    for (position, choice) in choices.iter().enumerate() {
        if choices[..position].iter().any(|it| same_values(it, choice)) {
            let message = format!("a value of PIVOT is listed twice: {}", choice.name);
            let span = choice.values.first().and_then(|it| it.span);
            return Err(Error::invalid_query(message).span(span));
        }
    }
    Ok(())
}

/// The aggregates of PIVOT, and what stands behind its GROUP BY: see the tokens.
fn parts(written: &[ExprWithAlias]) -> (Vec<Aggregated<'_>>, Option<Vec<&ast::Expr>>) {
    let mut groups = None;
    let mut aggregates = Vec::with_capacity(written.len());
    for item in written {
        let alias = item.alias.as_ref();
        if let Some(listed) = call_of(PIVOT_GROUPS, &item.expr) {
            groups = Some(listed.iter().filter_map(plain_expr).collect());
        } else if let Some([of]) = call_of(PIVOT_OF, &item.expr) {
            aggregates.extend(plain_expr(of).map(|expr| Aggregated { expr, alias }));
        } else {
            aggregates.push(Aggregated { expr: &item.expr, alias });
        }
    }
    (aggregates, groups)
}

fn plain_expr(arg: &ast::FunctionArg) -> Option<&ast::Expr> {
    match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// The name of a column of an aggregate for a value.
fn pivot_name(value: &str, aggregate: &Aggregated<'_>, aggregates: usize) -> String {
    match aggregate.alias {
        Some(alias) => format!("{value}_{}", alias.value),
        None if aggregates > 1 => format!("{value}_{}", aggregate.expr),
        None => value.to_owned(),
    }
}

/// The arguments of a call that stands for something else: see the tokens.
fn call_of<'e>(name: &str, expr: &'e ast::Expr) -> Option<&'e [ast::FunctionArg]> {
    match expr {
        ast::Expr::Function(function) if crate::parse::dotted(&function.name) == name => {
            match &function.args {
                FunctionArguments::List(list) => Some(&list.args),
                _ => Some(&[]),
            }
        }
        _ => None,
    }
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
