//! Functions in FROM.

use crate::{PlanTable, Table, TableOption};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_plan::PlanBuilder;
use volley_types::{Type, Value};

/// Makes a table of the arguments of `FROM name(argument, ...)`: one that is read, or, as a
/// [`PlanTable`](crate::PlanTable), what a plan makes of its arguments.
///
/// # Errors
///
/// Invalid query, when the arguments do not fit.
pub type TableFunction = Arc<dyn Fn(&TableCall<'_>) -> Result<Arc<dyn Table>> + Send + Sync>;

/// A call of a table function.
#[derive(Clone, Copy)]
pub struct TableCall<'a> {
    /// The name as registered.
    pub name: &'a str,
    /// What stands between the parentheses without a name.
    pub arguments: &'a [TableArgument],
    /// What has a name: `name = value`. No name is there twice.
    pub options: &'a [TableOption],
    /// For making plans.
    pub registry: &'a Arc<Registry>,
    /// The type that a text names, such as `INTEGER`, as casts would take it.
    pub types: &'a dyn Fn(&str) -> Result<Type>,
}

/// What a call of a table function has between its parentheses.
#[derive(Clone, Debug, Default)]
pub struct TableArguments {
    /// Those without a name, in order.
    pub arguments: Vec<TableArgument>,
    /// Those with a name; no name is there twice.
    pub options: Vec<TableOption>,
}

/// An argument of a table function.
#[derive(Clone, Debug)]
pub enum TableArgument {
    /// A literal: also a list or a row of literals.
    Value(Value, Type),
    /// A table, by its name.
    Table(Arc<dyn Table>),
}

impl TableCall<'_> {
    /// Argument `index`, which must be a table.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn table(&self, index: usize) -> Result<&Arc<dyn Table>> {
        match self.arguments.get(index) {
            Some(TableArgument::Table(table)) => Ok(table),
            _ => Err(self.misfit(index, "the name of a table")),
        }
    }

    /// A plan that begins with the rows of argument `index`, which must be a table.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn scan(&self, index: usize) -> Result<PlanBuilder> {
        let table = self.table(index)?;
        if let Some(made) = table.as_plan() {
            return Ok(PlanBuilder::from_plan(self.registry, Arc::clone(made.plan())));
        }
        let columns: Vec<String> = (0..table.schema().len()).map(|it| format!("#{it}")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        Ok(PlanBuilder::new(self.registry).scan(table.handle(), table.schema(), &columns))
    }

    /// The table that `plan` makes of the tables among the arguments.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan.
    pub fn made_by(&self, plan: PlanBuilder) -> Result<Arc<dyn Table>> {
        let mut tables = Vec::new();
        for argument in self.arguments {
            if let TableArgument::Table(table) = argument {
                match table.as_plan() {
                    Some(made) => tables.extend(made.tables().iter().cloned()),
                    None => tables.push(Arc::clone(table)),
                }
            }
        }
        Ok(Arc::new(PlanTable::new(self.name, plan.build()?, tables)?))
    }

    /// Argument `index`, which must be a text.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn text(&self, index: usize) -> Result<&str> {
        match self.arguments.get(index) {
            Some(TableArgument::Value(Value::Varchar(text), _)) => Ok(text),
            _ => Err(self.misfit(index, "a text")),
        }
    }

    /// Argument `index`, which must be a whole number.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn integer(&self, index: usize) -> Result<i64> {
        match self.arguments.get(index) {
            Some(TableArgument::Value(Value::Integer(number), _)) => Ok((*number).into()),
            Some(TableArgument::Value(Value::BigInt(number), _)) => Ok(*number),
            _ => Err(self.misfit(index, "a whole number")),
        }
    }

    /// The error that there are not `count` arguments, or that there are options, if so.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn expect_arguments(&self, count: usize) -> Result<()> {
        if let Some(option) = self.options.first() {
            let message = format!("table function {} takes no option {}", self.name, option.name);
            return Err(Error::invalid_query(message).span(option.name_span));
        }
        if self.arguments.len() == count {
            return Ok(());
        }
        let found = self.arguments.len();
        let message = format!("table function {} takes {count} arguments, not {found}", self.name);
        Err(Error::invalid_query(message))
    }

    fn misfit(&self, index: usize, expected: &str) -> Error {
        let message =
            format!("argument {} of table function {} is {expected}", index + 1, self.name);
        Error::invalid_query(message)
    }
}
