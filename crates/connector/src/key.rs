//! PRIMARY KEY and UNIQUE: which rows to be written have the key of another row.
//!
//! Many rows are looked for by a hash of every row of the table. A few can be looked up in an index
//! of the table's rows.

use crate::{
    KeyDefinition, KeyIndex,
    cancel_check::{CHECK_ROWS, check_at_row},
};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Comparable, Rows, Vector};

/// Bytes of a key's column per row, at most: a wide integer, or the view of a text.
const COLUMN_BYTES: usize = 16;

/// Rows with a key each.
pub struct Keys {
    columns: Vec<Comparable>,
}

impl Keys {
    /// The keys of `rows`, whose columns are the key's.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn new(rows: &Batch) -> Result<Keys> {
        let columns = rows.columns().iter().map(Comparable::new).collect::<Result<_>>()?;
        Ok(Keys { columns })
    }

    /// Whether a part of the key is null, which makes it equal to no other.
    pub fn has_null(&self, row: usize) -> bool {
        self.columns.iter().any(|it| it.is_null(row))
    }

    /// Whether the key of a row is that of a row of `other`, whose types are the same.
    pub fn is_equal(&self, row: usize, other: &Keys, other_row: usize) -> bool {
        let mut pairs = self.columns.iter().zip(&other.columns);
        pairs.all(|(a, b)| a.compare(row, b, other_row).is_eq())
    }
}

/// Rows to be written, by their keys.
pub struct NewKeys {
    rows: Batch,
    keys: Keys,
    hashes: Vec<u64>,
    /// The rows with a key that no earlier one has, and whether there are any.
    index: KeyIndex,
    has_keys: bool,
    /// The rows whose key another one has.
    found: Vec<bool>,
    _charge: Reservation,
}

impl NewKeys {
    /// Those of `rows`: batches of the table's columns, one after the other. Keys that an earlier
    /// one of them has are found.
    ///
    /// # Errors
    ///
    /// Out of memory, cancelled, what a lazy column's loader reports.
    pub fn new(
        key: &KeyDefinition,
        schema: &Schema,
        rows: &[Batch],
        pool: &Pool,
    ) -> Result<NewKeys> {
        let fields = key.columns.iter().filter_map(|it| schema.fields.get(*it));
        let types: Vec<Type> = fields.map(|it| it.data_type.clone()).collect();
        let count: usize = rows.iter().map(Batch::rows).sum();
        let mut charge = pool.child("keys").reservation();
        let row_bytes = types.len() * COLUMN_BYTES + size_of::<u64>() + size_of::<bool>();
        charge.grow(count.saturating_mul(row_bytes))?;
        let index = KeyIndex::with_room(count, pool)?;
        let columns = key.columns.iter().zip(&types).map(|(column, data_type)| {
            let parts: Vec<Vector> = rows.iter().map(|it| it.column(*column).clone()).collect();
            Vector::concat_checked(data_type, &parts, &check_cancelled)
        });
        let rows = Batch::new(columns.collect::<Result<_>>()?, count);
        let (keys, hashes) = (Keys::new(&rows)?, key_hashes(&rows)?);
        let found = vec![false; count];
        let mut new =
            NewKeys { rows, keys, hashes, index, has_keys: false, found, _charge: charge };
        new.find_among_themselves()?;
        Ok(new)
    }

    fn find_among_themselves(&mut self) -> Result<()> {
        for (row, hash) in self.hashes.iter().enumerate() {
            check_at_row(row)?;
            if self.keys.has_null(row) {
                continue;
            }
            if self.row_equal_to(*hash, &self.keys, row).is_some() {
                self.found[row] = true;
            } else {
                self.index.insert(row, *hash);
                self.has_keys = true;
            }
        }
        Ok(())
    }

    /// The row in the index whose key that of row `row` of `other` is, which has this hash.
    fn row_equal_to(&self, hash: u64, other: &Keys, row: usize) -> Option<usize> {
        let mut rows = self.index.rows(hash).filter(|it| self.hashes[*it] == hash);
        rows.find(|it| self.keys.is_equal(*it, other, row))
    }

    /// Whether any row has a key without a null part.
    pub fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.found.len()
    }

    /// Hashes of the keys that no part of is null.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        let hashes = self.hashes.iter().enumerate();
        hashes.filter(|it| !self.keys.has_null(it.0)).map(|it| *it.1)
    }

    /// The keys: a column per column of the key.
    pub fn keys(&self) -> &Batch {
        &self.rows
    }

    /// Notes that another row has the key of `row`.
    pub fn set_found(&mut self, row: usize) {
        if let Some(found) = self.found.get_mut(row) {
            *found = true;
        }
    }

    /// The rows whose key another one has that was found.
    pub fn found(&self) -> Rows {
        let found = self.found.iter().enumerate().filter(|it| *it.1).map(|it| it.0);
        Rows::from_indices(self.found.len(), found)
    }

    /// The rows with a key without a null that no other row has which was found.
    pub fn not_found(&self) -> impl Iterator<Item = usize> {
        let rows = self.found.iter().enumerate().filter(|it| !*it.1).map(|it| it.0);
        rows.filter(|it| !self.keys.has_null(*it))
    }

    /// Finds the rows whose key one of `stored` has that `counts`; its columns are the key's.
    ///
    /// # Errors
    ///
    /// Cancelled, what a lazy column's loader reports.
    pub fn find_in(&mut self, stored: &Batch, counts: impl Fn(usize) -> bool) -> Result<()> {
        let old = Keys::new(stored)?;
        for (row, hash) in key_hashes(stored)?.iter().enumerate() {
            check_at_row(row)?;
            if counts(row)
                && let Some(found) = self.row_equal_to(*hash, &old, row)
            {
                self.found[found] = true;
            }
        }
        Ok(())
    }

    /// As [`NewKeys::find_in`], by an index of `stored`: for few rows.
    ///
    /// # Errors
    ///
    /// As [`NewKeys::find_in`].
    pub fn find_by_index(
        &mut self,
        index: &KeyIndex,
        stored: &Batch,
        counts: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let old = Keys::new(stored)?;
        for (row, hash) in self.hashes.iter().enumerate() {
            check_at_row(row)?;
            if !self.found[row] && !self.keys.has_null(row) {
                let mut rows = index.rows(*hash).filter(|it| counts(*it));
                self.found[row] = rows.any(|it| self.keys.is_equal(row, &old, it));
            }
        }
        Ok(())
    }
}

/// A hash of every row's key. Equal keys have equal hashes.
///
/// # Errors
///
/// Cancelled, what a lazy column's loader reports.
pub fn key_hashes(rows: &Batch) -> Result<Vec<u64>> {
    let mut hashes = vec![0; rows.rows()];
    for (index, column) in rows.columns().iter().enumerate() {
        for (part, hashes) in hashes.chunks_mut(CHECK_ROWS).enumerate() {
            check_cancelled()?;
            let column = column.slice(part * CHECK_ROWS, hashes.len());
            match index {
                0 => column.hash_into(hashes)?,
                _ => column.hash_combine_into(hashes)?,
            }
        }
    }
    Ok(hashes)
}

/// The error that row `row` of `new` has the key of another one.
///
/// # Errors
///
/// What a lazy column's loader reports.
pub fn duplicate_key(
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
    let constraint = match (&key.index, key.is_primary) {
        (Some(name), _) => format!("unique index {name}"),
        (None, true) => "PRIMARY KEY".to_owned(),
        (None, false) => "UNIQUE".to_owned(),
    };
    Ok(Error::invalid_value(format!("duplicate key of {constraint}: {}", parts.join(", "))))
}

/// The batches without the rows in `left_out`, which counts through all of them.
///
/// # Errors
///
/// Cancelled.
pub fn without_rows(batches: Vec<Batch>, left_out: &Rows) -> Result<Vec<Batch>> {
    let mut start = 0;
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        check_cancelled()?;
        let rows = (0..batch.rows()).filter(|it| !left_out.contains(start + it));
        kept.push(batch.select(&Rows::from_indices(batch.rows(), rows)));
        start += batch.rows();
    }
    Ok(kept)
}
