//! Statements about the session and names: variables, names of views, columns of tables.

use super::{
    BindSettings, Binder, Bound, Clause, Shared, scope::Scope, unsupported, write::projected,
};
use crate::{Query, Relation, Statement, parse};
use sqlparser::ast::{
    self, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, TableFunctionArgs,
};
use std::sync::Arc;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Type, Value};

/// The function that gives the value of a variable.
pub(super) const GET_VARIABLE: &str = "getvariable";

/// The function in FROM that lists the columns of a table.
pub(super) const TABLE_INFO: &str = "pragma_table_info";

impl<'a> Binder<'a> {
    /// SET VARIABLE: a query of one row.
    pub(super) fn set_variable(&mut self, name: &Ident, value: &'a ast::Expr) -> Result<Statement> {
        let bind = |it: &mut Self| it.expr(value);
        let (value, _) = self.with_level(Scope::default(), Clause::Values, bind)?;
        let column = self.column(name.value.clone(), value.data_type.clone());
        let value = projected(Plan::one_row(), vec![(column, value)]).into();
        Ok(Statement::SetVariable { name: name.value.clone(), value })
    }

    /// `getvariable('name')`: the value as a literal, or null when there is none.
    pub(super) fn variable(&self, function: &Function, span: Option<Span>) -> Result<Expr> {
        let args = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        let name = text_argument(args).ok_or_else(|| {
            Error::invalid_query("getvariable takes the name of a variable, as a text").span(span)
        })?;
        let (value, data_type) =
            self.shared.catalog.variable(name).unwrap_or((Value::Null, Type::Unknown));
        Ok(Expr::constant(value, data_type).at(span))
    }

    /// The rows of a statement that is no query: DESCRIBE, SUMMARIZE, SHOW.
    pub(super) fn statement_rows(
        &mut self,
        args: &TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<Bound> {
        let text = text_argument(&args.args).ok_or_else(|| Error::internal("no statement"))?;
        let parsed = parse(text).map_err(|it| it.span(span))?;
        let [parsed] = parsed.as_slice() else {
            return Err(Error::invalid_query("one statement is expected").span(span));
        };
        let Shared { catalog, registry, ids, settings, .. } = self.shared;
        let settings = BindSettings { place: span.or(settings.place), ..settings.clone() };
        let rows = match super::bind(parsed, catalog, registry, ids, &settings)? {
            Statement::ShowTables => {
                let all = parse("SHOW TABLES LIKE '%'")?;
                let all = all.first().ok_or_else(|| Error::internal("no statement"))?;
                super::bind(all, catalog, registry, ids, &settings)?
            }
            rows => rows,
        };
        match rows {
            Statement::Query(Query { plan, names }) => {
                let columns = plan.columns().into_iter().zip(names);
                let columns = columns.map(|(column, name)| Column { name, ..column }).collect();
                Ok(Bound { plan, columns })
            }
            Statement::Describe { columns } => {
                let text = |it: &str| Expr::constant(Value::text(it), Type::Varchar);
                let type_name = |it: &Type| self.shared.settings.type_name(it);
                let row = |it: &(String, Type)| vec![text(&it.0), text(&type_name(&it.1))];
                let rows = columns.iter().map(row).collect();
                let names = ["column_name", "column_type"];
                let columns: Vec<_> = names.map(|it| self.column(it, Type::Varchar)).into();
                Ok(Bound { plan: Plan::Values { columns: columns.clone(), rows }, columns })
            }
            _ => Err(unsupported(format!("{text} within a query"), span)),
        }
    }

    /// `pragma_table_info('table')`: a row for each column.
    pub(super) fn table_info(
        &mut self,
        args: &TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<Bound> {
        let name = text_argument(&args.args).ok_or_else(|| {
            Error::invalid_query("pragma_table_info takes the name of a table, as a text")
                .span(span)
        })?;
        let described = self.table(name, span)?.columns;
        let stored = match self.shared.catalog.table(name)? {
            Some(Relation::Table(it)) => it.table.as_stored(),
            _ => None,
        };
        let definition = stored.map(|it| it.definition).unwrap_or_default();
        let is_key = |index: usize| {
            let mut keys = definition.keys.iter().filter(|it| it.is_primary);
            keys.any(|it| it.columns.contains(&index))
        };
        let text = |it: &str| Expr::constant(Value::text(it), Type::Varchar);
        let row = |(index, column): (usize, &Column)| {
            let default = definition.columns.get(index).and_then(|it| it.default.as_deref());
            let number = i32::try_from(index).unwrap_or(i32::MAX);
            vec![
                Expr::constant(Value::Integer(number), Type::Integer),
                text(&column.name),
                text(&self.shared.settings.type_name(&column.data_type)),
                Expr::boolean(definition.is_not_null(index)),
                default.map_or(Expr::constant(Value::Null, Type::Varchar), text),
                Expr::boolean(is_key(index)),
            ]
        };
        let rows = described.iter().enumerate().map(row).collect();
        let columns = [
            ("cid", Type::Integer),
            ("name", Type::Varchar),
            ("type", Type::Varchar),
            ("notnull", Type::Boolean),
            ("dflt_value", Type::Varchar),
            ("pk", Type::Boolean),
        ];
        let columns: Vec<_> = columns.into_iter().map(|it| self.column(it.0, it.1)).collect();
        Ok(Bound { plan: Plan::Values { columns: columns.clone(), rows }, columns })
    }
}

/// Functions of the session that are also written without parentheses.
const NAMES: [&str; 7] = [
    "current_catalog",
    "current_database",
    "current_schema",
    "current_user",
    "current_role",
    "session_user",
    "user",
];

/// Whom statements run as: there are no users.
const USER: &str = "volley";

impl Binder<'_> {
    /// The value of a function that tells something of the session, as a literal.
    pub(super) fn session_function(
        &self,
        name: &str,
        function: &Function,
        span: Option<Span>,
    ) -> Result<Option<Expr>> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let args = match &function.args {
            FunctionArguments::List(list) => list.args.as_slice(),
            _ => &[],
        };
        let text = |it: String| Expr::constant(Value::text(it), Type::Varchar).at(span);
        let value = match name {
            "version" => text(format!("Volley {}", env!("CARGO_PKG_VERSION"))),
            "current_setting" => {
                let name = text_argument(args).ok_or_else(|| {
                    let message = "current_setting takes the name of a setting, as a text";
                    Error::invalid_query(message).span(span)
                })?;
                text(self.shared.catalog.setting(name).map_err(|it| it.span(span))?)
            }
            "current_schemas" => {
                let schemas = self.shared.catalog.current_schemas();
                let names = schemas.into_iter().map(|it| Value::text(it.1)).collect();
                let data_type = Type::Array(Arc::new(Type::Varchar));
                Expr::constant(Value::Array(names), data_type).at(span)
            }
            _ if NAMES.contains(&name) => text(self.session_text(name)),
            _ => return Ok(None),
        };
        let takes = usize::from(matches!(name, "current_setting" | "current_schemas"));
        if args.len() != takes || function.over.is_some() || function.filter.is_some() {
            let message = format!("{name} takes {takes} arguments, and no OVER or FILTER");
            return Err(Error::invalid_query(message).span(span));
        }
        Ok(Some(value))
    }

    /// What a name without parentheses tells of the session, where it is the name of nothing else.
    pub(super) fn session_name(&self, parts: &[Ident], span: Option<Span>) -> Option<Expr> {
        let [ident] = parts else { return None };
        let name = ident.value.to_lowercase();
        let is_one = ident.quote_style.is_none() && NAMES.contains(&name.as_str());
        let text = is_one.then(|| Value::text(self.session_text(&name)));
        text.map(|it| Expr::constant(it, Type::Varchar).at(span))
    }

    fn session_text(&self, name: &str) -> String {
        let current = || self.shared.catalog.current_schemas().into_iter().next();
        match name {
            "current_catalog" | "current_database" => current().unwrap_or_default().0,
            "current_schema" => current().unwrap_or_default().1,
            _ => USER.to_owned(),
        }
    }
}

/// The only argument, if it is a literal text.
fn text_argument(args: &[FunctionArg]) -> Option<&str> {
    match args {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(value)))] => {
            match &value.value {
                ast::Value::SingleQuotedString(text) => Some(text),
                _ => None,
            }
        }
        _ => None,
    }
}
