//! The types of CREATE TYPE.

use crate::{Session, planning::StatementContext, statement::rows_of};
use std::collections::HashSet;
use volley_connector::TypeEntry;
use volley_error::{Error, Result};
use volley_sql::TypeDefinition;
use volley_types::custom::Enumeration;

/// A type and its name; runs the query of an ENUM.
pub(crate) fn named_type(
    session: &Session,
    name: String,
    definition: TypeDefinition,
    cx: &StatementContext,
) -> Result<TypeEntry> {
    let query = match definition {
        TypeDefinition::Type { data_type, named_types } => {
            return Ok(TypeEntry { name, data_type, named_types });
        }
        TypeDefinition::Labels(query) => query,
    };
    let rows = rows_of(session, query, cx)?;
    let (mut labels, mut known) = (Vec::new(), HashSet::new());
    for batch in &rows.batches {
        for value in batch.column(0).to_values()? {
            if let Some(label) = value.as_str()
                && known.insert(label.to_owned())
            {
                labels.push(label.to_owned());
            }
        }
    }
    let data_type = Enumeration::data_type(labels).map_err(Error::invalid_query)?;
    Ok(TypeEntry { name, data_type, named_types: Vec::new() })
}
