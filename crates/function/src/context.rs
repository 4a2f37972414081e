//! What evaluation carries along.

use crate::RowErrors;
use std::sync::Arc;
use volley_error::Error;

/// The state of one evaluation of a set of expressions over a batch.
#[derive(Debug, Default)]
pub struct EvalContext {
    /// Rows that failed so far.
    pub errors: RowErrors,
    /// Whether errors will be discarded unread (inside TRY): do not build messages.
    pub errors_discarded: bool,
    /// Constants of the query.
    pub query: Arc<QueryConstants>,
}

/// What is the same for every row of a query.
#[derive(Clone, Debug, Default)]
pub struct QueryConstants {
    /// `now()`: microseconds since 1970-01-01 00:00:00 UTC, read once when the query starts.
    pub now_micros: i64,
    /// The session's time zone, an IANA name; empty for UTC.
    pub time_zone: String,
}

impl EvalContext {
    /// A context for one evaluation.
    pub fn new(query: Arc<QueryConstants>) -> EvalContext {
        EvalContext { query, ..EvalContext::default() }
    }

    /// Records that `row` failed; `error` runs only if somebody will read its message.
    pub fn fail(&mut self, row: usize, error: impl FnOnce() -> Error) {
        let error = (!self.errors_discarded).then(error);
        self.errors.add(row, error);
    }
}
