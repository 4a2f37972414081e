//! The source of the numbers of `nextval`.

use std::fmt;
use volley_error::{Error, Result};

/// The sequences that a session sees.
pub trait Sequences: fmt::Debug + Send + Sync {
    /// Fills `numbers` with the next numbers of a sequence. No other caller receives the same
    /// numbers.
    ///
    /// # Errors
    ///
    /// Invalid query: no such sequence. Invalid value: it is at its end, or comes to it.
    fn next(&self, name: &str, numbers: &mut [i64]) -> Result<()>;

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
    fn next(&self, name: &str, _numbers: &mut [i64]) -> Result<()> {
        self.current(name).map(drop)
    }

    fn current(&self, name: &str) -> Result<i64> {
        Err(Error::invalid_query(format!("no such sequence: {name}")))
    }
}
