//! The tuple of the map around a plan.

use volley_error::{Error, Result};
use volley_types::Schema;

/// Returns the tuple that a [`crate::sub::NestedMap`] around it runs its plan for: one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// [`crate::sub::NestedMap::id`] of the map.
    pub map: u32,
    /// The columns of the tuple.
    pub schema: Schema,
}

impl Parameter {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        match inputs {
            [] => Ok(self.schema.clone()),
            _ => Err(Error::invalid_query("a parameter has no input")),
        }
    }
}
