//! Functions in FROM: readers of files, and registered table functions.

use super::{Binder, Bound, Clause, inspect, scope::Scope, session::TABLE_INFO};
use crate::{catalog::Relation, parse, parse::STATEMENT_ROWS};
use sqlparser::ast::{
    BinaryOperator, Expr as Written, FunctionArg, FunctionArgExpr, FunctionArgOperator, Ident,
    ObjectName, Spanned, TableFunctionArgs,
};
use volley_connector::{TableArgument, TableArguments, TableOption};
use volley_error::{Error, Result, Span};
use volley_types::{Type, Value};

impl<'a> Binder<'a> {
    /// The table that `name(arguments)` makes.
    pub(super) fn table_function(
        &mut self,
        name: &ObjectName,
        args: &'a TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<Bound> {
        let name = parse::dotted(name);
        if name.eq_ignore_ascii_case(TABLE_INFO) {
            return self.table_info(args, span);
        }
        if name == STATEMENT_ROWS {
            return self.statement_rows(args, span);
        }
        if let Some(bound) = self.rows_of_text(&name, args, span)? {
            return Ok(bound);
        }
        if !self.shared.catalog.has_table_function(&name) {
            return Err(self.no_table_function(&name, span));
        }
        let arguments = self.table_arguments(args, span)?;
        let types = |text: &str| self.data_type(&parse::parse_type(text)?, None);
        let table = self.shared.catalog.table_function(&name, &arguments, &types);
        Ok(self.scan_external(table.map_err(|it| it.span(span))?, &name))
    }

    /// The error that there is no such function for FROM.
    pub(super) fn no_table_function(&self, name: &str, span: Option<Span>) -> Error {
        let error = Error::invalid_query(format!("no such table function: {name}")).span(span);
        match self.shared.names.check_name(name) {
            Ok(()) => error.hint(format!("{name} makes a value: SELECT {name}(...)")),
            Err(_) => error,
        }
    }

    pub(super) fn table_arguments(
        &mut self,
        args: &'a TableFunctionArgs,
        span: Option<Span>,
    ) -> Result<TableArguments> {
        let mut all = TableArguments::default();
        for arg in &args.args {
            match option_of(arg) {
                Some((name, value)) => {
                    let option = self.table_option(name, value, span)?;
                    if all.options.iter().any(|it| it.name == option.name) {
                        let message = format!("option {} is there twice", option.name);
                        return Err(Error::invalid_query(message).span(option.name_span));
                    }
                    all.options.push(option);
                }
                None if !all.options.is_empty() => {
                    let error = Error::invalid_query("an argument without a name behind options");
                    return Err(error.span(span).hint("options, name = value, come last"));
                }
                None => all.arguments.push(self.table_argument(arg, span)?),
            }
        }
        Ok(all)
    }

    /// `name = value`; the name is taken literally.
    fn table_option(
        &mut self,
        name: &Ident,
        value: &'a Written,
        span: Option<Span>,
    ) -> Result<TableOption> {
        let name_span = self.span(name.span).or(span);
        let span = self.span(value.span()).or(name_span);
        let name = name.value.to_lowercase();
        let (value, data_type) = self.table_literal(value, span)?;
        Ok(TableOption { name, value, data_type, name_span, span })
    }

    /// A literal, or a table by its name.
    fn table_argument(
        &mut self,
        argument: &'a FunctionArg,
        span: Option<Span>,
    ) -> Result<TableArgument> {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(written)) = argument else {
            return Err(not_an_argument(span));
        };
        let span = self.span(written.span()).or(span);
        let name = match written {
            Written::Identifier(name) => Some(name.value.clone()),
            Written::CompoundIdentifier(parts) => {
                Some(parts.iter().map(|it| it.value.as_str()).collect::<Vec<_>>().join("."))
            }
            _ => None,
        };
        if let Some(name) = name {
            return match self.shared.catalog.table(&name).map_err(|it| it.span(span))? {
                Some(Relation::Table(table)) => Ok(TableArgument::Table(table.table)),
                Some(Relation::View { .. }) => {
                    let error = Error::unsupported("a view as argument of a table function");
                    Err(error.span(span).hint("make a table of it: CREATE TABLE ... AS SELECT"))
                }
                None => Err(self.no_table(&name, span)),
            };
        }
        let (value, data_type) = self.table_literal(written, span)?;
        Ok(TableArgument::Value(value, data_type))
    }

    /// A literal, or a list or a row of literals.
    fn table_literal(&mut self, written: &'a Written, span: Option<Span>) -> Result<(Value, Type)> {
        let bind = |it: &mut Self| it.expr(written);
        let (expr, _) = self.with_level(Scope::default(), Clause::Values, bind)?;
        inspect::literal(&expr).ok_or_else(|| not_an_argument(span))
    }
}

/// The parts of `name = value`, `name := value` or `name => value`.
fn option_of(argument: &FunctionArg) -> Option<(&Ident, &Written)> {
    match argument {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            operator:
                FunctionArgOperator::Assignment
                | FunctionArgOperator::RightArrow
                | FunctionArgOperator::Equals,
        } => Some((name, value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Written::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        })) => match &**left {
            Written::Identifier(name) => Some((name, right)),
            _ => None,
        },
        _ => None,
    }
}

fn not_an_argument(span: Option<Span>) -> Error {
    Error::unsupported("this argument of a table function")
        .span(span)
        .hint("arguments are literals, lists and rows of literals, and names of tables")
}
