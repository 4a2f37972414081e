//! Expressions of `COLUMNS(...)`, which stand for one expression per column, and of
//! `*COLUMNS(...)`, which stands for as many arguments of a call.

use super::{
    Binder, Bound, Clause,
    expr::without_parentheses,
    scope::{Scope, ScopeColumn},
    select::{Item, column_expr},
    star::{invalid_pattern, renames, replacements},
    unsupported,
};
use crate::parse::{COLUMNS_OF, UNPACKED};
use regex::Regex;
use sqlparser::ast::{
    self, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, IdentWithAlias,
    LambdaFunction, ObjectName, ObjectNamePart, OneOrManyWithParens, Spanned, Value as Literal,
    WildcardAdditionalOptions,
};
use std::ops::ControlFlow;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Type, Value};

/// The function that stands for several columns.
pub(super) const COLUMNS: &str = "columns";

/// A column that COLUMNS stands for.
#[derive(Clone)]
pub(super) struct Chosen<'a> {
    pub(super) column: Column,
    /// What REPLACE puts in its place.
    replaced: Option<&'a ast::Expr>,
}

/// The columns of the calls of COLUMNS in an expression.
pub(super) struct Choices<'a> {
    columns: Vec<Chosen<'a>>,
    /// Which of them the expression is bound for.
    at: usize,
}

impl Choices<'_> {
    /// The number of the column that the expression is bound for.
    pub(super) fn choice(&self) -> usize {
        self.at
    }
}

impl<'a> Binder<'a> {
    /// `COLUMNS(...)`: the column that the expression is being bound for.
    pub(super) fn columns_call(
        &mut self,
        function: &'a Function,
        span: Option<Span>,
    ) -> Result<Expr> {
        let columns = self.chosen(function, span)?;
        let Some(choices) = &mut self.choices else {
            let message =
                "COLUMNS is only allowed in the SELECT list, WHERE, HAVING, QUALIFY and ORDER BY";
            return Err(Error::invalid_query(message).span(span));
        };
        if choices.columns.is_empty() {
            choices.columns = columns.clone();
        }
        if choices.columns.len() != columns.len() {
            let message = "two COLUMNS in an expression match different numbers of columns";
            return Err(Error::invalid_query(message).span(span));
        }
        let column = columns.get(choices.at);
        let column = column.ok_or_else(|| Error::internal("COLUMNS beyond its columns"))?;
        self.chosen_expr(column, span)
    }

    /// The value of a column, or of what REPLACE puts in its place.
    pub(super) fn chosen_expr(&mut self, chosen: &Chosen<'a>, span: Option<Span>) -> Result<Expr> {
        match chosen.replaced {
            Some(replaced) => self.expr(replaced),
            None => Ok(column_expr(&chosen.column, span)),
        }
    }

    /// The columns that COLUMNS stands for.
    fn chosen(&mut self, function: &'a Function, span: Option<Span>) -> Result<Vec<Chosen<'a>>> {
        let columns = match matching_lambda(function) {
            Some(lambda) => not_replaced(self.columns_matching(lambda, span)?),
            None => self.columns_meant(function, span)?,
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("no column matches COLUMNS").span(span));
        }
        Ok(columns)
    }

    /// `COLUMNS(lambda c: condition)`: those whose names satisfy it, which a query finds out now.
    fn columns_matching(
        &mut self,
        lambda: &'a LambdaFunction,
        span: Option<Span>,
    ) -> Result<Vec<Column>> {
        let OneOrManyWithParens::One(parameter) = &lambda.params else {
            return Err(Error::invalid_query("the lambda of COLUMNS takes one name").span(span));
        };
        if self.in_view {
            return Err(unsupported("COLUMNS with a lambda in a view", span));
        }
        let all: Vec<Column> =
            self.columns_of(None, span)?.into_iter().map(|it| it.column.clone()).collect();
        let name = self.column(parameter.name.value.clone(), Type::Varchar);
        let rows =
            all.iter().map(|it| vec![Expr::constant(Value::text(it.name.as_str()), Type::Varchar)]);
        let rows = rows.collect();
        let names = Plan::Values { columns: vec![name.clone()], rows };
        // The names alone are in sight.
        let levels = std::mem::take(&mut self.levels);
        let scope = Scope::of_columns(vec![name.clone()]);
        let bind = |it: &mut Self| it.conjuncts(&lambda.body, "the lambda of COLUMNS");
        let bound = self.with_level(scope, Clause::Where, bind);
        self.levels = levels;
        let plan = Plan::Filter { input: Box::new(names), conjuncts: bound?.0 };
        let query = Bound { plan, columns: vec![name] }.into();
        let rows = self.shared.catalog.rows(query).map_err(|it| it.span(span))?;
        let found: Vec<Value> = rows.into_iter().flatten().collect();
        let is_found = |it: &Column| found.contains(&Value::text(it.name.as_str()));
        Ok(all.into_iter().filter(is_found).collect())
    }

    fn columns_meant(&self, function: &'a Function, span: Option<Span>) -> Result<Vec<Chosen<'a>>> {
        let args = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        let (relation, arg) = match args {
            [FunctionArg::Unnamed(arg)] => (None, arg),
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(relation)), FunctionArg::Unnamed(arg)]
                if columns_relation(relation).is_some() =>
            {
                (columns_relation(relation), arg)
            }
            _ => return Err(Error::invalid_query("COLUMNS takes one argument").span(span)),
        };
        let columns = match arg {
            FunctionArgExpr::Wildcard => self.columns_of(None, span)?,
            FunctionArgExpr::QualifiedWildcard(name) => self.columns_of(Some(name), span)?,
            FunctionArgExpr::WildcardWithOptions(options) => {
                let columns = self.columns_of(relation.as_ref(), span)?;
                let columns = self.without_left_out(columns, options)?;
                return self.with_options(columns, options);
            }
            FunctionArgExpr::Expr(expr) => match text_of(expr) {
                Some(pattern) => {
                    let regex = Regex::new(pattern).map_err(|it| invalid_pattern(&it, span))?;
                    let all = self.columns_of(None, span)?.into_iter();
                    all.filter(|it| regex.is_match(&it.column.name)).collect()
                }
                None => self.columns_listed(expr, span)?,
            },
        };
        Ok(not_replaced(columns.into_iter().map(|it| it.column.clone()).collect()))
    }

    /// The columns with the values of REPLACE and the names of RENAME.
    fn with_options(
        &self,
        columns: Vec<&ScopeColumn>,
        options: &'a WildcardAdditionalOptions,
    ) -> Result<Vec<Chosen<'a>>> {
        let columns = columns.into_iter().map(|it| it.column.clone()).collect();
        let mut columns = not_replaced(columns);
        let old: Vec<String> = columns.iter().map(|it| it.column.name.clone()).collect();
        let position = |name: &Ident, what: &str| {
            let found = old.iter().position(|it| it.eq_ignore_ascii_case(&name.value));
            found.ok_or_else(|| {
                let message = format!("no such column in {what}: {}", name.value);
                Error::invalid_query(message).span(self.span(name.span))
            })
        };
        for element in replacements(options) {
            let replaced = columns.get_mut(position(&element.column_name, "REPLACE")?);
            replaced.into_iter().for_each(|it| it.replaced = Some(&element.expr));
        }
        self.check_replacements(options)?;
        for IdentWithAlias { ident, alias } in renames(options) {
            let renamed = columns.get_mut(position(ident, "RENAME")?);
            renamed.into_iter().for_each(|it| it.column.name.clone_from(&alias.value));
        }
        Ok(columns)
    }

    /// `COLUMNS(['a', 'b'])`: in the order of `*`.
    fn columns_listed(&self, expr: &ast::Expr, span: Option<Span>) -> Result<Vec<&ScopeColumn>> {
        let ast::Expr::Array(array) = without_parentheses(expr) else {
            let what = "COLUMNS of something else than *, a pattern, names or a lambda";
            return Err(unsupported(what, span));
        };
        let all = self.columns_of(None, span)?;
        let mut names = Vec::with_capacity(array.elem.len());
        for name in &array.elem {
            let invalid = |message: String| Error::invalid_query(message).span(span);
            let name =
                text_of(name).ok_or_else(|| invalid("COLUMNS takes names as texts".to_owned()))?;
            if !all.iter().any(|it| it.column.name.eq_ignore_ascii_case(name)) {
                return Err(invalid(format!("no such column in COLUMNS: {name}")));
            }
            names.push(name);
        }
        let is_named =
            |it: &&ScopeColumn| names.iter().any(|name| it.column.name.eq_ignore_ascii_case(name));
        Ok(all.into_iter().filter(is_named).collect())
    }

    /// Binds something: once, or where it has COLUMNS once for each of its columns, which comes
    /// along.
    pub(super) fn for_each_choice<T>(
        &mut self,
        bind: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Vec<(Option<Column>, T)>> {
        let outer = self.choices.replace(Choices { columns: Vec::new(), at: 0 });
        let mut bound = Vec::new();
        let result = loop {
            let made = match bind(self) {
                Ok(made) => made,
                Err(error) => break Err(error),
            };
            let Some(choices) = &mut self.choices else { break Ok(()) };
            bound.push((choices.columns.get(choices.at).map(|it| it.column.clone()), made));
            choices.at += 1;
            if choices.at >= choices.columns.len() {
                break Ok(());
            }
        };
        self.choices = outer;
        result.map(|()| bound)
    }

    /// The columns of `*COLUMNS(...)`, if the expression is that.
    pub(super) fn unpacked_columns(
        &mut self,
        expr: &'a ast::Expr,
    ) -> Result<Option<Vec<Chosen<'a>>>> {
        match unpacking(expr) {
            Some(call) => self.chosen(call, self.span(call.name.span())).map(Some),
            None => Ok(None),
        }
    }

    /// Expressions, of which `*COLUMNS(...)` is one per column.
    pub(super) fn unpacked(
        &mut self,
        written: impl IntoIterator<Item = &'a ast::Expr>,
    ) -> Result<Vec<Expr>> {
        let mut exprs = Vec::new();
        for expr in written {
            match unpacking(expr) {
                Some(call) => {
                    let span = self.span(call.name.span());
                    let columns = self.chosen(call, span)?;
                    for column in &columns {
                        exprs.push(self.chosen_expr(column, span)?);
                    }
                }
                None => exprs.push(self.expr(expr)?),
            }
        }
        Ok(exprs)
    }
}

/// The name of an item with COLUMNS: the column's, or the text with the column in the place of the
/// call.
pub(super) fn choice_name(item: &Item<'_>, written: &ast::Expr, column: Option<&Column>) -> String {
    let Some(column) = column else { return item.name.clone() };
    let is_call = |it: &ast::Expr| {
        matches!(it, ast::Expr::Function(function)
            if crate::parse::dotted(&function.name).eq_ignore_ascii_case(COLUMNS))
    };
    if is_call(without_parentheses(written)) && item.name == written.to_string() {
        return column.name.clone();
    }
    if let Some(name) = numbered_name(&item.name, written, &column.name) {
        return name;
    }
    match item.name.to_ascii_lowercase().find("columns(") {
        Some(start) => {
            let call = &item.name[start..];
            let mut depth = 0_usize;
            let end = call.find(|it: char| {
                depth += usize::from(it == '(');
                depth -= usize::from(it == ')' && depth > 0);
                it == ')' && depth == 0
            });
            let behind = end.and_then(|it| call.get(it + 1..)).unwrap_or_default();
            format!("{}{}{behind}", &item.name[..start], column.name)
        }
        None => item.name.clone(),
    }
}

/// An alias such as `x_\1`, with what the groups of the pattern of COLUMNS match in the name of a
/// column.
fn numbered_name(alias: &str, written: &ast::Expr, column: &str) -> Option<String> {
    let is_number =
        |it: (usize, &str)| alias[it.0 + 1..].starts_with(|digit: char| digit.is_ascii_digit());
    if !alias.match_indices('\\').any(is_number) {
        return None;
    }
    let pattern = ast::visit_expressions(written, |it| match it {
        ast::Expr::Function(call)
            if crate::parse::dotted(&call.name).eq_ignore_ascii_case(COLUMNS) =>
        {
            match &call.args {
                FunctionArguments::List(list) => match list.args.as_slice() {
                    [FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))] => text_of(pattern)
                        .map_or(ControlFlow::Continue(()), |it| ControlFlow::Break(it.to_owned())),
                    _ => ControlFlow::Continue(()),
                },
                _ => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    let regex = Regex::new(&pattern.break_value()?).ok()?;
    let groups = regex.captures(column)?;
    let mut name = String::with_capacity(alias.len());
    let mut chars = alias.chars().peekable();
    while let Some(next) = chars.next() {
        match (next, chars.peek().and_then(|it| it.to_digit(10))) {
            ('\\', Some(group)) => {
                chars.next();
                name.push_str(groups.get(group as usize).map_or("", |it| it.as_str()));
            }
            _ => name.push(next),
        }
    }
    Some(name)
}

fn text_of(expr: &ast::Expr) -> Option<&str> {
    match without_parentheses(expr) {
        ast::Expr::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The relation of `COLUMNS(t.* EXCLUDE (a))`, which the parser reads as an argument of its own.
fn columns_relation(expr: &ast::Expr) -> Option<ObjectName> {
    let ast::Expr::Identifier(name) = expr else { return None };
    let names = name.value.strip_prefix(COLUMNS_OF)?.split(COLUMNS_OF);
    let part =
        |it: &str| ObjectNamePart::Identifier(Ident { value: it.to_owned(), ..name.clone() });
    Some(ObjectName(names.map(part).collect()))
}

/// Columns without REPLACE.
fn not_replaced<'a>(columns: Vec<Column>) -> Vec<Chosen<'a>> {
    columns.into_iter().map(|column| Chosen { column, replaced: None }).collect()
}

/// The call in `*COLUMNS(...)`.
fn unpacking(expr: &ast::Expr) -> Option<&Function> {
    match expr {
        ast::Expr::Function(function) if crate::parse::dotted(&function.name) == UNPACKED => {
            Some(function)
        }
        _ => None,
    }
}

/// The lambda that is the argument of COLUMNS.
fn matching_lambda(function: &Function) -> Option<&LambdaFunction> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))] => match without_parentheses(expr) {
            ast::Expr::Lambda(lambda) => Some(lambda),
            _ => None,
        },
        _ => None,
    }
}
