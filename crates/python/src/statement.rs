//! Parsed statements.

use pyo3::prelude::*;
use std::sync::Arc;
use volley::ParsedStatement;

/// A statement, and the text that it comes from.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Statement {
    pub(crate) parsed: Arc<ParsedStatement>,
    /// The whole text, which places in errors count in.
    pub(crate) sql: Arc<str>,
}

#[pymethods]
impl Statement {
    /// Whether it is a query that changes nothing, which may run later, and more than once.
    fn is_query(&self) -> bool {
        self.parsed.is_query()
    }

    /// The statement's own text.
    fn text(&self) -> &str {
        self.parsed.text()
    }

    /// The names of its parameters: numbers for those by position.
    fn parameters(&self) -> Vec<String> {
        self.parsed.parameters().to_vec()
    }

    /// The names of tables that it mentions, in the order of their first use.
    fn table_names(&self) -> Vec<String> {
        self.parsed.table_names()
    }
}
