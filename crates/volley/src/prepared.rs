//! Statements with parameters.

use crate::{
    Outcome, ResultStream, Session,
    planning::StatementContext,
    point::{self, PointPlan},
    statement::{self, Collected},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use volley_error::{Error, Result, Span};
use volley_sql::{Parameters, ParsedStatement, PointStatement};
use volley_types::{Type, Value};

/// A statement that was parsed and checked once, to be run with other values each time.
///
/// A value takes the place of its parameter as a literal would: text becomes a DATE where a DATE is
/// compared with it, and an integer takes any integer type that holds it. It never is SQL text.
///
/// ```
/// use volley::{ErrorKind, Session, Value};
///
/// # fn main() -> volley::Result<()> {
/// let session = Session::new()?;
/// let statement = session.prepare("SELECT $1 || '!' LIMIT $2")?;
/// assert_eq!(statement.parameters(), ["1", "2"]);
/// let rows = statement.query(&["'; DROP TABLE t".into(), 1.into()])?.collect_values()?;
/// assert_eq!(rows, [[Value::text("'; DROP TABLE t!")]]);
///
/// let Err(error) = statement.query(&["one".into()]) else { unreachable!() };
/// assert_eq!(error.kind(), ErrorKind::InvalidQuery);
/// assert_eq!(error.message(), "statement takes 2 parameters, not 1");
/// # Ok(())
/// # }
/// ```
pub struct Prepared<'s> {
    session: &'s Session,
    statement: PreparedStatement,
}

/// A statement that was checked, and how it runs without a plan.
pub(crate) struct PreparedStatement {
    pub(crate) parsed: Arc<ParsedStatement>,
    /// If it is one of one row by key.
    pub(crate) point: Option<PointStatement>,
    plan: Mutex<Option<Arc<PointPlan>>>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    value: Value,
    data_type: Type,
}

impl Parameter {
    /// A value of a given type, for types without a Rust type.
    ///
    /// ```
    /// use volley::{Parameter, Session, Type, Value};
    ///
    /// # fn main() -> volley::Result<()> {
    /// let session = Session::new()?;
    /// let price = Parameter::new(Value::Decimal(1250), Type::decimal(6, 2));
    /// let doubled = session.prepare("SELECT ? * 2")?.query(&[price])?.collect_values()?;
    /// assert_eq!(doubled, [[Value::Decimal(2500)]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(value: Value, data_type: Type) -> Parameter {
        Parameter { value, data_type }
    }

    /// NULL.
    pub fn null() -> Parameter {
        Parameter::new(Value::Null, Type::Unknown)
    }
}

impl From<bool> for Parameter {
    fn from(value: bool) -> Parameter {
        Parameter::new(Value::Boolean(value), Type::Boolean)
    }
}

impl From<i32> for Parameter {
    fn from(value: i32) -> Parameter {
        Parameter::new(Value::Integer(value), Type::Integer)
    }
}

impl From<i64> for Parameter {
    fn from(value: i64) -> Parameter {
        Parameter::new(Value::BigInt(value), Type::BigInt)
    }
}

impl From<f64> for Parameter {
    fn from(value: f64) -> Parameter {
        Parameter::new(Value::Double(value), Type::Double)
    }
}

impl From<&str> for Parameter {
    fn from(value: &str) -> Parameter {
        Parameter::new(Value::text(value), Type::Varchar)
    }
}

impl From<String> for Parameter {
    fn from(value: String) -> Parameter {
        Parameter::from(value.as_str())
    }
}

impl From<&[u8]> for Parameter {
    fn from(value: &[u8]) -> Parameter {
        Parameter::new(Value::Varbinary(value.into()), Type::Varbinary)
    }
}

impl<T: Into<Parameter>> From<Option<T>> for Parameter {
    fn from(value: Option<T>) -> Parameter {
        value.map_or_else(Parameter::null, Into::into)
    }
}

/// Parses and checks one statement.
pub(crate) fn prepare<'s>(session: &'s Session, sql: &str) -> Result<Prepared<'s>> {
    let mut parsed = session.parse(sql)?.into_iter();
    let (Some(statement), None) = (parsed.next(), parsed.next()) else {
        return Err(Error::invalid_query("a prepared statement is one statement"));
    };
    let statement = PreparedStatement::new(checked(session, Arc::new(statement))?);
    Ok(Prepared { session, statement })
}

impl PreparedStatement {
    /// A statement that was checked.
    pub(crate) fn new(parsed: Arc<ParsedStatement>) -> PreparedStatement {
        let point = parsed.as_point();
        PreparedStatement { parsed, point, plan: Mutex::default() }
    }

    /// The plan that the point path made last.
    pub(crate) fn plan(&self) -> Option<Arc<PointPlan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a plan of the point path.
    pub(crate) fn keep_plan(&self, plan: &Arc<PointPlan>) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(plan));
    }

    /// Runs it with values of its parameters; errors point at `place`, if that is another than its
    /// text.
    fn run(
        &self,
        session: &Session,
        parameters: Parameters,
        place: Option<Span>,
    ) -> Result<Outcome> {
        if let Parameters::Given(values) = &parameters
            && let Some(outcome) = point::run(session, self, values)?
        {
            return Ok(outcome);
        }
        statement::run_with(session, &self.parsed, parameters, place)
    }
}

/// The statement, once its names and types are known to be right.
pub(crate) fn checked(
    session: &Session,
    statement: Arc<ParsedStatement>,
) -> Result<Arc<ParsedStatement>> {
    let cx = StatementContext::begin(session, session.begin(), None, statement.text());
    volley_sql::with_room(statement.text().len(), || {
        statement::bind(session, &statement, &cx, (Parameters::Unknown, None)).map(drop)
    })?;
    Ok(statement)
}

/// EXECUTE: the values are the only row of `values`; some may have names. Errors of the statement
/// point at `place`, since its text differs from that of EXECUTE.
pub(crate) fn execute(
    session: &Session,
    name: &str,
    (names, values): (&[Option<String>], &Collected),
    place: Option<Span>,
) -> Result<Outcome> {
    let statement = session.kept_prepared(name)?;
    let row = values.batches.first();
    let mut by_position = Vec::new();
    let mut by_name = Vec::new();
    for (index, (name, field)) in names.iter().zip(&values.schema.fields).enumerate() {
        let value = row.map_or(Ok(Value::Null), |it| it.column(index).value(0))?;
        let parameter = Parameter::new(value, field.data_type.clone());
        match name {
            Some(name) => by_name.push((name.as_str(), parameter)),
            None => by_position.push(parameter),
        }
    }
    let parameters = match (by_position.is_empty(), by_name.is_empty()) {
        (_, true) => positional(&statement.parsed, &by_position)?,
        (true, false) => named(&statement.parsed, &by_name)?,
        (false, false) => {
            return Err(Error::invalid_query("parameters by position and by name are mixed"));
        }
    };
    statement.run(session, parameters, place)
}

pub(crate) fn positional(statement: &ParsedStatement, values: &[Parameter]) -> Result<Parameters> {
    let names = statement.parameters();
    if names.len() != values.len() {
        let (wanted, given) = (names.len(), values.len());
        let plural = if wanted == 1 { "parameter" } else { "parameters" };
        let message = format!("statement takes {wanted} {plural}, not {given}");
        return Err(Error::invalid_query(message));
    }
    Ok(given(names.iter().map(String::as_str).zip(values)))
}

pub(crate) fn named(
    statement: &ParsedStatement,
    values: &[(&str, Parameter)],
) -> Result<Parameters> {
    let names = statement.parameters();
    for name in names {
        if !values.iter().any(|it| it.0.eq_ignore_ascii_case(name)) {
            return Err(Error::invalid_query(format!("no value for the parameter ${name}")));
        }
    }
    for (name, _) in values {
        if !names.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            return Err(Error::invalid_query(format!("no such parameter: ${name}")));
        }
    }
    Ok(given(values.iter().map(|(name, value)| (*name, value))))
}

pub(crate) fn given<'v>(values: impl Iterator<Item = (&'v str, &'v Parameter)>) -> Parameters {
    let value = |it: &Parameter| (it.value.clone(), it.data_type.clone());
    let values = values.map(|(name, it)| (name.to_lowercase(), value(it)));
    Parameters::Given(Arc::new(values.collect::<BTreeMap<_, _>>()))
}

impl Prepared<'_> {
    /// The names of the parameters, in the order of their values: numbers for those by position.
    pub fn parameters(&self) -> &[String] {
        self.statement.parsed.parameters()
    }

    /// Runs the statement with these values, by position.
    ///
    /// # Errors
    ///
    /// Invalid query: another number of values than of parameters, types that do not fit; whatever
    /// the statement fails with.
    pub fn run(&self, values: &[Parameter]) -> Result<Outcome> {
        let parameters = positional(&self.statement.parsed, values)?;
        self.statement.run(self.session, parameters, None)
    }

    /// Runs the statement with these values, by name.
    ///
    /// # Errors
    ///
    /// As [`Prepared::run`]; a name that is not a parameter, a parameter without a value.
    pub fn run_named(&self, values: &[(&str, Parameter)]) -> Result<Outcome> {
        let parameters = named(&self.statement.parsed, values)?;
        self.statement.run(self.session, parameters, None)
    }

    /// As [`Prepared::run`]: the rows of the statement; none, for one without rows.
    ///
    /// # Errors
    ///
    /// As [`Prepared::run`].
    pub fn query(&self, values: &[Parameter]) -> Result<ResultStream> {
        self.run(values).map(Outcome::into_rows)
    }

    /// As [`Prepared::run_named`]: the rows of the statement.
    ///
    /// # Errors
    ///
    /// As [`Prepared::run_named`].
    pub fn query_named(&self, values: &[(&str, Parameter)]) -> Result<ResultStream> {
        self.run_named(values).map(Outcome::into_rows)
    }
}
