//! FROM: tables, files, views, common table expressions and subqueries.

use super::{
    Binder, Bound, Clause, Shared,
    json::JSON_TABLES,
    scope::Scope,
    unnest::{TableCall, generator_kind},
    unsupported,
};
use crate::{
    Dialect,
    catalog::{Home, Relation},
    memory::memory_bytes,
    parse::{self, ROW_ID},
    stack,
};
use sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, Query, Spanned, TableAlias, TableFactor,
    TableFunctionArgs, TableWithJoins,
};
use std::{path::Path, sync::Arc};
use volley_connector::Table;
use volley_error::{Error, Result, Span};
use volley_logical::{JoinKind, NamedTable, Plan, TableRef};
use volley_types::Type;

/// Endings by which a double-quoted name is a file.
const FILE_ENDINGS: [&str; 4] = [".parquet", ".csv", ".json", ".ndjson"];

impl<'a> Binder<'a> {
    /// All of FROM: the product of its items; one row of no columns when there is none.
    pub(super) fn from_clause(&mut self, items: &'a [TableWithJoins]) -> Result<(Plan, Scope)> {
        let Some((first, rest)) = items.split_first() else {
            return Ok((Plan::one_row(), Scope::default()));
        };
        let outer = std::mem::replace(&mut self.from_level, self.levels.len());
        let first = self.joined(first)?;
        let product = self.product(first, rest);
        self.from_level = outer;
        product
    }

    /// The product of tables and more items of FROM.
    fn product(
        &mut self,
        (mut plan, mut scope): (Plan, Scope),
        rest: &'a [TableWithJoins],
    ) -> Result<(Plan, Scope)> {
        if rest.len() > self.shared.settings.depth_max {
            return Err(Error::invalid_query("nested too deeply: tables in FROM"));
        }
        for item in rest {
            let span = self.span(item.relation.span());
            let ((right, right_scope), level) =
                self.with_level(scope, Clause::From, |it| it.joined(item))?;
            scope = level.scope;
            scope.append(right_scope).map_err(|it| it.span(span))?;
            plan = Plan::Join {
                left: Box::new(plan),
                right: Box::new(right),
                kind: JoinKind::Inner,
                conditions: Vec::new(),
                null_aware: false,
                mark: None,
                lateral: level.referenced,
            };
        }
        Ok((plan, scope))
    }

    /// The product of the table that a statement changes and what USING or FROM adds to it.
    pub(super) fn with_tables(
        &mut self,
        target: (Plan, Scope),
        items: &'a [TableWithJoins],
    ) -> Result<(Plan, Scope)> {
        let outer = std::mem::replace(&mut self.from_level, self.levels.len());
        let product = self.product(target, items);
        self.from_level = outer;
        product
    }

    /// A table and what is joined to it.
    pub(super) fn joined(&mut self, tables: &'a TableWithJoins) -> Result<(Plan, Scope)> {
        let (mut plan, mut scope) = self.factor(&tables.relation)?;
        if tables.joins.len() > self.shared.settings.depth_max {
            return Err(Error::invalid_query("nested too deeply: joins in FROM"));
        }
        for join in &tables.joins {
            let (right, level) = self.with_level(scope, Clause::From, |it| {
                match (&join.join_operator, &join.relation) {
                    (
                        JoinOperator::CrossApply | JoinOperator::OuterApply,
                        TableFactor::Derived { subquery, alias, sample: None, .. },
                    ) => {
                        let bound = it.derived(subquery, true)?;
                        it.aliased(bound, alias.as_ref(), ("", ""))
                    }
                    _ => it.factor(&join.relation),
                }
            })?;
            let left = (plan, level.scope);
            let joined = match &join.join_operator {
                // As tokens say it.
                JoinOperator::StraightJoin(JoinConstraint::None) if join.global => {
                    self.positional_join(left, right, level.referenced)
                }
                operator => self.join(operator, left, right, level.referenced),
            };
            let span = || self.span(join.relation.span());
            (plan, scope) = joined.map_err(|it| it.span(span()))?;
        }
        Ok((plan, scope))
    }

    pub(super) fn factor(&mut self, factor: &'a TableFactor) -> Result<(Plan, Scope)> {
        self.deeper(|_| None, |it| it.factor_here(factor))
    }

    fn factor_here(&mut self, factor: &'a TableFactor) -> Result<(Plan, Scope)> {
        let span = self.span(factor.span());
        if let Some((plan, scope)) = self.rows_of_call(factor, span)? {
            let sample = match factor {
                TableFactor::Table { sample, .. } => sample.as_ref(),
                _ => None,
            };
            return Ok((self.table_sample(plan, sample)?, scope));
        }
        match factor {
            TableFactor::Table { name, alias, args, sample, .. } => {
                if let Some(what) = unsupported_part(factor) {
                    return Err(unsupported(what, span));
                }
                let (plan, scope) = self.named(name, alias.as_ref(), args.as_ref())?;
                Ok((self.table_sample(plan, sample.as_ref())?, scope))
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                // DuckDB's users need not say LATERAL.
                let is_lateral = *lateral || !self.shared.is_presto();
                let bound = self.derived(subquery, is_lateral)?;
                let plan = self.table_sample(bound.plan, sample.as_ref())?;
                self.aliased(Bound { plan, ..bound }, alias.as_ref(), ("", ""))
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let (plan, scope) = self.joined(table_with_joins)?;
                match alias {
                    None => Ok((plan, scope)),
                    Some(_) => {
                        let columns = scope.plain().map(|it| it.column.clone()).collect();
                        self.aliased(Bound { plan, columns }, alias.as_ref(), ("", ""))
                    }
                }
            }
            TableFactor::Function { name, .. } => {
                Err(self.no_table_function(&parse::dotted(name), span))
            }
            TableFactor::UNNEST { .. } => Err(unsupported("UNNEST in FROM", span)),
            TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => self.pivot(factor),
            TableFactor::UnpivotExpr { .. } => Err(unsupported("UNPIVOT of an object", span)),
            TableFactor::MatchRecognize { .. } => Err(unsupported("MATCH_RECOGNIZE", span)),
            TableFactor::TableFunction { .. } => Err(unsupported("TABLE(...) in FROM", span)),
            TableFactor::JsonTable { .. } => Err(unsupported("JSON_TABLE", span)),
            TableFactor::XmlTable { .. } => Err(unsupported("XMLTABLE", span)),
            _ => Err(unsupported("this form of a table in FROM", span)),
        }
    }

    /// What UNNEST, a series or a function of JSON in FROM makes, if it is one.
    fn rows_of_call(
        &mut self,
        factor: &'a TableFactor,
        span: Option<Span>,
    ) -> Result<Option<(Plan, Scope)>> {
        let Some((name, call)) = table_call(factor, span) else { return Ok(None) };
        if let Some(kind) = generator_kind(&name) {
            return self.generated(kind, call).map(Some);
        }
        match JSON_TABLES.into_iter().find(|it| it.eq_ignore_ascii_case(&name)) {
            Some(name) => self.json_rows(name, call).map(Some),
            None => Ok(None),
        }
    }

    /// A subquery in FROM. It sees what is to its left only if it is LATERAL.
    pub(super) fn derived(&mut self, query: &'a Query, is_lateral: bool) -> Result<Bound> {
        let from = self.from_level;
        let set_hidden = |it: &mut Self, hidden: bool| {
            it.levels.iter_mut().skip(from).for_each(|it| it.hidden = hidden);
        };
        set_hidden(self, !is_lateral);
        let bound = self.query(query)?;
        set_hidden(self, false);
        Ok(bound)
    }

    pub(super) fn named(
        &mut self,
        name: &'a ObjectName,
        alias: Option<&'a TableAlias>,
        args: Option<&'a TableFunctionArgs>,
    ) -> Result<(Plan, Scope)> {
        let literal = || self.view_span.or_else(|| self.source.string(path_of(name)?));
        let span = self.span(name.span()).or_else(literal);
        let dotted = parse::dotted(name);
        if let Some(args) = args {
            if let Some(bound) = self.table_macro(name, args, span)? {
                return self.aliased(bound, alias, (last_part(name), &dotted));
            }
            let bound = self.table_function(name, args, span)?;
            return self.aliased(bound, alias, (last_part(name), &dotted));
        }
        if let Some(path) = path_of(name) {
            let bound = self.file(path, span)?;
            return self.aliased(bound, alias, (file_stem(path), file_stem(path)));
        }
        let shown = alias.map_or(last_part(name), |it| &it.name.value);
        let mut bound = self.table(&dotted, span)?;
        let (mut row_ids, mut database) = (None, None);
        if let Plan::Scan { name, table, columns, .. } = &mut bound.plan {
            if let (TableRef::Stored { database: of_table, .. }, None) = (&*table, alias) {
                database = Some(of_table.clone());
            }
            shown.clone_into(name);
            if self.names_row_ids
                && let Some(with_ids) = self.with_row_ids(table)?
            {
                let column = self.column(ROW_ID, Type::BigInt);
                columns.push((column.clone(), columns.len()));
                *table = with_ids.reference;
                row_ids = Some(column);
            }
        }
        let (plan, mut scope) = self.aliased(bound, alias, (last_part(name), &dotted))?;
        if let Some(database) = database {
            scope = scope.in_database(&database);
        }
        Ok((plan, row_ids.into_iter().fold(scope, Scope::with_row_ids)))
    }

    /// The scope of a relation: under its alias, or its `(short, qualified)` name.
    pub(super) fn aliased(
        &self,
        bound: Bound,
        alias: Option<&TableAlias>,
        (name, qualified): (&str, &str),
    ) -> Result<(Plan, Scope)> {
        let scope = match alias {
            None if name.is_empty() => Scope::of_columns(bound.columns),
            None => Scope::of_relation(name, qualified, bound.columns),
            Some(alias) => {
                let columns = self.rename(bound.columns, alias)?;
                Scope::of_relation(&alias.name.value, &alias.name.value, columns)
            }
        };
        Ok((bound.plan, scope))
    }

    /// A table, view or common table expression by its name.
    pub(super) fn table(&mut self, name: &str, span: Option<Span>) -> Result<Bound> {
        if let Some(bound) = self.cte_reference(name, span)? {
            return Ok(bound);
        }
        if let Some(bound) = self.recurring_reference(name) {
            return Ok(bound);
        }
        match self.shared.catalog.table(name).map_err(|it| it.span(span))? {
            Some(Relation::Table(table)) => Ok(self.scan(&table, name)),
            Some(Relation::View { sql, columns, dialect, home }) => {
                let mut bound = self.view(name, &sql, (dialect, &home), span)?;
                for (column, name) in bound.columns.iter_mut().zip(&columns) {
                    column.name.clone_from(name);
                }
                Ok(bound)
            }
            None if is_file_name(name) => self.file(name, span),
            None => Err(self.no_table(name, span)),
        }
    }

    /// The error that there is no such table.
    pub(super) fn no_table(&self, name: &str, span: Option<Span>) -> Error {
        let mut names = self.shared.catalog.names();
        names.extend(self.ctes.iter().map(|it| it.name.clone()));
        let error = Error::invalid_query(format!("no such table: {name}")).span(span);
        match volley_types::nearest_name(name, names.iter().map(String::as_str)) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error,
        }
    }

    fn file(&self, path: &str, span: Option<Span>) -> Result<Bound> {
        let table = self.shared.catalog.file(path).map_err(|it| it.span(span))?;
        Ok(self.scan_external(table, path))
    }

    /// A scan of a table that is in no database.
    pub(super) fn scan_external(&self, table: Arc<dyn Table>, name: &str) -> Bound {
        let reference = self.shared.catalog.add_external(Arc::clone(&table));
        self.scan(&NamedTable { reference, table }, name)
    }

    /// The table with the ids of its rows behind its last column, if its rows have ids.
    pub(super) fn with_row_ids(&self, reference: &TableRef) -> Result<Option<NamedTable>> {
        let table = self.shared.catalog.resolve(reference)?;
        let named = NamedTable { reference: reference.clone(), table };
        Ok(match (reference, named.table.as_stored()) {
            (TableRef::Stored { .. }, _) => named.with_row_ids(),
            (TableRef::External(_), Some(stored)) => {
                let table = stored.with_row_ids;
                let reference = self.shared.catalog.add_external(Arc::clone(&table));
                Some(NamedTable { reference, table })
            }
            (TableRef::External(_), None) => None,
        })
    }

    pub(super) fn scan(&self, named: &NamedTable, name: &str) -> Bound {
        let fields = named.table.schema().fields.iter();
        let columns = fields.map(|it| self.column(it.name.clone(), it.data_type.clone()));
        let columns: Vec<_> = columns.collect();
        let positions = columns.iter().cloned().enumerate().map(|(index, it)| (it, index));
        let positions = positions.collect();
        let (name, table) = (name.to_owned(), named.reference.clone());
        let plan = Plan::Scan { table, name, columns: positions, filters: Vec::new() };
        Bound { plan, columns }
    }

    pub(super) fn view(
        &mut self,
        name: &str,
        sql: &str,
        (dialect, home): (Dialect, &Home),
        span: Option<Span>,
    ) -> Result<Bound> {
        if self.views.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            let message = format!("view refers to itself: {name}");
            return Err(Error::invalid_query(message).span(span));
        }
        self.shared.catalog.take_memory(memory_bytes(sql))?;
        let mut views = self.views.clone();
        views.push(name.to_owned());
        let bound = stack::with_room(sql.len(), || {
            let (query, source) = parse::parse_query(sql)?;
            let within = self.shared.catalog.within(home);
            let catalog = within.as_deref().unwrap_or(self.shared.catalog);
            let shared = Shared { catalog, ..self.shared }.with_dialect(dialect);
            let mut binder = Binder::new(shared, &source);
            binder.view_span = self.view_span.or(span).or(Some(Span::default()));
            binder.views = views;
            binder.depth = self.depth;
            binder.query(&query)
        });
        bound.map_err(|it| in_view(it, name, span))
    }
}

/// An error in the text of a view, pointing at the view's name.
fn in_view(error: Error, name: &str, span: Option<Span>) -> Error {
    let outside = Error::new(error.kind(), error.message()).span(span).at("view", name);
    match error.hint_text() {
        Some(hint) => outside.hint(hint),
        None => outside,
    }
}

/// The path, when the name is in single quotes.
fn path_of(name: &ObjectName) -> Option<&str> {
    match name.0.as_slice() {
        [part] => match part.as_ident()? {
            Ident { value, quote_style: Some('\''), .. } => Some(value),
            _ => None,
        },
        _ => None,
    }
}

fn is_file_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    FILE_ENDINGS.iter().any(|it| lower.ends_with(it))
}

fn last_part(name: &ObjectName) -> &str {
    let ident = name.0.last().and_then(|it| it.as_ident());
    ident.map_or("", |it| it.value.as_str())
}

/// The name and the call of a function in FROM, if it is one.
fn table_call(factor: &TableFactor, span: Option<Span>) -> Option<(String, TableCall<'_>)> {
    let (name, args, alias, with_ordinality) = match factor {
        TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            (name, args.args.as_slice(), alias, *with_ordinality)
        }
        TableFactor::Function { name, alias, args, with_ordinality, .. } => {
            (name, args.as_slice(), alias, *with_ordinality)
        }
        _ => return None,
    };
    let call = TableCall { args, alias: alias.as_ref(), with_ordinality, span };
    Some((parse::dotted(name), call))
}

/// The part of a table in FROM that is not supported, if it has one.
fn unsupported_part(factor: &TableFactor) -> Option<&'static str> {
    let TableFactor::Table {
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        index_hints,
        ..
    } = factor
    else {
        return None;
    };
    let parts = [
        (version.is_some(), "a version of a table"),
        (*with_ordinality, "WITH ORDINALITY"),
        (!with_hints.is_empty(), "hints WITH (...) of a table"),
        (!index_hints.is_empty(), "index hints"),
        (!partitions.is_empty(), "PARTITION of a table"),
        (json_path.is_some(), "JSON access by a colon"),
    ];
    parts.into_iter().find(|it| it.0).map(|it| it.1)
}

fn file_stem(path: &str) -> &str {
    Path::new(path).file_stem().and_then(|it| it.to_str()).unwrap_or(path)
}
