//! Statements.

use super::{
    Binder, Bound, Clause, definition::temporary_name, scope::Scope, unsupported, write::projected,
};
use crate::{
    DropKind, Query, Statement, TransactionStep,
    parse::{
        self, Attach, Command, CopySource, CreateSequence, CreateView, Described, SecretCommand,
    },
};
use sqlparser::ast::{
    self, Ident, ObjectName, ObjectType, SchemaName, SetExpr, Spanned, Statement as Written,
    TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use std::{path::Path, sync::Arc};
use volley_connector::TableOption;
use volley_error::{Error, ErrorKind, Result};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Type, Value};

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
            Command::Explain { form, format, command } => {
                let statement = Box::new(self.statement(command)?);
                Statement::Explain { form: *form, format: *format, statement }
            }
            Command::Describe(described) => self.describe(described)?,
            Command::Summarize(described, text) => self.summarize(described, text)?,
            Command::CreateView(view) => self.create_view(view)?,
            Command::CreateSequence(sequence) => self.create_sequence(sequence)?,
            Command::CreateMacro(it) => self.create_macro(it)?,
            Command::CreateType(create) => self.create_type(create)?,
            Command::Attach(attach) => self.attach(attach)?,
            Command::Maintenance(it) => self.maintenance(it)?,
            Command::Detach { name, if_exists } => {
                Statement::Detach { name: name.value.clone(), if_exists: *if_exists }
            }
            Command::Secret(secret) => secret_statement(secret),
            Command::ShowCache => Statement::ShowCache,
            Command::Prefetch(name) => Statement::Prefetch(self.prefetched(name)?),
            Command::DropMacro { name, if_exists } => {
                let names = vec![parse::dotted(name)];
                Statement::Drop { kind: DropKind::Macro, names, if_exists: *if_exists }
            }
            Command::Copy { source, path, options } => self.copy(source, path, options)?,
            Command::CopyFrom { table, columns, path, options } => {
                self.copy_from((table, columns), path, options)?
            }
            Command::Set { name, value } => {
                Statement::Set { name: name.clone(), value: value.clone() }
            }
            Command::SetVariable { name, value } => self.set_variable(name, value)?,
            Command::ResetVariable { name } => {
                Statement::ResetVariable { name: name.value.clone() }
            }
            Command::RenameView { name, if_exists, new } => Statement::RenameView {
                name: parse::dotted(name),
                if_exists: *if_exists,
                new: parse::dotted(new),
            },
            Command::Validate(command) => self.validate(command)?,
            Command::Reset { name } => Statement::Reset { name: name.clone() },
            Command::ShowSetting { name } => match self.shared.catalog.table(name)? {
                Some(_) => columns_of(self.table(name, None)?),
                None => Statement::ShowSetting { name: name.clone() },
            },
            Command::ShowAll => Statement::ShowAll,
            Command::ShowCreate { name, is_view } => self.show_create(name, *is_view)?,
            Command::ShowStatistics { name } => self.show_statistics(name)?,
            Command::ShowTables => Statement::ShowTables,
            Command::ShowFunctions { names } => Statement::ShowFunctions { names: names.clone() },
            Command::ShowSession { names } => Statement::ShowSession { names: names.clone() },
            Command::Prepare { name, statement } => {
                Statement::Prepare { name: name.value.clone(), statement: Arc::clone(statement) }
            }
            Command::Execute { name, values } => self.execute(name, values)?,
            Command::Deallocate { name } => {
                Statement::Deallocate { name: name.as_ref().map(|it| it.value.clone()) }
            }
        })
    }

    fn sql(&mut self, statement: &'a Written) -> Result<Statement> {
        match statement {
            Written::Query(query) => match &*query.body {
                SetExpr::Insert(changing)
                | SetExpr::Update(changing)
                | SetExpr::Delete(changing)
                | SetExpr::Merge(changing) => self.with_then(query, changing),
                _ => Ok(Statement::Query(self.query(query)?.into())),
            },
            Written::CreateTable(create) => self.create_table(create),
            Written::CreateIndex(create) => self.create_index(create),
            Written::Drop { object_type, if_exists, names, cascade, .. } => {
                let kind = match object_type {
                    ObjectType::Table => DropKind::Table,
                    ObjectType::View => DropKind::View,
                    ObjectType::Sequence if *cascade => {
                        return Err(unsupported("DROP SEQUENCE ... CASCADE", None));
                    }
                    ObjectType::Sequence => DropKind::Sequence,
                    ObjectType::Index => DropKind::Index,
                    ObjectType::Type if *cascade => DropKind::TypeAndUsers,
                    ObjectType::Type => DropKind::Type,
                    ObjectType::Schema if *cascade => DropKind::SchemaAndAll,
                    ObjectType::Schema => DropKind::Schema,
                    other => return Err(unsupported(format!("DROP {other}"), None)),
                };
                let names = names.iter().map(parse::dotted).collect();
                Ok(Statement::Drop { kind, names, if_exists: *if_exists })
            }
            Written::Insert(insert) => self.insert(insert),
            Written::Update(update) => self.update(update),
            Written::Delete(delete) => self.delete(delete),
            Written::Merge(merge) => self.merge(merge),
            Written::Truncate(truncate) => self.truncate(truncate),
            Written::AlterTable(alter) => self.alter_table(alter),
            Written::Use(schema) => self.use_schema(schema),
            Written::Comment { object_type, object_name, comment, if_exists: false } => {
                self.comment(*object_type, object_name, comment.as_deref())
            }
            Written::CreateSchema { schema_name, if_not_exists, .. } => match schema_name {
                SchemaName::Simple(name) => {
                    let name = parse::dotted(name);
                    Ok(Statement::CreateSchema { name, if_not_exists: *if_not_exists })
                }
                _ => Err(unsupported("AUTHORIZATION of a schema", None)),
            },
            Written::StartTransaction { modes, modifier: None, statements, .. }
                if statements.is_empty() =>
            {
                modes.iter().try_for_each(check_mode)?;
                Ok(Statement::Transaction(TransactionStep::Begin))
            }
            Written::Commit { chain: false, modifier: None, .. } => {
                Ok(Statement::Transaction(TransactionStep::Commit))
            }
            Written::Rollback { chain: false, savepoint: None } => {
                Ok(Statement::Transaction(TransactionStep::RollBack))
            }
            Written::Rollback { chain: false, savepoint: Some(name) } => {
                Ok(Statement::Transaction(TransactionStep::RollBackTo(name.value.clone())))
            }
            Written::Savepoint { name } => {
                Ok(Statement::Transaction(TransactionStep::Save(name.value.clone())))
            }
            Written::ReleaseSavepoint { name } => {
                Ok(Statement::Transaction(TransactionStep::Release(name.value.clone())))
            }
            other => Err(unsupported(first_words(&other.to_string()), None)),
        }
    }

    /// USE of a schema, or of a database.
    fn use_schema(&self, schema: &ast::Use) -> Result<Statement> {
        match schema {
            ast::Use::Object(name) | ast::Use::Schema(name) | ast::Use::Database(name) => {
                Ok(Statement::Use { name: parse::dotted(name) })
            }
            _ => Err(unsupported("USE", None)),
        }
    }

    fn attach(&self, attach: &Attach) -> Result<Statement> {
        let span = self.span(attach.span);
        let name = match &attach.name {
            Some(name) => name.value.clone(),
            None => database_name(&attach.path).ok_or_else(|| {
                let error = Error::invalid_query("the database needs a name").span(span);
                error.hint(format!("ATTACH '{}' AS name", attach.path))
            })?,
        };
        let option = |(name, value): &(Ident, Option<String>)| TableOption {
            name: name.value.to_ascii_lowercase(),
            value: Value::text(value.as_deref().unwrap_or("true")),
            data_type: Type::Varchar,
            name_span: self.span(name.span),
            span: self.span(name.span),
        };
        let options = attach.options.iter().map(option).collect();
        let (path, if_not_exists) = (attach.path.clone(), attach.if_not_exists);
        Ok(Statement::Attach { path, name, if_not_exists, options, span })
    }

    /// WITH before a statement that changes rows.
    fn with_then(&mut self, query: &'a ast::Query, changing: &'a Written) -> Result<Statement> {
        let visible = self.ctes.len();
        if let Some(with) = &query.with {
            self.with(with)?;
        }
        let statement = self.sql(changing);
        self.ctes.truncate(visible);
        statement
    }

    /// The values of EXECUTE, as one row.
    fn execute(
        &mut self,
        name: &Ident,
        values: &'a [(Option<Ident>, ast::Expr)],
    ) -> Result<Statement> {
        let bind = |it: &mut Self| {
            values.iter().map(|value| it.expr(&value.1)).collect::<Result<Vec<_>>>()
        };
        let (exprs, _) = self.with_level(Scope::default(), Clause::Values, bind)?;
        let column = |it: Expr| (self.column("value", it.data_type.clone()), it);
        let exprs = exprs.into_iter().map(column).collect();
        let values_query = projected(Plan::one_row(), exprs).into();
        let names = values.iter().map(|it| it.0.as_ref().map(|it| it.value.clone())).collect();
        let span = self.span(name.span);
        Ok(Statement::Execute { name: name.value.clone(), names, values: values_query, span })
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
        Ok(columns_of(bound))
    }

    /// A table, view or file by its name.
    pub(super) fn whole_table(&mut self, name: &'a ObjectName) -> Result<Bound> {
        let (plan, scope) = self.named(name, None, None)?;
        let columns = scope.plain().map(|it| it.column.clone()).collect();
        Ok(Bound { plan, columns })
    }

    fn create_view(&mut self, view: &'a CreateView) -> Result<Statement> {
        self.in_view = true;
        let bound = self.query(&view.query)?;
        if let Some(extra) = view.columns.get(bound.columns.len()) {
            let (columns, names) = (bound.columns.len(), view.columns.len());
            let message = format!("view has {columns} columns but {names} names");
            return Err(Error::invalid_query(message).span(self.span(extra.span)));
        }
        let name = parse::dotted(&view.name);
        let name = match view.is_temporary {
            true => temporary_name(name, self.span(view.name.span()))?,
            false => name,
        };
        Ok(Statement::CreateView {
            name,
            or_replace: view.or_replace,
            if_not_exists: view.if_not_exists,
            columns: view.columns.iter().map(|it| it.value.clone()).collect(),
            sql: view.sql.clone(),
            dialect: self.shared.dialect,
        })
    }

    fn create_sequence(&self, sequence: &CreateSequence) -> Result<Statement> {
        let definition = sequence.options.definition().ok_or_else(|| {
            let message = "START is not within MINVALUE and MAXVALUE, or INCREMENT is 0";
            Error::invalid_query(message).span(self.span(sequence.name.span()))
        })?;
        Ok(Statement::CreateSequence {
            name: parse::dotted(&sequence.name),
            or_replace: sequence.or_replace,
            if_not_exists: sequence.if_not_exists,
            definition,
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
        let (format, options) = self.copy_options(path, written)?;
        Ok(Statement::Copy { query, path: path.to_owned(), format, options })
    }

    fn validate(&mut self, command: &'a Command) -> Result<Statement> {
        self.statement(command)?;
        let valid = self.column("Valid", Type::Boolean);
        let valid = vec![(valid, Expr::boolean(true))];
        Ok(Statement::Query(projected(Plan::one_row(), valid).into()))
    }

    fn prefetched(&mut self, name: &'a ObjectName) -> Result<Query> {
        let bound = self.whole_table(name)?;
        let types: Vec<Type> = bound.columns.iter().map(|it| known(&it.data_type)).collect();
        Ok(self.convert(bound, &types)?.into())
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

impl From<Bound> for Query {
    fn from(bound: Bound) -> Query {
        let names = bound.columns.into_iter().map(|it| it.name).collect();
        Query { plan: bound.plan, names }
    }
}

/// The names and types of columns.
fn columns_of(bound: Bound) -> Statement {
    let columns = bound.columns.into_iter().map(|it| (it.name, it.data_type)).collect();
    Statement::Describe { columns }
}

/// Refuses a mode that transactions, which see the tables as they were at their beginning, do not
/// have.
fn check_mode(mode: &TransactionMode) -> Result<()> {
    match mode {
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly)
        | TransactionMode::IsolationLevel(TransactionIsolationLevel::Serializable) => {
            Err(unsupported(format!("{mode} of a transaction"), None))
        }
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite)
        | TransactionMode::IsolationLevel(_) => Ok(()),
    }
}

/// The type of a stored column: NULL of no type is stored as INTEGER.
pub(super) fn known(data_type: &Type) -> Type {
    match data_type {
        Type::Unknown => Type::Integer,
        other => other.clone(),
    }
}

pub(super) fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
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

/// What a database is called that is opened from `path`: its last part, without an ending.
fn database_name(path: &str) -> Option<String> {
    let stem = Path::new(path.trim_end_matches('/')).file_stem()?.to_str()?;
    let is_name = |it: &str| !it.is_empty() && !it.contains([':', '.']);
    Some(stem.to_owned()).filter(|it| is_name(it))
}

/// The words that name a statement.
fn first_words(statement: &str) -> String {
    let is_keyword = |it: &&str| it.chars().all(|ch| ch.is_ascii_uppercase());
    let words: Vec<&str> = statement.split_whitespace().take_while(is_keyword).take(2).collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}

fn secret_statement(command: &SecretCommand) -> Statement {
    match command {
        SecretCommand::Create(secret) => Statement::CreateSecret(secret.clone()),
        SecretCommand::Drop { name, if_exists } => {
            Statement::DropSecret { name: name.clone(), if_exists: *if_exists }
        }
        SecretCommand::Show => Statement::ShowSecrets,
    }
}
