//! Functions in FROM that a session was given.

use super::{Binder, Bound, Clause, scope::Scope, session::TABLE_INFO, unsupported};
use crate::{catalog::Relation, parse};
use sqlparser::ast::{
    Expr as Written, FunctionArg, FunctionArgExpr, ObjectName, Spanned, TableFunctionArgs,
};
use volley_connector::TableArgument;
use volley_error::{Error, Result, Span};
use volley_logical::ExprKind;

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
        if !self.shared.catalog.has_table_function(&name) {
            return Err(unsupported(format!("the table function {name}"), span));
        }
        let arguments = args.args.iter().map(|it| self.table_argument(it, span));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let table = self.shared.catalog.table_function(&name, &arguments);
        Ok(self.scan(table.map_err(|it| it.span(span))?, &name))
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
                Some(Relation::Table(table)) => Ok(TableArgument::Table(table)),
                Some(Relation::View { .. }) => {
                    let error = Error::unsupported("a view as argument of a table function");
                    Err(error.span(span).hint("make a table of it: CREATE TABLE ... AS SELECT"))
                }
                None => Err(self.no_table(&name, span)),
            };
        }
        let bind = |it: &mut Self| it.expr(written);
        let (expr, _) = self.with_level(Scope::default(), Clause::Values, bind)?;
        match expr.kind {
            ExprKind::Constant(value) => Ok(TableArgument::Value(value, expr.data_type)),
            _ => Err(not_an_argument(span)),
        }
    }
}

fn not_an_argument(span: Option<Span>) -> Error {
    Error::unsupported("this argument of a table function")
        .span(span)
        .hint("arguments are literals or names of tables")
}
