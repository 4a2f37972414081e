//! Statements.

use super::{Binder, Bound, unsupported};
use crate::{
    DropKind, Query, Relation, Statement,
    parse::{self, Command, CopySource, CreateView, Described},
};
use sqlparser::ast::{
    self, CreateTable, Ident, Insert, ObjectName, ObjectType, Spanned, Statement as Written,
    TableObject,
};
use std::{path::Path, sync::Arc};
use volley_connector::Table;
use volley_error::{Error, ErrorKind, Result};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Field, Schema, Type};

impl<'a> Binder<'a> {
    /// Binds a statement.
    pub(super) fn statement(&mut self, command: &'a Command) -> Result<Statement> {
        Ok(match command {
            Command::Sql(statement) => {
                let first_word = self.first_word;
                self.sql(statement).map_err(|it| match it.kind() {
                    ErrorKind::Unsupported => it.span(first_word),
                    _ => it,
                })?
            }
            Command::Explain { analyze, command } => {
                let statement = Box::new(self.statement(command)?);
                Statement::Explain { analyze: *analyze, statement }
            }
            Command::Describe(described) => self.describe(described)?,
            Command::CreateView(view) => self.create_view(view)?,
            Command::Copy { source, path, options } => self.copy(source, path, options)?,
            Command::Set { name, value } => {
                Statement::Set { name: name.clone(), value: value.clone() }
            }
            Command::Reset { name } => Statement::Reset { name: name.clone() },
            Command::ShowSetting { name } => Statement::ShowSetting { name: name.clone() },
            Command::ShowAll => Statement::ShowAll,
            Command::ShowTables => Statement::ShowTables,
            Command::ShowFunctions => Statement::ShowFunctions,
        })
    }

    fn sql(&mut self, statement: &'a Written) -> Result<Statement> {
        match statement {
            Written::Query(query) => {
                let bound = self.query(query)?;
                Ok(Statement::Query(bound.into()))
            }
            Written::CreateTable(create) => self.create_table(create),
            Written::Drop { object_type, if_exists, names, .. } => {
                let kind = match object_type {
                    ObjectType::Table => DropKind::Table,
                    ObjectType::View => DropKind::View,
                    other => return Err(unsupported(format!("DROP {other}"), None)),
                };
                let names = names.iter().map(parse::dotted).collect();
                Ok(Statement::Drop { kind, names, if_exists: *if_exists })
            }
            Written::Insert(insert) => self.insert(insert),
            Written::StartTransaction { .. } => Err(unsupported("BEGIN (transactions)", None)),
            Written::Commit { .. } => Err(unsupported("COMMIT (transactions)", None)),
            Written::Rollback { .. } => Err(unsupported("ROLLBACK (transactions)", None)),
            other => Err(unsupported(first_words(&other.to_string()), None)),
        }
    }

    fn create_table(&mut self, create: &'a CreateTable) -> Result<Statement> {
        let span = self.span(create.name.span());
        if create.external || create.like.is_some() || create.clone.is_some() {
            return Err(unsupported("this form of CREATE TABLE", span));
        }
        if !create.constraints.is_empty() {
            return Err(unsupported("constraints in CREATE TABLE", span));
        }
        let query = match &create.query {
            Some(query) => Some(self.created_rows(query, &create.columns)?),
            None => None,
        };
        let columns = match &query {
            Some(query) => query.schema(),
            None => self.created_columns(&create.columns)?,
        };
        if columns.is_empty() {
            return Err(Error::invalid_query("a table needs columns").span(span));
        }
        Ok(Statement::CreateTable {
            name: parse::dotted(&create.name),
            or_replace: create.or_replace,
            if_not_exists: create.if_not_exists,
            columns,
            query,
        })
    }

    /// The query of CREATE TABLE AS; columns without a type become INTEGER.
    fn created_rows(
        &mut self,
        query: &'a ast::Query,
        names: &'a [ast::ColumnDef],
    ) -> Result<Query> {
        let mut bound = self.query(query)?;
        if !names.is_empty() {
            if names.len() != bound.columns.len() {
                let message =
                    format!("query has {} columns but {} names", bound.columns.len(), names.len());
                return Err(Error::invalid_query(message).span(self.span(names[0].name.span)));
            }
            for (column, name) in bound.columns.iter_mut().zip(names) {
                column.name.clone_from(&name.name.value);
            }
        }
        check_names(bound.columns.iter().map(|it| it.name.as_str()))?;
        let types: Vec<Type> = bound.columns.iter().map(|it| known(&it.data_type)).collect();
        Ok(self.convert(bound, &types)?.into())
    }

    fn created_columns(&self, written: &'a [ast::ColumnDef]) -> Result<Schema> {
        let column = |it: &ast::ColumnDef| {
            let span = self.span(it.name.span);
            if let Some(option) = it.options.first() {
                return Err(unsupported(format!("the column option {}", option.option), span));
            }
            Ok(Field::new(it.name.value.clone(), self.data_type(&it.data_type, span)?))
        };
        let fields = written.iter().map(column).collect::<Result<Vec<_>>>()?;
        check_names(fields.iter().map(|it| it.name.as_str()))?;
        Ok(Schema::new(fields))
    }

    fn insert(&mut self, insert: &'a Insert) -> Result<Statement> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(unsupported("INSERT into something else than a table", None));
        };
        let span = self.span(name.span());
        if insert.on.is_some() || insert.returning.is_some() || insert.overwrite {
            let what = "INSERT with ON CONFLICT, RETURNING or OVERWRITE";
            return Err(unsupported(what, span));
        }
        let table = self.inserted_table(name)?;
        let Some(source) = &insert.source else {
            return Err(unsupported("INSERT without rows", span));
        };
        let schema = table.schema();
        let targets = self.insert_targets(schema, &insert.columns)?;
        let types = targets.iter().filter_map(|it| schema.fields.get(*it));
        let types: Vec<Type> = types.map(|it| it.data_type.clone()).collect();
        let bound = match plain_values(source) {
            Some(values) => self.values_as(values, &types)?,
            None => self.query(source)?,
        };
        if bound.columns.len() != targets.len() {
            let (given, wanted) = (bound.columns.len(), targets.len());
            let message = format!("INSERT has {given} columns for {wanted} of the table");
            return Err(Error::invalid_query(message).span(span));
        }
        let column = |(index, field): (usize, &Field)| {
            let column = self.column(field.name.clone(), field.data_type.clone());
            let source = targets.iter().position(|it| *it == index);
            let expr = match source.and_then(|it| bound.columns.get(it)) {
                Some(it) => Expr::column(it.id, it.data_type.clone()),
                None => super::expr::null(),
            };
            let to = field.data_type.clone();
            let expr = self.cast_to(expr, to, false).map_err(|it| it.span(span))?;
            Ok((column, expr))
        };
        let exprs = schema.fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let plan = Plan::Project { input: Box::new(bound.plan), exprs };
        let table = parse::dotted(name);
        Ok(Statement::Insert { table, query: Bound { plan, columns }.into() })
    }

    fn inserted_table(&self, name: &ObjectName) -> Result<Arc<dyn Table>> {
        let span = self.span(name.span());
        let dotted = parse::dotted(name);
        match self.shared.catalog.table(&dotted).map_err(|it| it.span(span))? {
            Some(Relation::Table(table)) => Ok(table),
            Some(Relation::View { .. }) => {
                Err(Error::invalid_query(format!("cannot insert into a view: {dotted}")).span(span))
            }
            None => Err(self.no_table(&dotted, span)),
        }
    }

    /// The positions in the table of the columns that INSERT gives.
    fn insert_targets(&self, schema: &Schema, written: &[ObjectName]) -> Result<Vec<usize>> {
        if written.is_empty() {
            return Ok((0..schema.len()).collect());
        }
        let mut targets = Vec::with_capacity(written.len());
        for name in written {
            let span = self.span(name.span());
            let dotted = parse::dotted(name);
            let Some(index) = schema.index_of(&dotted) else {
                let names = schema.fields.iter().map(|it| it.name.as_str());
                let error = Error::invalid_query(format!("no such column: {dotted}")).span(span);
                return Err(match volley_types::nearest_name(&dotted, names) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error,
                });
            };
            if targets.contains(&index) {
                let message = format!("column given twice: {dotted}");
                return Err(Error::invalid_query(message).span(span));
            }
            targets.push(index);
        }
        Ok(targets)
    }

    fn describe(&mut self, described: &'a Described) -> Result<Statement> {
        let bound = match described {
            Described::Query(query) => self.query(query)?,
            Described::Table(name) => self.whole_table(name)?,
            Described::Function(name) => {
                let known = self.shared.names.check_name(&name.value);
                known.map_err(|it| it.span(self.span(name.span)))?;
                return Ok(Statement::DescribeFunction { name: name.value.to_ascii_lowercase() });
            }
        };
        let columns = bound.columns.into_iter().map(|it| (it.name, it.data_type)).collect();
        Ok(Statement::Describe { columns })
    }

    /// A table, view or file by its name.
    fn whole_table(&mut self, name: &'a ObjectName) -> Result<Bound> {
        let (plan, scope) = self.named(name, None, None)?;
        let columns = scope.plain().map(|it| it.column.clone()).collect();
        Ok(Bound { plan, columns })
    }

    fn create_view(&mut self, view: &'a CreateView) -> Result<Statement> {
        let bound = self.query(&view.query)?;
        if let Some(extra) = view.columns.get(bound.columns.len()) {
            let (columns, names) = (bound.columns.len(), view.columns.len());
            let message = format!("view has {columns} columns but {names} names");
            return Err(Error::invalid_query(message).span(self.span(extra.span)));
        }
        Ok(Statement::CreateView {
            name: parse::dotted(&view.name),
            or_replace: view.or_replace,
            if_not_exists: view.if_not_exists,
            columns: view.columns.iter().map(|it| it.value.clone()).collect(),
            sql: view.sql.clone(),
        })
    }

    fn copy(
        &mut self,
        source: &'a CopySource,
        path: &str,
        written: &[(Ident, Option<String>)],
    ) -> Result<Statement> {
        let bound = match source {
            CopySource::Query(query) => self.query(query)?,
            CopySource::Table(name, columns) => self.copied_table(name, columns)?,
        };
        let types: Vec<Type> = bound.columns.iter().map(|it| known(&it.data_type)).collect();
        let query: Query = self.convert(bound, &types)?.into();
        let mut format = None;
        let mut options = Vec::new();
        for (name, value) in written {
            let value = value.clone().unwrap_or_else(|| "true".to_owned());
            match name.value.to_ascii_lowercase() {
                name if name == "format" => format = Some(value.to_ascii_lowercase()),
                name => options.push((name, value)),
            }
        }
        let format = match format {
            Some(format) => format,
            None => format_of(path)?,
        };
        Ok(Statement::Copy { query, path: path.to_owned(), format, options })
    }

    fn copied_table(&mut self, name: &'a ObjectName, columns: &[Ident]) -> Result<Bound> {
        let whole = self.whole_table(name)?;
        if columns.is_empty() {
            return Ok(whole);
        }
        let find = |it: &Ident| {
            let mut all = whole.columns.iter();
            all.find(|column| column.name.eq_ignore_ascii_case(&it.value)).cloned().ok_or_else(
                || {
                    let message = format!("no such column: {}", it.value);
                    Error::invalid_query(message).span(self.span(it.span))
                },
            )
        };
        let columns = columns.iter().map(find).collect::<Result<Vec<Column>>>()?;
        let exprs = columns.iter().map(|it| {
            let expr = Expr::column(it.id, it.data_type.clone());
            (it.clone(), expr)
        });
        let exprs = exprs.collect();
        let plan = Plan::Project { input: Box::new(whole.plan), exprs };
        Ok(Bound { plan, columns })
    }
}

/// The VALUES that are all of a query.
fn plain_values(query: &ast::Query) -> Option<&ast::Values> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        ast::SetExpr::Values(values) if is_plain => Some(values),
        _ => None,
    }
}

impl From<Bound> for Query {
    fn from(bound: Bound) -> Query {
        let names = bound.columns.into_iter().map(|it| it.name).collect();
        Query { plan: bound.plan, names }
    }
}

/// The type of a stored column: NULL of no type is stored as INTEGER.
fn known(data_type: &Type) -> Type {
    match data_type {
        Type::Unknown => Type::Integer,
        other => other.clone(),
    }
}

fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut before: Vec<String> = Vec::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        if before.contains(&lower) {
            let error = Error::invalid_query(format!("two columns are called {name}"));
            return Err(error.hint("give one of them another name with AS"));
        }
        before.push(lower);
    }
    Ok(())
}

fn format_of(path: &str) -> Result<String> {
    let ending = Path::new(path).extension().and_then(|it| it.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("parquet") => Ok("parquet".to_owned()),
        Some("csv" | "tsv") => Ok("csv".to_owned()),
        Some("json" | "ndjson" | "jsonl") => Ok("json".to_owned()),
        _ => {
            let error = Error::invalid_query(format!("unknown file format: {path}"));
            Err(error.hint("add (FORMAT parquet) or (FORMAT csv)"))
        }
    }
}

/// The words that name a statement.
fn first_words(statement: &str) -> String {
    let is_keyword = |it: &&str| it.chars().all(|ch| ch.is_ascii_uppercase());
    let words: Vec<&str> = statement.split_whitespace().take_while(is_keyword).take(2).collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}
