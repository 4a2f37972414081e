//! `*` with what it leaves out, replaces and renames, and expressions of `COLUMNS(...)`, which
//! stand for one expression per column.

use super::{
    Binder, Bound, Clause,
    expr::without_parentheses,
    scope::{Scope, ScopeColumn},
    select::{Item, ItemSource, column_expr},
    unsupported,
};
use crate::parse::{StarOperator, star_pattern};
use regex::{Regex, RegexBuilder};
use sqlparser::ast::{
    self, ExcludeSelectItem, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    IdentWithAlias, LambdaFunction, ObjectName, OneOrManyWithParens, RenameSelectItem, Spanned,
    Value as Literal, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span as Lines;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Type, Value};

/// The function that stands for several columns.
pub(super) const COLUMNS: &str = "columns";

/// What stands before `.*`.
pub(super) enum Starred<'a> {
    All,
    Name(&'a ObjectName),
    Row(Expr),
}

/// The columns of the calls of COLUMNS in an expression.
pub(super) struct Choices {
    columns: Vec<Column>,
    /// Which of them the expression is bound for.
    at: usize,
}

impl<'a> Binder<'a> {
    /// The columns of `*` or of `relation.*`, or the fields of `row.*`.
    pub(super) fn wildcard(
        &self,
        starred: &Starred<'_>,
        options: &'a WildcardAdditionalOptions,
        items: &mut Vec<Item<'a>>,
    ) -> Result<()> {
        let span = self.span(options.wildcard_token.0.span);
        if options.opt_alias.is_some() {
            return Err(unsupported("* AS", span));
        }
        let columns = self.starred(starred, span)?;
        let first = items.len();
        items.extend(self.without_left_out(columns, |it| &it.name, options)?);
        for element in options.opt_replace.iter().flat_map(|it| &it.items) {
            let name = &element.column_name;
            let replaced = self.named_item(&mut items[first..], &name.value, name.span, "REPLACE");
            let replaced = replaced?;
            replaced.source = ItemSource::Written(&element.expr);
            replaced.name.clone_from(&name.value);
        }
        // Names mean the columns as they were before.
        let mut renamed = Vec::new();
        for IdentWithAlias { ident, alias } in renames(options) {
            self.named_item(&mut items[first..], &ident.value, ident.span, "RENAME")?;
            let is_old = |it: &Item<'_>| it.name.eq_ignore_ascii_case(&ident.value);
            renamed.push((items[first..].iter().position(is_old), &alias.value));
        }
        for (position, alias) in renamed {
            if let Some(item) = position.and_then(|it| items.get_mut(first + it)) {
                item.name.clone_from(alias);
            }
        }
        Ok(())
    }

    fn named_item<'i>(
        &self,
        items: &'i mut [Item<'a>],
        name: &str,
        lines: Lines,
        what: &str,
    ) -> Result<&'i mut Item<'a>> {
        items.iter_mut().find(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let message = format!("no such column in {what}: {name}");
            Error::invalid_query(message).span(self.span(lines))
        })
    }

    /// The columns of a relation, or the fields of a row.
    fn starred(&self, starred: &Starred<'_>, span: Option<Span>) -> Result<Vec<Item<'a>>> {
        let items = |columns: Vec<&ScopeColumn>| {
            columns.into_iter().map(|it| column_item(it, span)).collect()
        };
        let field = |(name, expr)| Item { name, source: ItemSource::Bound(expr) };
        let fields = |row: &Expr| Ok(self.all_fields(row)?.into_iter().map(field).collect());
        let name = match starred {
            Starred::All => return self.columns_of(None, span).map(items),
            Starred::Row(row) => return fields(row),
            Starred::Name(name) => name,
        };
        if self.scope()?.has_relation(&crate::parse::dotted(name)) {
            return self.columns_of(Some(name), span).map(items);
        }
        let parts: Vec<Ident> = name.0.iter().filter_map(|it| it.as_ident().cloned()).collect();
        match self.named_row(&parts, self.span(name.span()))? {
            Some(row) => fields(&row),
            // The error says which relations there are.
            None => self.columns_of(Some(name), span).map(items),
        }
    }

    /// What a star stands for, without what it leaves out by name.
    fn without_left_out<T>(
        &self,
        mut columns: Vec<T>,
        name_of: impl Fn(&T) -> &str,
        options: &WildcardAdditionalOptions,
    ) -> Result<Vec<T>> {
        let span = self.span(options.wildcard_token.0.span);
        for name in excluded(options) {
            let before = columns.len();
            columns.retain(|it| !name_of(it).eq_ignore_ascii_case(&name.0));
            if columns.len() == before {
                let message = format!("no such column in EXCLUDE: {}", name.0);
                return Err(Error::invalid_query(message).span(self.span(name.1).or(span)));
            }
        }
        if let Some(like) = &options.opt_ilike {
            let (operator, is_negated, pattern) = star_pattern(&like.pattern);
            let regex = match operator {
                StarOperator::Like | StarOperator::ILike => like_pattern(pattern),
                StarOperator::SimilarTo => format!("(?s)^(?:{pattern})$"),
            };
            let ignores_case = operator == StarOperator::ILike;
            let regex = RegexBuilder::new(&regex).case_insensitive(ignores_case).build();
            let regex = regex.map_err(|it| invalid_pattern(&it, span))?;
            columns.retain(|it| regex.is_match(name_of(it)) != is_negated);
            if columns.is_empty() {
                let message = format!("* with a pattern that no column matches: {pattern}");
                return Err(Error::invalid_query(message).span(span));
            }
        }
        Ok(columns)
    }

    /// All columns in sight, or those of a relation.
    fn columns_of(
        &self,
        relation: Option<&ObjectName>,
        span: Option<Span>,
    ) -> Result<Vec<&ScopeColumn>> {
        let scope: &Scope = self.scope()?;
        let columns: Vec<&ScopeColumn> = match relation {
            None => scope.plain().collect(),
            Some(name) => {
                let dotted = crate::parse::dotted(name);
                let columns: Vec<_> = scope.columns.iter().filter(|it| it.is_of(&dotted)).collect();
                if columns.is_empty() {
                    return Err(self.no_relation(&dotted, scope, self.span(name.span())));
                }
                columns
            }
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("* without FROM").span(span));
        }
        Ok(columns)
    }

    /// `COLUMNS(...)`: the column that the expression is being bound for.
    pub(super) fn columns_call(
        &mut self,
        function: &'a Function,
        span: Option<Span>,
    ) -> Result<Expr> {
        let columns = match matching_lambda(function) {
            Some(lambda) => self.columns_matching(lambda, span)?,
            None => self.columns_meant(function, span)?,
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("COLUMNS that no column matches").span(span));
        }
        let Some(choices) = &mut self.choices else {
            let message = "COLUMNS may stand in the SELECT list, in WHERE, HAVING and QUALIFY";
            return Err(Error::invalid_query(message).span(span));
        };
        if choices.columns.is_empty() {
            choices.columns = columns.clone();
        }
        if choices.columns.len() != columns.len() {
            let message = "two COLUMNS in an expression stand for different numbers of columns";
            return Err(Error::invalid_query(message).span(span));
        }
        let column = columns.get(choices.at);
        let column = column.ok_or_else(|| Error::internal("COLUMNS beyond its columns"))?;
        Ok(column_expr(column, span))
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

    fn columns_meant(&self, function: &Function, span: Option<Span>) -> Result<Vec<Column>> {
        let args = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        let [FunctionArg::Unnamed(arg)] = args else {
            return Err(Error::invalid_query("COLUMNS takes one argument").span(span));
        };
        let columns = match arg {
            FunctionArgExpr::Wildcard => self.columns_of(None, span)?,
            FunctionArgExpr::QualifiedWildcard(name) => self.columns_of(Some(name), span)?,
            FunctionArgExpr::WildcardWithOptions(options) => {
                if options.opt_replace.is_some() || options.opt_rename.is_some() {
                    return Err(unsupported("REPLACE and RENAME in COLUMNS", span));
                }
                let columns = self.columns_of(None, span)?;
                self.without_left_out(columns, |it| &it.column.name, options)?
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
        Ok(columns.into_iter().map(|it| it.column.clone()).collect())
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
            bound.push((choices.columns.get(choices.at).cloned(), made));
            choices.at += 1;
            if choices.at >= choices.columns.len() {
                break Ok(());
            }
        };
        self.choices = outer;
        result.map(|()| bound)
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

pub(super) fn column_item<'a>(column: &ScopeColumn, span: Option<Span>) -> Item<'a> {
    let source = ItemSource::Bound(column_expr(&column.column, span));
    Item { name: column.column.name.clone(), source }
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

fn invalid_pattern(error: &regex::Error, span: Option<Span>) -> Error {
    // The last line says what is wrong, those before where.
    let text = error.to_string();
    let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Error::invalid_query(format!("invalid pattern of column names: {why}")).span(span)
}

/// The regular expression of a LIKE pattern.
fn like_pattern(pattern: &str) -> String {
    let mut regex = String::from("(?s)^");
    for it in pattern.chars() {
        match it {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    regex
}

fn renames(options: &WildcardAdditionalOptions) -> &[IdentWithAlias] {
    match &options.opt_rename {
        Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
        Some(RenameSelectItem::Multiple(several)) => several,
        None => &[],
    }
}

/// The names of EXCLUDE or EXCEPT, with their places.
fn excluded(options: &WildcardAdditionalOptions) -> Vec<(String, Lines)> {
    let mut names = Vec::new();
    let named = |it: &ObjectName| (crate::parse::dotted(it), it.span());
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => names.push(named(name)),
        Some(ExcludeSelectItem::Multiple(several)) => names.extend(several.iter().map(named)),
        None => {}
    }
    if let Some(except) = &options.opt_except {
        let idents = std::iter::once(&except.first_element).chain(&except.additional_elements);
        names.extend(idents.map(|it| (it.value.clone(), it.span)));
    }
    names
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
