//! A connection: a session of the engine.

use crate::{
    aggregate,
    error::exception,
    function,
    replacement::Lookup,
    rows::{Begun, Rows},
    statement::Statement,
    table::Table,
    table_function,
    token::Token,
    value::parameter,
    waiting::{Call, wait},
};
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use std::sync::Arc;
use volley::{Error, Outcome, Result, Session, Settings, StatementInputs};

/// Tables, settings and queries of one user. Threads may share it.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Connection {
    session: Arc<Session>,
    /// The process that made it: its threads do not survive a fork.
    process: u32,
}

impl Connection {
    /// The session, unless this is another process than that which made it.
    pub(crate) fn session(&self, py: Python<'_>) -> PyResult<&Arc<Session>> {
        let (here, there) = (std::process::id(), self.process);
        if here == there {
            return Ok(&self.session);
        }
        let message = format!("connection of process {there} in the forked process {here}");
        let error = Error::unsupported(message).hint("call volley.connect() in the forked process");
        Err(exception(py, &error, None))
    }
}

/// What a statement of Python runs with.
pub(crate) struct Inputs<'py> {
    positional: Bound<'py, PyList>,
    named: Bound<'py, PyDict>,
    lookup: Option<Py<PyAny>>,
    token: Option<Py<Token>>,
}

impl Inputs<'_> {
    pub(crate) fn resolve(self, session: &Session) -> PyResult<StatementInputs> {
        let positional = self.positional.iter().map(|it| parameter(&it));
        let named = self.named.iter();
        let named = named.map(|(name, it)| Ok((name.extract::<String>()?, parameter(&it)?)));
        Ok(StatementInputs {
            positional: positional.collect::<PyResult<_>>()?,
            named: named.collect::<PyResult<_>>()?,
            replacements: self.lookup.map(|it| Arc::new(Lookup::new(it)) as _),
            cancellation: Some(match self.token {
                Some(token) => token.get().0.clone(),
                None => session.cancellation(),
            }),
        })
    }
}

#[pymethods]
impl Connection {
    /// A session with these settings, by name.
    #[new]
    fn new(py: Python<'_>, settings: Vec<(String, String)>) -> PyResult<Connection> {
        let made = py.detach(|| -> Result<Session> {
            let mut all = Settings::default();
            settings.iter().try_for_each(|(name, value)| all.set(name, value))?;
            let builder = Session::builder().settings(all).extend(volley_preprocessing::register);
            table_function::add(aggregate::add(function::add(builder))).build()
        });
        let session = made.map_err(|it| exception(py, &it, None))?;
        Ok(Connection { session: Arc::new(session), process: std::process::id() })
    }

    /// Another session on the same tables.
    fn another(&self, py: Python<'_>) -> PyResult<Connection> {
        let session = Arc::new(self.session(py)?.another());
        Ok(Connection { session, process: self.process })
    }

    /// The statements of a text.
    fn parse(&self, py: Python<'_>, sql: &str) -> PyResult<Vec<Statement>> {
        let session = self.session(py)?;
        let parsed = py.detach(|| session.parse(sql));
        let parsed = parsed.map_err(|it| exception(py, &it, Some(sql)))?;
        let sql: Arc<str> = sql.into();
        let statement = |parsed| Statement { parsed: Arc::new(parsed), sql: Arc::clone(&sql) };
        Ok(parsed.into_iter().map(statement).collect())
    }

    /// What stops the statements that run with it, and no others.
    fn token(&self, py: Python<'_>) -> PyResult<Token> {
        Ok(Token(self.session(py)?.cancellation()))
    }

    /// Runs a statement: its rows, if it has rows; otherwise the number of rows written, if it is
    /// known. `encoded`: record batches keep dictionaries and runs.
    #[pyo3(signature = (
        statement, positional, named, lookup = None, *, encoded = false, token = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments of Python, most of them by name")]
    fn run(
        &self,
        py: Python<'_>,
        statement: &Statement,
        positional: Bound<'_, PyList>,
        named: Bound<'_, PyDict>,
        lookup: Option<Py<PyAny>>,
        encoded: bool,
        token: Option<Py<Token>>,
    ) -> PyResult<(Option<Rows>, Option<u64>)> {
        let session = Arc::clone(self.session(py)?);
        let inputs = Inputs { positional, named, lookup, token }.resolve(&session)?;
        let token = inputs.cancellation.clone().unwrap_or_default();
        let (parsed, sql) = (Arc::clone(&statement.parsed), Arc::clone(&statement.sql));
        let running = Arc::clone(&session);
        let start = move || match running.run_with(&parsed, &inputs)? {
            Outcome::Rows(rows) => Ok((Some(Begun::new(rows, encoded)?), None)),
            Outcome::Done(written) => Ok((None, written)),
        };
        let call = Call { token: &token, sql: Some(&statement.sql), session: Some(&session) };
        let (rows, written) = wait(py, call, start)?;
        Ok((rows.map(|it| Rows::new(it, session, token, sql)), written))
    }

    /// Names and types of the rows of a statement; `None` for one without rows.
    #[pyo3(signature = (statement, positional, named, lookup = None))]
    fn schema(
        &self,
        py: Python<'_>,
        statement: &Statement,
        positional: Bound<'_, PyList>,
        named: Bound<'_, PyDict>,
        lookup: Option<Py<PyAny>>,
    ) -> PyResult<Option<Vec<(String, String)>>> {
        let session = Arc::clone(self.session(py)?);
        let inputs = Inputs { positional, named, lookup, token: None }.resolve(&session)?;
        let token = inputs.cancellation.clone().unwrap_or_default();
        let parsed = Arc::clone(&statement.parsed);
        let call = Call { token: &token, sql: Some(&statement.sql), session: None };
        let schema = wait(py, call, move || session.schema_of(&parsed, &inputs))?;
        let pairs = |it: volley::Schema| {
            it.fields.into_iter().map(|it| (it.name, it.data_type.to_string())).collect()
        };
        Ok(schema.map(pairs))
    }

    /// Makes a table known under a name.
    fn register(&self, py: Python<'_>, name: &str, table: &Table) -> PyResult<()> {
        let session = self.session(py)?;
        let table = table.engine_table();
        py.detach(|| session.register_table(name, table)).map_err(|it| exception(py, &it, None))
    }

    /// Forgets a table or view; false if there was none.
    fn deregister(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let session = self.session(py)?;
        py.detach(|| session.deregister(name)).map_err(|it| exception(py, &it, None))
    }

    /// Stops all statements that run.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.session(py)?;
        py.detach(|| session.cancel());
        Ok(())
    }

    /// Names and documentation of all functions: name, kind, signature, description.
    fn functions(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String, String)>> {
        let docs = self.session(py)?.registry().package_docs();
        let row = docs.into_iter().map(|it| {
            let (name, kind) = (it.name.to_owned(), it.kind.to_string());
            (name, kind, it.doc.signature.clone(), it.doc.description.clone())
        });
        Ok(row.collect())
    }
}
