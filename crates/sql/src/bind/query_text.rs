//! `query('SELECT ...')` and `query_table(['a', 'b'])` in FROM: what a text says.

use super::{Binder, Bound};
use crate::{Home, create_text::quoted_name, parse};
use sqlparser::ast::TableFunctionArgs;
use volley_connector::{TableArgument, TableArguments};
use volley_error::{Error, Result, Span};
use volley_types::Value;

const QUERY: &str = "query";
const QUERY_TABLE: &str = "query_table";

impl<'a> Binder<'a> {
    /// The rows of the query or the tables that the arguments of a function say, if it is one.
    pub(super) fn rows_of_text(
        &mut self,
        name: &str,
        args: &'a TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<Option<Bound>> {
        let is_query = name.eq_ignore_ascii_case(QUERY);
        let is_known = is_query || name.eq_ignore_ascii_case(QUERY_TABLE);
        if !is_known || self.shared.catalog.has_table_function(name) {
            return Ok(None);
        }
        let arguments = self.table_arguments(args, span)?;
        match is_query {
            true => self.query_of(&arguments, span).map(Some),
            false => self.tables_of(&arguments, span).map(Some),
        }
    }

    fn query_of(&mut self, arguments: &TableArguments, span: Option<Span>) -> Result<Bound> {
        match (arguments.arguments.as_slice(), arguments.options.as_slice()) {
            ([TableArgument::Value(Value::Varchar(text), _)], []) if is_one_query(text, span)? => {
                self.bound_text(text, span)
            }
            _ => Err(Error::invalid_query("query takes the text of one query").span(span)),
        }
    }

    fn tables_of(&mut self, arguments: &TableArguments, span: Option<Span>) -> Result<Bound> {
        let misfit = || {
            let message = "query_table takes the name of a table, or a list of names";
            Error::invalid_query(message).span(span)
        };
        let mut by_name = false;
        for option in &arguments.options {
            match option.name.as_str() {
                "by_name" => by_name = option.boolean()?,
                other => {
                    let message = format!("table function query_table takes no option {other}");
                    return Err(Error::invalid_query(message).span(option.name_span));
                }
            }
        }
        let names = match arguments.arguments.as_slice() {
            [TableArgument::Value(names, _)] => names,
            [TableArgument::Value(names, _), TableArgument::Value(Value::Boolean(is), _)] => {
                by_name = *is;
                names
            }
            _ => return Err(misfit()),
        };
        let names: Vec<&str> = match names {
            Value::Varchar(name) => vec![&**name],
            Value::Array(names) => {
                names.iter().map(|it| it.as_str().ok_or_else(misfit)).collect::<Result<_>>()?
            }
            _ => return Err(misfit()),
        };
        match names.as_slice() {
            [] => Err(misfit()),
            [name] => self.table(name, span),
            names => {
                let froms: Vec<String> =
                    names.iter().map(|it| format!("FROM {}", dotted(it))).collect();
                let union = if by_name { " UNION ALL BY NAME " } else { " UNION ALL " };
                self.bound_text(&froms.join(union), span)
            }
        }
    }

    /// A query of the current schemas, as text.
    fn bound_text(&mut self, text: &str, span: Option<Span>) -> Result<Bound> {
        let name = format!("query('{}')", text.replace('\'', "''"));
        let dialect = self.shared.settings.dialect;
        self.view(&name, text, (dialect, &Home::default()), span)
    }
}

/// Whether a text is a query that changes no table, and nothing else.
fn is_one_query(text: &str, span: Option<Span>) -> Result<bool> {
    let statements = parse(text).map_err(|it| it.span(span))?;
    Ok(matches!(statements.as_slice(), [one] if one.is_query()))
}

/// The parts of a name, in quotes where they need them.
fn dotted(name: &str) -> String {
    name.split('.').map(quoted_name).collect::<Vec<_>>().join(".")
}
