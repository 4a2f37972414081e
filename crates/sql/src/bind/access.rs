//! Names of columns, fields of rows, elements of lists and maps.

use super::{
    Binder, Clause,
    expr::without_parentheses,
    function::row_of,
    inspect,
    query::constant,
    scope::{Found, Scope, dotted},
    select::column_expr,
    unsupported,
};
use crate::{Dialect, dialect::COLUMN_BY_POSITION, parse::OPEN_END};
use sqlparser::ast::{self, AccessExpr, Ident, Spanned, Subscript};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, SpecialForm};
use volley_types::{Field, Type, Value, custom::Json};

/// The digits of `#1`.
fn position_of(name: &Ident) -> Option<&str> {
    name.value.strip_prefix(COLUMN_BY_POSITION).filter(|_| name.quote_style.is_none())
}

/// The most aliases replaced by what they stand for in one text: aliases of aliases multiply.
const ALIAS_USES_MAX: usize = 20_000;

/// More parts than the name of any relation has.
const RELATION_PARTS_MAX: usize = 64;

impl<'a> Binder<'a> {
    /// A name of one or more parts: a column, maybe qualified, maybe followed by fields.
    pub(super) fn identifier(&mut self, parts: &'a [Ident]) -> Result<Expr> {
        let spans = parts.iter().filter_map(|it| self.span(it.span));
        let span = spans.reduce(Span::to);
        if let Some(parameter) = self.parameter(parts, span) {
            return self.fields(parameter, &parts[1..]);
        }
        if let [name] = parts
            && let Some(position) = position_of(name)
        {
            return self.column_at(position, span);
        }
        let Some(innermost) = self.levels.len().checked_sub(1) else {
            return Err(self.no_column(parts, span));
        };
        for level in (0..=innermost).rev() {
            if self.levels[level].hidden {
                continue;
            }
            // In Presto expressions of ORDER BY see the outputs first, but not in aggregates.
            if level == innermost
                && self.shared.is_presto()
                && matches!(self.levels[level].clause, Clause::OrderBy)
                && !self.levels[level].in_aggregate
                && let Some(bound) = self.alias(parts)?
            {
                return Ok(bound.at(span));
            }
            if let Some((column, fields)) = self.find(level, parts, span)? {
                if level < innermost {
                    self.levels[level].referenced = true;
                }
                return self.fields(column_expr(&column, span), &parts[fields..]);
            }
            if level == innermost
                && let Some(bound) = self.alias(parts)?
            {
                return Ok(bound.at(span));
            }
        }
        for level in (0..innermost).rev().filter(|_| parts.len() == 1) {
            if !self.levels[level].hidden
                && let Some(bound) = self.outer_alias(level, parts)?
            {
                return Ok(bound.at(span));
            }
        }
        let action = match parts {
            [name] => self.merge_action(&name.value, span),
            _ => None,
        };
        let found = match action {
            Some(action) => Some(action),
            None => self.whole_row(parts, span),
        };
        let found = found.or_else(|| self.session_name(parts, span));
        found.ok_or_else(|| self.no_column(parts, span))
    }

    /// `#1`: a column of FROM, counted from 1.
    fn column_at(&self, position: &str, span: Option<Span>) -> Result<Expr> {
        let columns: Vec<_> = self.levels.last().iter().flat_map(|it| it.scope.plain()).collect();
        let index = position.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let Some(column) = index.and_then(|it| columns.get(it)) else {
            let message = format!("FROM has {} columns, none at #{position}", columns.len());
            return Err(Error::invalid_query(message).span(span));
        };
        Ok(column_expr(&column.column, span))
    }

    /// The row that the name of a table in FROM means, where no column has its name.
    fn whole_row(&mut self, parts: &[Ident], span: Option<Span>) -> Option<Expr> {
        let [name] = parts else { return None };
        let innermost = self.levels.len().checked_sub(1)?;
        (0..=innermost).rev().find_map(|level| self.whole_row_of(level, &name.value, span))
    }

    /// The row of a table in FROM of a query further out.
    pub(super) fn outer_row(&mut self, name: &str, span: Option<Span>) -> Option<Expr> {
        let innermost = self.levels.len().checked_sub(1)?;
        (0..innermost).rev().find_map(|level| self.whole_row_of(level, name, span))
    }

    fn whole_row_of(&mut self, level: usize, name: &str, span: Option<Span>) -> Option<Expr> {
        let is_outer = level + 1 < self.levels.len();
        let level = self.levels.get_mut(level).filter(|it| !it.hidden)?;
        let columns = level.scope.columns.iter().filter(|it| it.is_of(name));
        let columns: Vec<Column> = columns.map(|it| it.column.clone()).collect();
        if columns.is_empty() {
            return None;
        }
        level.referenced |= is_outer;
        let names = columns.iter().map(|it| it.name.clone()).collect();
        let values = columns.iter().map(|it| column_expr(it, span)).collect();
        Some(row_of(values, names, span))
    }

    /// A column of one level, and how many parts of the name it takes.
    fn find(
        &self,
        level: usize,
        parts: &[Ident],
        span: Option<Span>,
    ) -> Result<Option<(Column, usize)>> {
        let Some(level) = self.levels.get(level) else { return Ok(None) };
        for taken in (2..=parts.len().min(RELATION_PARTS_MAX + 1)).rev() {
            let relation = dotted(&parts[..taken - 1]);
            match level.scope.find_in(&relation, &parts[taken - 1].value) {
                Found::One(column) => return Ok(Some((column, taken))),
                Found::Several(names) => return Err(ambiguous(&dotted(parts), &names, span)),
                Found::None => {}
            }
        }
        let Some(first) = parts.first() else { return Ok(None) };
        match level.scope.find(&first.value) {
            Found::One(column) if parts.len() == 1 || is_row(&column) => Ok(Some((column, 1))),
            Found::One(_) => Ok(None),
            Found::Several(names) => Err(ambiguous(&first.value, &names, span)),
            Found::None => Ok(None),
        }
    }

    /// What an alias of the SELECT list stands for.
    fn alias(&mut self, parts: &'a [Ident]) -> Result<Option<Expr>> {
        let [ident] = parts else { return Ok(None) };
        let uses = self.alias_uses;
        let level = self.level()?;
        let mut aliases = level.aliases.iter().enumerate();
        let found = aliases.find(|(index, (alias, _))| {
            alias.eq_ignore_ascii_case(&ident.value) && !level.aliases_open.contains(index)
        });
        let Some((index, (_, expr))) = found else { return Ok(None) };
        let expr = *expr;
        if uses >= ALIAS_USES_MAX {
            let message = format!("alias stands for too many others: {}", ident.value);
            return Err(Error::invalid_query(message).span(self.span(ident.span)));
        }
        level.aliases_open.push(index);
        self.alias_uses = uses + 1;
        // What an alias stands for does not see the parameters around its use.
        let lambdas = std::mem::take(&mut self.lambdas);
        let bound = self.expr(expr);
        self.lambdas = lambdas;
        self.level()?.aliases_open.pop();
        bound.map(Some)
    }

    /// What an alias of the SELECT list of a query further out stands for.
    fn outer_alias(&mut self, level: usize, parts: &'a [Ident]) -> Result<Option<Expr>> {
        let inner = self.levels.split_off(level + 1);
        let bound = self.alias(parts);
        if let (Ok(Some(_)), Ok(level)) = (&bound, self.level()) {
            level.referenced = true;
        }
        self.levels.extend(inner);
        bound
    }

    /// Fields of fields of a row.
    fn fields(&self, mut expr: Expr, names: &[Ident]) -> Result<Expr> {
        for name in names {
            expr = self.field(expr, &name.value, self.span(name.span))?;
        }
        Ok(expr)
    }

    fn field(&self, row: Expr, name: &str, name_span: Option<Span>) -> Result<Expr> {
        let span = row.span.into_iter().chain(name_span).reduce(Span::to);
        if row.data_type == Json::data_type() && !self.shared.is_presto() {
            let quoted = format!("$.\"{name}\"");
            let path = Expr::constant(Value::text(quoted), Type::Varchar).at(name_span);
            return self.call("json_extract", vec![row, path], span);
        }
        let Type::Row(fields) = &row.data_type else {
            let message = format!("a value of type {} has no field {name}", row.data_type);
            return Err(Error::invalid_query(message).span(span));
        };
        let Some(field) = fields.iter().find(|it| it.name.eq_ignore_ascii_case(name)) else {
            let names = fields.iter().map(|it| it.name.as_str());
            let error = Error::invalid_query(format!("no such field: {name}"));
            let error = match volley_types::nearest_name(name, names) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            };
            return Err(error.span(name_span.or(span)));
        };
        let data_type = field.data_type.clone();
        let name = Expr::constant(Value::text(&field.name), Type::Varchar).at(name_span);
        Ok(Expr::call("struct_extract", vec![row, name], data_type).at(span))
    }

    /// The field at a position from 1.
    fn field_at(&self, row: Expr, position: i128, position_span: Option<Span>) -> Result<Expr> {
        let span = row.span.into_iter().chain(position_span).reduce(Span::to);
        let Type::Row(fields) = &row.data_type else {
            let message = format!("a value of type {} has no fields", row.data_type);
            return Err(Error::invalid_query(message).span(span));
        };
        let index = usize::try_from(position - 1).ok();
        let Some((index, field)) = index.and_then(|it| Some((it, fields.get(it)?))) else {
            let count = fields.len();
            let message = format!("position of a field must be 1 to {count}: {position}");
            return Err(Error::invalid_query(message).span(position_span.or(span)));
        };
        let data_type = field.data_type.clone();
        let position = Expr::constant(Value::BigInt(index as i64 + 1), Type::BigInt);
        Ok(Expr::call("struct_extract", vec![row, position.at(position_span)], data_type).at(span))
    }

    /// The fields of a row, under their names.
    pub(super) fn all_fields(&self, row: &Expr) -> Result<Vec<(String, Expr)>> {
        let Type::Row(fields) = &row.data_type else {
            let message = format!("a value of type {} has no fields", row.data_type);
            return Err(Error::invalid_query(message).span(row.span));
        };
        let field = |(index, field): (usize, &Field)| {
            let name = match field.name.as_str() {
                "" => format!("element{}", index + 1),
                name => name.to_owned(),
            };
            Ok((name, self.field_at(row.clone(), index as i128 + 1, row.span)?))
        };
        fields.iter().enumerate().map(field).collect()
    }

    /// The row that a name before `.*` means, when it is a column or a field.
    pub(super) fn named_row(&self, parts: &[Ident], span: Option<Span>) -> Result<Option<Expr>> {
        let Some(innermost) = self.levels.len().checked_sub(1) else { return Ok(None) };
        match self.find(innermost, parts, span)? {
            Some((column, taken)) => {
                self.fields(column_expr(&column, span), &parts[taken..]).map(Some)
            }
            None => Ok(None),
        }
    }

    /// `struct_extract(row, 'name')` or, by position, `struct_extract(row, 1)`.
    pub(super) fn struct_extract(&self, args: Vec<Expr>, span: Option<Span>) -> Result<Expr> {
        let [row, name] = <[Expr; 2]>::try_from(args)
            .map_err(|_| Error::invalid_query("struct_extract takes (row, name)").span(span))?;
        match (inspect::string_literal(&name), constant(&name)) {
            (Some(text), _) => self.field(row, text, name.span),
            (None, Some(Some(position))) => self.field_at(row, position, name.span),
            _ => Err(Error::invalid_query("field name must be a string literal").span(span)),
        }
    }

    /// `root.field`, `root[index]` and chains of them.
    pub(super) fn access(&mut self, root: &'a ast::Expr, chain: &'a [AccessExpr]) -> Result<Expr> {
        let mut expr = self.expr(root)?;
        for access in chain {
            expr = match access {
                AccessExpr::Dot(field) => match without_parentheses(field) {
                    ast::Expr::Identifier(ident) => {
                        self.field(expr, &ident.value, self.span(ident.span))?
                    }
                    other => {
                        let span = self.span(other.span());
                        return Err(unsupported("this form of field access", span));
                    }
                },
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.expr(index)?;
                    self.element(expr, index)?
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                    self.slice(expr, [lower_bound.as_ref(), upper_bound.as_ref()], stride.as_ref())?
                }
            };
        }
        Ok(expr)
    }

    /// `list[begin:end:step]`; what is left out, or an end written `-`, is an end of the list.
    fn slice(
        &mut self,
        list: Expr,
        bounds: [Option<&'a ast::Expr>; 2],
        stride: Option<&'a ast::Expr>,
    ) -> Result<Expr> {
        let span = list.span;
        let is_text = matches!(list.data_type, Type::Varchar | Type::Varbinary);
        let is_list =
            matches!(list.data_type, Type::Array(_) | Type::FixedArray(_) | Type::Unknown);
        if !is_text && !is_list {
            let message = format!("{} has no slices", list.data_type);
            return Err(Error::invalid_query(message).span(span));
        }
        if is_text && stride.is_some() {
            let message = format!("slices of {} have no step", list.data_type);
            return Err(Error::invalid_query(message).span(span));
        }
        let list = match list.data_type {
            Type::Unknown => self.coerce(list, &Type::array(Type::Unknown))?,
            _ => list,
        };
        let stride = stride.map(|it| self.expr(it)).transpose()?;
        let mut args = vec![list];
        for (bound, forward) in bounds.into_iter().zip([1, -1]) {
            args.push(match bound.filter(|it| !is_open_end(it)) {
                Some(bound) => self.expr(bound)?,
                None => self.open_end(forward, stride.as_ref())?,
            });
        }
        args.extend(stride);
        self.call("array_slice", args, None)
    }

    /// An end of the list: the one at the index `forward`, or the other if the step is negative.
    fn open_end(&self, forward: i64, stride: Option<&Expr>) -> Result<Expr> {
        let end = |index: i64| Expr::constant(Value::BigInt(index), Type::BigInt);
        match stride.map(|it| (it, constant(it).flatten())) {
            None => Ok(end(forward)),
            Some((_, Some(step))) => Ok(end(if step < 0 { -forward } else { forward })),
            Some((stride, None)) => {
                let zero = Expr::constant(Value::BigInt(0), Type::BigInt);
                let is_backward = self.compare("lt", vec![stride.clone(), zero], stride.span)?;
                let ends = vec![is_backward, end(-forward), end(forward)];
                Ok(Expr::special(SpecialForm::Switch, ends, Type::BigInt).at(stride.span))
            }
        }
    }

    fn element(&self, collection: Expr, index: Expr) -> Result<Expr> {
        let span = collection.span.into_iter().chain(index.span).reduce(Span::to);
        if self.shared.is_presto()
            && !matches!(collection.data_type, Type::Row(_))
            && self.shared.names.check_name("subscript").is_ok()
        {
            return self.call("subscript", vec![collection, index], span);
        }
        match &collection.data_type {
            Type::Row(fields) => match (inspect::string_literal(&index), constant(&index)) {
                (Some(name), _) => self.field(collection, name, index.span),
                (None, Some(Some(position))) => self.field_at(collection, position, index.span),
                (None, _) => {
                    let error = Error::invalid_query("field of a row is not a literal");
                    let names: Vec<&str> = fields.iter().map(|it| it.name.as_str()).collect();
                    let names = format!("the fields are: {}", names.join(", "));
                    Err(error.hint(names).span(index.span.or(span)))
                }
            },
            Type::Map(_) | Type::Array(_) | Type::FixedArray(_) => {
                let name = match (self.shared.settings.dialect, &collection.data_type) {
                    (Dialect::Presto, _) => "subscript",
                    (Dialect::Volley, Type::Map(_)) => "element_at",
                    (Dialect::Volley, _) => "array_extract",
                };
                self.call(name, vec![collection, index], span)
            }
            Type::Unknown => Ok(Expr::constant(Value::Null, Type::Unknown).at(span)),
            Type::Varchar => {
                let one = Expr::constant(Value::BigInt(1), Type::BigInt);
                self.call("substring", vec![collection, index, one], span)
            }
            other if *other == Json::data_type() => {
                self.call("json_extract", vec![collection, index], span)
            }
            other => {
                let message = format!("a value of type {other} has no elements");
                Err(Error::invalid_query(message).span(span))
            }
        }
    }

    /// Whether the name is a column to the left of a subquery in FROM that is not LATERAL.
    fn is_to_the_left(&self, parts: &[Ident]) -> bool {
        let [relation @ .., name] = parts else { return false };
        let relation = dotted(relation);
        self.levels.iter().filter(|it| it.hidden).any(|level| {
            let found = match relation.as_str() {
                "" => level.scope.find(&name.value),
                relation => level.scope.find_in(relation, &name.value),
            };
            !matches!(found, Found::None)
        })
    }

    /// The error that there is no such column.
    fn no_column(&self, parts: &[Ident], span: Option<Span>) -> Error {
        if self.is_to_the_left(parts) {
            let error = Error::invalid_query(format!("no such column: {}", dotted(parts)));
            let hint = "a subquery in FROM must be LATERAL to use columns of tables before it";
            return error.hint(hint).span(span);
        }
        let visible = || self.levels.iter().rev().filter(|it| !it.hidden);
        let scopes = || visible().map(|it| &it.scope);
        if let [relation @ .., name] = parts
            && !relation.is_empty()
        {
            let relation = dotted(relation);
            let Some(scope) = scopes().find(|it| it.has_relation(&relation)) else {
                if let [column, field] = parts
                    && let Some(Found::One(column)) =
                        scopes().map(|it| it.find(&column.value)).next()
                {
                    let data_type = &column.data_type;
                    let message =
                        format!("a value of type {data_type} has no field {}", field.value);
                    return Error::invalid_query(message).span(span);
                }
                let relations: Vec<&str> = scopes().flat_map(Scope::relations).collect();
                let error = Error::invalid_query(format!("no such table in FROM: {relation}"));
                return hinted(error, &relation, &relations).span(span);
            };
            let names: Vec<&str> =
                scope.of_name(&relation).map(|it| it.column.name.as_str()).collect();
            let message = format!("no such column: {relation}.{}", name.value);
            return hinted(Error::invalid_query(message), &name.value, &names).span(span);
        }
        let name = dotted(parts);
        let names: Vec<&str> =
            scopes().flat_map(|it| it.plain()).map(|it| it.column.name.as_str()).collect();
        hinted(Error::invalid_query(format!("no such column: {name}")), &name, &names).span(span)
    }

    /// The error that `relation.*` names nothing in FROM.
    pub(super) fn no_relation(&self, name: &str, scope: &Scope, span: Option<Span>) -> Error {
        let error = Error::invalid_query(format!("no such table in FROM: {name}"));
        hinted(error, name, &scope.relations()).span(span)
    }
}

/// Whether it is the `-` of `x[begin:-:step]`.
fn is_open_end(bound: &ast::Expr) -> bool {
    matches!(bound, ast::Expr::Identifier(it) if it.value == OPEN_END && it.quote_style.is_none())
}

/// Whether values of the column have parts with names.
fn is_row(column: &Column) -> bool {
    matches!(column.data_type, Type::Row(_)) || column.data_type == Json::data_type()
}

fn hinted(error: Error, name: &str, names: &[&str]) -> Error {
    match volley_types::nearest_name(name, names.iter().copied()) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error,
    }
}

/// The error that a name may mean several columns.
pub(super) fn ambiguous(name: &str, candidates: &[String], span: Option<Span>) -> Error {
    let error = Error::invalid_query(format!("ambiguous column: {name}")).span(span);
    if let [first, rest @ ..] = candidates
        && rest.contains(first)
    {
        return error.hint(format!("several columns are called {first}: give them other names"));
    }
    error.hint(format!("it may be {}", candidates.join(" or ")))
}
