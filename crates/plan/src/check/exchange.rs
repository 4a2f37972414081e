//! Checks exchanges between tasks.

use super::{group_keys, misfit, sort_keys, types};
use crate::Routing;
use volley_error::Result;
use volley_types::Schema;

impl Routing {
    /// Checks that rows with these columns can be distributed so.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        let input = types(schema);
        match self {
            Routing::Merge(keys) => sort_keys(keys, &input),
            Routing::Hash(keys) => group_keys(keys, &input),
            Routing::Range(range) => {
                sort_keys(&range.keys, &input)?;
                match range.bounds.iter().all(|it| it.len() == range.keys.len()) {
                    true => Ok(()),
                    false => Err(misfit("a bound of another number of values than keys")),
                }
            }
            Routing::Gather
            | Routing::Any
            | Routing::Broadcast
            | Routing::Forward
            | Routing::Replicate => Ok(()),
        }
    }
}
