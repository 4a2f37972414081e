//! Where the rows of a batch are, by the hashes of their keys.

use crate::{
    cancel_check::check_at_row,
    key::{Keys, key_hashes},
};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation};
use volley_vector::Batch;

/// A table of open addressing: a row is in the first free slot from that of its hash on.
pub struct KeyIndex {
    /// Rows, counted from 1; 0 where there is none. At least half of them, and a power of two.
    slots: Vec<u32>,
    _charge: Reservation,
}

/// The indexes of a batch, by the columns of the key. Shared by the versions of a table that share
/// these columns.
#[derive(Clone, Default)]
pub struct KeyIndexes(Arc<Mutex<Vec<(Vec<usize>, Arc<KeyIndex>)>>>);

impl KeyIndex {
    /// The index of keys, without those that have a null part; `None` when there is no memory for
    /// it.
    ///
    /// # Errors
    ///
    /// Cancelled.
    pub fn new(keys: &Batch, pool: &Pool) -> Result<Option<KeyIndex>> {
        let mut index = match KeyIndex::with_room(keys.rows(), pool) {
            Ok(index) => index,
            Err(error) if error.kind() == ErrorKind::OutOfMemory => return Ok(None),
            Err(error) => return Err(error),
        };
        let (columns, hashes) = (Keys::new(keys)?, key_hashes(keys)?);
        for (row, hash) in hashes.iter().enumerate() {
            check_at_row(row)?;
            if !columns.has_null(row) {
                index.insert(row, *hash);
            }
        }
        Ok(Some(index))
    }

    /// An empty index with a capacity for this number of rows.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn with_room(rows: usize, pool: &Pool) -> Result<KeyIndex> {
        if rows >= u32::MAX as usize {
            return Err(Error::new(ErrorKind::OutOfMemory, "too many rows with a key"));
        }
        let count = rows.saturating_mul(2).next_power_of_two();
        let mut charge = pool.child("index of a key").reservation();
        charge.grow(count.saturating_mul(size_of::<u32>()))?;
        Ok(KeyIndex { slots: vec![0; count], _charge: charge })
    }

    /// Adds a row; no more rows than there is room for.
    pub fn insert(&mut self, row: usize, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = row as u32 + 1;
    }

    /// Rows that may have a key with this hash; some have another one.
    pub fn rows(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mask = self.slots.len() - 1;
        let from = hash as usize & mask;
        // Half of the slots are free, so that the walk ends.
        let slots = (0..self.slots.len()).map(move |it| self.slots[(from + it) & mask]);
        slots.take_while(|it| *it != 0).map(|it| it as usize - 1)
    }
}

impl KeyIndexes {
    /// The index of these columns, made by `make` when there is none.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn get(
        &self,
        columns: &[usize],
        make: impl FnOnce() -> Result<Option<KeyIndex>>,
    ) -> Result<Option<Arc<KeyIndex>>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, index)) = made.iter().find(|it| it.0 == columns) {
            return Ok(Some(Arc::clone(index)));
        }
        let Some(index) = make()?.map(Arc::new) else { return Ok(None) };
        made.push((columns.to_vec(), Arc::clone(&index)));
        Ok(Some(index))
    }

    /// Those that are left when a column changes.
    pub fn without(&self, column: usize) -> KeyIndexes {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = made.iter().filter(|it| !it.0.contains(&column)).cloned().collect();
        KeyIndexes(Arc::new(Mutex::new(left)))
    }
}
