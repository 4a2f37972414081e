//! PRIMARY KEY and UNIQUE: which rows to be written meet others.
//!
//! Many rows are looked for by a hash of every row of the table. A few are looked up in an index
//! per large batch, which is made when it is first needed and goes with the batch from version to
//! version.

use crate::{batch::StoredBatch, key_index::KeyIndex};
use std::collections::HashMap;
use volley_connector::KeyDefinition;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::Schema;
use volley_vector::{Batch, Comparable, Rows};

/// Bytes of the table of hashes per row, about.
const BYTES_PER_ROW: usize = 64;

/// A batch is looked up in an index when it has at least so many rows for each that is looked for.
const ROWS_PER_LOOKUP: usize = 16;

/// Smaller batches are hashed each time: their indexes would be charged more than they hold.
const INDEXED_ROWS_MIN: usize = 4096;

/// Rows with a key each.
pub(crate) struct Keys {
    columns: Vec<Comparable>,
}

impl Keys {
    pub fn new(rows: &Batch) -> Result<Keys> {
        let columns = rows.columns().iter().map(Comparable::new).collect::<Result<_>>()?;
        Ok(Keys { columns })
    }

    /// Whether a part of the key is null, which makes it equal to no other.
    pub fn has_null(&self, row: usize) -> bool {
        self.columns.iter().any(|it| it.is_null(row))
    }

    fn is_equal(&self, row: usize, other: &Keys, other_row: usize) -> bool {
        let mut pairs = self.columns.iter().zip(&other.columns);
        pairs.all(|(a, b)| a.compare(row, b, other_row).is_eq())
    }
}

/// A hash of every row's key.
pub(crate) fn hashes(rows: &Batch) -> Result<Vec<u64>> {
    let mut hashes = vec![0; rows.rows()];
    for (index, column) in rows.columns().iter().enumerate() {
        match index {
            0 => column.hash_into(&mut hashes)?,
            _ => column.hash_combine_into(&mut hashes)?,
        }
    }
    Ok(hashes)
}

/// The rows of `new` (batches of the table's columns, one after the other) whose key an earlier one
/// of them has, or a row of `stored`, where those in `replaced` (by batch) do not count.
pub(crate) fn conflicts(
    key: &KeyDefinition,
    schema: &Schema,
    new: &[Batch],
    stored: &[StoredBatch],
    replaced: &HashMap<usize, Rows>,
    pool: &Pool,
) -> Result<Rows> {
    let fields = key.columns.iter().filter_map(|it| schema.fields.get(*it));
    let types: Vec<_> = fields.map(|it| it.data_type.clone()).collect();
    let parts: Vec<Batch> = new.iter().map(|it| it.project(&key.columns)).collect();
    let new_rows = Batch::concat(&types, &parts)?;
    let (new, new_hashes) = (Keys::new(&new_rows)?, hashes(&new_rows)?);
    let mut charge = pool.child("keys").reservation();
    charge.grow(new_hashes.len().saturating_mul(BYTES_PER_ROW))?;
    let mut by_hash: HashMap<u64, Vec<usize>> = HashMap::with_capacity(new_hashes.len());
    let mut found = vec![false; new_hashes.len()];
    for (row, hash) in new_hashes.iter().enumerate().filter(|it| !new.has_null(it.0)) {
        let before = by_hash.entry(*hash).or_default();
        if before.iter().any(|it| new.is_equal(row, &new, *it)) {
            found[row] = true;
        } else {
            before.push(row);
        }
    }
    if by_hash.is_empty() {
        return Ok(Rows::none(found.len()));
    }
    for (index, batch) in stored.iter().enumerate() {
        let rows = batch.batch().project(&key.columns);
        let old = Keys::new(&rows)?;
        let counts = |row: &usize| {
            batch.live().is_none_or(|it| it.contains(*row))
                && replaced.get(&index).is_none_or(|it| !it.contains(*row))
        };
        let least_rows = new_hashes.len().saturating_mul(ROWS_PER_LOOKUP).max(INDEXED_ROWS_MIN);
        if least_rows <= rows.rows()
            && let Some(index) = batch.key_index(&key.columns, || KeyIndex::new(&rows, pool))?
        {
            for (hash, candidates) in &by_hash {
                for row in index.rows(*hash).filter(counts) {
                    for candidate in candidates {
                        found[*candidate] |= new.is_equal(*candidate, &old, row);
                    }
                }
            }
            continue;
        }
        for (row, hash) in hashes(&rows)?.iter().enumerate().filter(|it| counts(&it.0)) {
            for candidate in by_hash.get(hash).into_iter().flatten() {
                found[*candidate] |= new.is_equal(*candidate, &old, row);
            }
        }
    }
    let found = found.iter().enumerate().filter(|it| *it.1).map(|it| it.0);
    Ok(Rows::from_indices(new_rows.rows(), found))
}

/// The error that the key of row `row` of `new` is there twice.
pub(crate) fn duplicate(
    key: &KeyDefinition,
    schema: &Schema,
    new: &[Batch],
    row: usize,
) -> Result<Error> {
    let mut before = 0;
    let batch = new.iter().find(|it| {
        before += it.rows();
        row < before
    });
    let Some(batch) = batch else { return Ok(Error::internal("no such row")) };
    let row = row - (before - batch.rows());
    let mut parts = Vec::new();
    for column in &key.columns {
        let Some(field) = schema.fields.get(*column) else { continue };
        let value = batch.column(*column).value(row)?;
        parts.push(format!("{} = {}", field.name, value.display(&field.data_type)));
    }
    let constraint = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
    Ok(Error::invalid_value(format!("duplicate key of {constraint}: {}", parts.join(", "))))
}
