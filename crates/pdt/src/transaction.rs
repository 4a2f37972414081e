//! What a transaction does: insert, delete and modify rows in its own layer.
//!
//! A statement collects names and values from its snapshot first; its changes enter the layer
//! afterwards, so that it never sees its own. Rows that do not exist (any more) are skipped.

use crate::{
    Column, InsertChunk, Key, Layers, Pdt, RowName, Sid, Stamp, ValueChunk,
    values::{bytes_to_copy, copy_batch, copy_vector},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::Batch;

impl Pdt {
    /// Inserts `rows` before base row `at`, behind what was inserted there before; the name of the
    /// first, the others follow. `at` is the number of base rows for rows at the end. Values are
    /// copied.
    ///
    /// # Errors
    ///
    /// Out of memory; more than 2^31 inserts; unsupported: nested opaque types; internal: columns
    /// of other types, a position beyond the end.
    pub fn insert(&mut self, at: Sid, rows: &Batch) -> Result<RowName> {
        let types = rows.columns().iter().map(|it| it.data_type());
        self.check_types(types, 0..self.types.len() as Column)?;
        if at > self.base_rows {
            return Err(Error::internal("an insert beyond the end of its segment"));
        }
        let count = u32::try_from(rows.rows()).map_err(|_| Error::internal("2^32 inserts"))?;
        self.budget.ensure(bytes_to_copy(rows)?)?;
        let chunk = InsertChunk::new(copy_batch(&[rows.clone()])?, at, &self.budget);
        let first = self.take_ids(count)?;
        self.values.inserts.push(first, Arc::new(chunk), &self.budget)?;
        if count > 0 {
            self.put_insert(Key::new(at, first), count, Stamp::PENDING)?;
        }
        Ok(RowName::Inserted(first))
    }

    /// Deletes rows; how many of them existed.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn delete(&mut self, below: &Layers, rows: &[RowName]) -> Result<usize> {
        let mut count = 0;
        for row in rows {
            let Some(key) = below.with(self).live_key(*row) else { continue };
            count += 1;
            if key.is_base() {
                self.put_delete(key.sid()..key.sid() + 1, Stamp::PENDING)?;
            } else {
                self.put_remove(key, Stamp::PENDING)?;
            }
        }
        Ok(count)
    }

    /// Deletes a range of base rows; how many of them existed. Takes as many entries as there are
    /// gaps between these rows.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn delete_range(&mut self, below: &Layers, sids: Range<Sid>) -> Result<u64> {
        let mut count = 0;
        for live in below.with(self).live(sids) {
            count += u64::from(live.end - live.start);
            self.put_delete(live, Stamp::PENDING)?;
        }
        Ok(count)
    }

    /// Sets `columns` of `rows`; how many rows existed. `values` has a column for each of
    /// `columns` and a row for each of `rows`; of a row that comes twice, the last values remain.
    /// Values are copied.
    ///
    /// # Errors
    ///
    /// Out of memory; unsupported: nested opaque types; internal: columns of other types, or
    /// another number of rows.
    pub fn modify(
        &mut self,
        below: &Layers,
        rows: &[RowName],
        columns: &[Column],
        values: &Batch,
    ) -> Result<usize> {
        self.check_types(
            values.columns().iter().map(|it| it.data_type()),
            columns.iter().copied(),
        )?;
        if values.rows() != rows.len() {
            return Err(Error::internal("not as many values as rows to modify"));
        }
        let keys: Vec<Option<Key>> = rows.iter().map(|it| below.with(self).live_key(*it)).collect();
        let count = keys.iter().flatten().count();
        if count == 0 {
            return Ok(0);
        }
        self.budget.ensure(bytes_to_copy(values)?)?;
        for (column, values) in columns.iter().zip(values.columns()) {
            let chunk = ValueChunk::new(copy_vector(&[values.clone()])?, &self.budget);
            let first = self.values.append_column(*column, Arc::new(chunk), &self.budget)?;
            for (value, key) in (first..).zip(&keys) {
                let Some(key) = key else { continue };
                self.put_modify(*key, *column, value, Stamp::PENDING)?;
            }
        }
        Ok(count)
    }

    fn check_types<'a>(
        &self,
        found: impl ExactSizeIterator<Item = &'a Type>,
        columns: impl ExactSizeIterator<Item = Column>,
    ) -> Result<()> {
        let is_same = found.len() == columns.len()
            && found.zip(columns).all(|(found, column)| {
                self.types.get(column as usize).is_some_and(|it| it == found)
            });
        if is_same {
            Ok(())
        } else {
            Err(Error::internal("values of other types than the table's"))
        }
    }
}
