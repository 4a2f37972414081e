//! Runs a plan for each tuple.

use volley_error::{Error, Result};
use volley_types::Schema;

/// Runs the plan of its second input once for each row of its first input, the tuples, and returns
/// the rows of all runs, in any order. [`crate::sub::Parameter`]s with its id return the tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NestedMap {
    /// Identity within the plan.
    pub id: u32,
}

impl NestedMap {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        match inputs {
            [_, plan] => Ok((*plan).clone()),
            _ => Err(Error::invalid_query("a nested map has two inputs: tuples and a plan")),
        }
    }
}
