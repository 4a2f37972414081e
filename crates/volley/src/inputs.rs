//! What a statement runs with besides its text: parameters, tables of the caller, a token.

use crate::{
    Outcome, Parameter, Session,
    planning::StatementContext,
    prepared::{given, named, positional},
    statement,
};
use std::{fmt, sync::Arc};
use volley_connector::Table;
use volley_error::{Error, Result};
use volley_memory::{CancellationToken, with_cancellation};
use volley_sql::{Parameters, ParsedStatement, Statement};
use volley_types::{Schema, Type};

/// What a name stands for that is in no database.
#[derive(Clone, Debug)]
pub enum Replacement {
    /// A table of the caller.
    Table(Arc<dyn Table>),
    /// The text of a query, as that of a view. Names in it may be replaced in turn.
    Query(String),
}

/// Finds tables of the caller: called with each name of a table that no database has.
pub trait Replacements: Send + Sync {
    /// What `name` stands for; `None` when the caller has no such table.
    ///
    /// # Errors
    ///
    /// What finding it out fails with.
    fn find(&self, name: &str) -> Result<Option<Replacement>>;
}

/// What a statement runs with besides its text. The default has nothing of it.
///
/// ```
/// use std::sync::Arc;
/// use volley::{Replacement, Replacements, Result, Session, StatementInputs, Value};
///
/// struct Numbers;
///
/// impl Replacements for Numbers {
///     fn find(&self, name: &str) -> Result<Option<Replacement>> {
///         let query = || Replacement::Query("SELECT * FROM range(5) r(i)".to_owned());
///         Ok((name == "numbers").then(query))
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let session = Session::new()?;
/// let statement = session.parse("SELECT count(*) FROM numbers WHERE i >= ?")?.remove(0);
/// let inputs = StatementInputs {
///     positional: vec![2.into()],
///     replacements: Some(Arc::new(Numbers)),
///     ..StatementInputs::default()
/// };
/// let rows = session.run_with(&statement, &inputs)?.into_rows().collect_values()?;
/// assert_eq!(rows, [[Value::BigInt(3)]]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct StatementInputs {
    /// Values of parameters by position.
    pub positional: Vec<Parameter>,
    /// Values of parameters by name. A statement takes values by position or by name, not both.
    /// With replacements, values that the statement has no parameter for are those of queries.
    pub named: Vec<(String, Parameter)>,
    /// Tables that are in no database.
    pub replacements: Option<Arc<dyn Replacements>>,
    /// Parent of the statement's token; [`Session::cancellation`] when there is none.
    pub cancellation: Option<CancellationToken>,
}

impl fmt::Debug for StatementInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StatementInputs");
        shown.field("positional", &self.positional).field("named", &self.named);
        shown.finish_non_exhaustive()
    }
}

impl StatementInputs {
    /// The values of the parameters of `statement`.
    fn parameters(&self, statement: &ParsedStatement) -> Result<Parameters> {
        match (self.positional.is_empty(), self.named.is_empty()) {
            (false, false) => {
                Err(Error::invalid_query("parameters by position and by name are mixed"))
            }
            // Queries of the caller may have parameters that the statement has not.
            (true, false) if self.replacements.is_some() => {
                Ok(given(self.named.iter().map(|(name, it)| (name.as_str(), it))))
            }
            (false, true) if self.replacements.is_some() && statement.parameters().is_empty() => {
                let names: Vec<_> = (1..=self.positional.len()).map(|it| it.to_string()).collect();
                Ok(given(names.iter().map(String::as_str).zip(&self.positional)))
            }
            (true, false) => {
                let values: Vec<_> =
                    self.named.iter().map(|(name, it)| (name.as_str(), it.clone())).collect();
                named(statement, &values)
            }
            (true, true) if statement.parameters().is_empty() => Ok(Parameters::None),
            (true, true) if statement.parameters().iter().any(|it| !is_number(it)) => {
                named(statement, &[])
            }
            _ => positional(statement, &self.positional),
        }
    }
}

/// Whether this is the name of a parameter by position.
fn is_number(name: &str) -> bool {
    name.bytes().all(|it| it.is_ascii_digit())
}

impl Session {
    /// Runs one statement with values of its parameters and tables of the caller.
    ///
    /// # Errors
    ///
    /// As [`Session::run`]; another number of values than of parameters.
    pub fn run_with(
        &self,
        statement: &ParsedStatement,
        inputs: &StatementInputs,
    ) -> Result<Outcome> {
        let parameters = inputs.parameters(statement)?;
        statement::run_with_inputs(self, statement, (parameters, None), inputs)
    }

    /// Names and types of the rows that a statement would return; `None` for one without rows.
    /// Nothing runs. Parameters without a value are NULL.
    ///
    /// ```
    /// use volley::{Session, StatementInputs, Type};
    ///
    /// # fn main() -> volley::Result<()> {
    /// let session = Session::new()?;
    /// let statement = session.parse("SELECT 1 AS one, 'two' AS two")?.remove(0);
    /// let schema = session.schema_of(&statement, &StatementInputs::default())?;
    /// let schema = schema.unwrap_or_default();
    /// assert_eq!(schema.fields[1].name, "two");
    /// assert_eq!(schema.fields[1].data_type, Type::Varchar);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with the statement.
    pub fn schema_of(
        &self,
        statement: &ParsedStatement,
        inputs: &StatementInputs,
    ) -> Result<Option<Schema>> {
        let parameters = match (inputs.positional.is_empty(), inputs.named.is_empty()) {
            (true, true) => Parameters::Unknown,
            _ => inputs.parameters(statement)?,
        };
        let constants = self.begin_with(inputs.cancellation.as_ref());
        let cancellation = constants.cancellation.clone();
        let mut cx = StatementContext::begin(self, constants, None, statement.text());
        cx.replacements.clone_from(&inputs.replacements);
        with_cancellation(&cancellation, || {
            volley_sql::with_room(statement.text().len(), || {
                let bound = statement::bind(self, statement, &cx, (parameters, None))?;
                Ok(self.schema_of_bound(&bound))
            })
        })
    }

    fn schema_of_bound(&self, statement: &Statement) -> Option<Schema> {
        match statement {
            Statement::Query(query) => {
                let zone = self.settings().time_zone;
                Some(crate::session::shown(query.schema(), &zone))
            }
            Statement::Explain { .. } => {
                let field = volley_types::Field::new("plan", Type::Varchar);
                Some(Schema::new(vec![field]))
            }
            _ => None,
        }
    }

    /// A token for statements of this session: [`Session::cancel`] cancels it, and a caller can
    /// cancel it alone.
    pub fn cancellation(&self) -> CancellationToken {
        self.running_token().child()
    }
}
