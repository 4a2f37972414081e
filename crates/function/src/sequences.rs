//! Where `nextval` finds the numbers.

use std::fmt;
use volley_error::{Error, Result};

/// The sequences that a session sees.
pub trait Sequences: fmt::Debug + Send + Sync {
    /// The next number of a sequence, which nobody else gets.
    ///
    /// # Errors
    ///
    /// Invalid query: no such sequence. Invalid value: it is at its end.
    fn next(&self, name: &str) -> Result<i64>;

    /// The number that the session got last.
    ///
    /// # Errors
    ///
    /// Invalid query: no such sequence, or no number of it so far.
    fn current(&self, name: &str) -> Result<i64>;
}

/// No sequences.
#[derive(Debug)]
pub(crate) struct NoSequences;

impl Sequences for NoSequences {
    fn next(&self, name: &str) -> Result<i64> {
        Err(Error::invalid_query(format!("no such sequence: {name}")))
    }

    fn current(&self, name: &str) -> Result<i64> {
        self.next(name)
    }
}
