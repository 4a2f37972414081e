//! Statements about the session and names: variables, names of views, columns of tables.

use super::{Binder, Bound, Clause, scope::Scope, write::projected};
use crate::{Relation, Statement};
use sqlparser::ast::{
    self, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, TableFunctionArgs,
};
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, Plan};
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
        let row = |(index, column): (usize, &volley_logical::Column)| {
            let default = definition.columns.get(index).and_then(|it| it.default.as_deref());
            let number = i32::try_from(index).unwrap_or(i32::MAX);
            vec![
                Expr::constant(Value::Integer(number), Type::Integer),
                text(&column.name),
                text(&self.shared.dialect.type_name(&column.data_type)),
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
