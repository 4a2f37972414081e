//! PRIMARY KEY and UNIQUE: which rows to be written meet others of a table in memory.
//!
//! Many rows are looked for by a hash of every row of the table. A few are looked up in an index
//! per large batch, which is made when it is first needed and goes with the batch from version to
//! version.

use crate::batch::StoredBatch;
use std::collections::BTreeMap;
use volley_connector::{KeyDefinition, KeyIndex, NewKeys};
use volley_error::Result;
use volley_memory::{Pool, check_cancelled};
use volley_types::Schema;
use volley_vector::{Batch, Rows};

/// The minimum ratio of rows of a batch to looked-up rows for which an index is used.
const ROWS_PER_LOOKUP: usize = 16;

/// Smaller batches are hashed each time: their indexes would be charged more than they hold.
const INDEXED_ROWS_MIN: usize = 4096;

/// The rows of `new` (batches of the table's columns, one after the other) whose key an earlier one
/// of them has, or a row of `stored`, where those in `replaced` (by batch) do not count.
pub(crate) fn conflicts(
    key: &KeyDefinition,
    schema: &Schema,
    new: &[Batch],
    stored: &[StoredBatch],
    replaced: &BTreeMap<usize, Rows>,
    pool: &Pool,
) -> Result<Rows> {
    let mut new = NewKeys::new(key, schema, new, pool)?;
    if new.has_keys() {
        let least_rows = new.rows().saturating_mul(ROWS_PER_LOOKUP).max(INDEXED_ROWS_MIN);
        for (index, batch) in stored.iter().enumerate() {
            check_cancelled()?;
            let rows = batch.batch().project(&key.columns);
            let replaced = replaced.get(&index);
            let counts = |row: usize| {
                batch.live().is_none_or(|it| it.contains(row))
                    && replaced.is_none_or(|it| !it.contains(row))
            };
            let index = match least_rows <= rows.rows() {
                true => batch.key_index(&key.columns, || KeyIndex::new(&rows, pool))?,
                false => None,
            };
            match index {
                Some(index) => new.find_by_index(&index, &rows, counts)?,
                None => new.find_in(&rows, counts)?,
            }
        }
    }
    Ok(new.found())
}
