//! Names of tables in SQL that mean objects of Python.

use crate::{error::from_python, table::Table};
use pyo3::{prelude::*, types::PyString};
use volley::{Error, Replacement, Replacements, Result};

/// Asks a function of Python what a name means: a [`Table`], the text of a query, or `None`.
pub(crate) struct Lookup(Py<PyAny>);

impl Lookup {
    pub(crate) fn new(function: Py<PyAny>) -> Lookup {
        Lookup(function)
    }
}

impl Replacements for Lookup {
    fn find(&self, name: &str) -> Result<Option<Replacement>> {
        Python::attach(|py| {
            let found = self.0.bind(py).call1((name,)).map_err(|it| from_python(py, &it))?;
            if found.is_none() {
                return Ok(None);
            }
            if let Ok(text) = found.cast::<PyString>() {
                return Ok(Some(Replacement::Query(text.to_string())));
            }
            let table = found.cast::<Table>().map_err(|_| {
                Error::internal("a lookup of tables returned neither a table nor a text")
            })?;
            Ok(Some(Replacement::Table(table.get().engine_table())))
        })
    }
}
