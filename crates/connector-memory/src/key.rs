//! PRIMARY KEY and UNIQUE: which rows to be written meet others of a table in memory.
//!
//! Many rows are looked for by a hash of every row of the table. A few are looked up in an index
//! per large batch, which is made when it is first needed and goes with the batch from version to
//! version.

use crate::batch::StoredBatch;
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{KeyDefinition, KeyIndex, KeyLookup, Keys, NewKeys, key_hashes};
use volley_error::Result;
use volley_memory::{Pool, check_cancelled};
use volley_types::Schema;
use volley_vector::{Batch, Rows};

/// The minimum ratio of rows of a batch to looked-up rows for which an index is used.
const ROWS_PER_LOOKUP: usize = 16;

/// Smaller batches are hashed each time: their indexes would be charged more than they hold.
const INDEXED_ROWS_MIN: usize = 4096;

/// The rows of `stored` that have a key of `lookup`, by batch; `None` when there is no memory for
/// an index.
pub(crate) fn find(
    lookup: &KeyLookup,
    stored: &[StoredBatch],
    pool: &Pool,
) -> Result<Option<BTreeMap<usize, Vec<u32>>>> {
    let (wanted, hashes) = (Keys::new(&lookup.keys)?, key_hashes(&lookup.keys)?);
    let mut found = BTreeMap::new();
    for (number, batch) in stored.iter().enumerate() {
        check_cancelled()?;
        let keys = batch.batch().project(&lookup.columns);
        let least_rows = lookup.keys.rows().saturating_mul(ROWS_PER_LOOKUP).max(INDEXED_ROWS_MIN);
        let index = match least_rows <= keys.rows() {
            true => batch.key_index(&lookup.columns, || KeyIndex::new(&keys, pool))?,
            false => None,
        };
        let index = match index {
            Some(index) => Some(index),
            None => KeyIndex::new(&keys, pool)?.map(Arc::new),
        };
        let Some(index) = index else { return Ok(None) };
        let stored = Keys::new(&keys)?;
        let is_equal = |row: usize, key: usize| {
            batch.live().is_none_or(|it| it.contains(row)) && stored.is_equal(row, &wanted, key)
        };
        let mut rows: Vec<u32> = Vec::new();
        for (key, hash) in hashes.iter().enumerate() {
            rows.extend(index.rows(*hash).filter(|it| is_equal(*it, key)).map(|it| it as u32));
        }
        if !rows.is_empty() {
            rows.sort_unstable();
            found.insert(number, rows);
        }
    }
    Ok(Some(found))
}

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
    find_keys(&mut new, &key.columns, stored, replaced, pool)?;
    Ok(new.found())
}

/// Marks the keys that rows of `stored` have in `columns`, where those in `replaced` (by batch) do
/// not count.
pub(crate) fn find_keys(
    keys: &mut NewKeys,
    columns: &[usize],
    stored: &[StoredBatch],
    replaced: &BTreeMap<usize, Rows>,
    pool: &Pool,
) -> Result<()> {
    if !keys.has_keys() {
        return Ok(());
    }
    let least_rows = keys.rows().saturating_mul(ROWS_PER_LOOKUP).max(INDEXED_ROWS_MIN);
    for (index, batch) in stored.iter().enumerate() {
        check_cancelled()?;
        let rows = batch.batch().project(columns);
        let replaced = replaced.get(&index);
        let counts = |row: usize| {
            batch.live().is_none_or(|it| it.contains(row))
                && replaced.is_none_or(|it| !it.contains(row))
        };
        let index = match least_rows <= rows.rows() {
            true => batch.key_index(columns, || KeyIndex::new(&rows, pool))?,
            false => None,
        };
        match index {
            Some(index) => keys.find_by_index(&index, &rows, counts)?,
            None => keys.find_in(&rows, counts)?,
        }
    }
    Ok(())
}
