//! Values of a few rows, without a plan of all changes.

use crate::{BLOCK_ROWS, Segment, SegmentVersion, points::SharedReader, table_view::no_row};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::Result;
use volley_pdt::{RowName, Sid, ValueAt, View};
use volley_types::Type;
use volley_vector::{Batch, Vector};

impl SegmentVersion {
    /// The values of existing rows in their order, one after the other: for few rows.
    ///
    /// # Errors
    ///
    /// I/O, corruption; internal: a row that does not exist.
    pub(crate) fn values_of(
        &self,
        view: View<'_>,
        names: &[RowName],
        columns: &[usize],
        types: &[Type],
    ) -> Result<Batch> {
        let keys = names.iter().map(|it| view.live_key(*it).ok_or_else(no_row));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let vectors = columns.iter().map(|column| {
            let data_type = types.get(*column).ok_or_else(no_row)?;
            let mut values = Vec::with_capacity(keys.len());
            for key in &keys {
                let value = view.value_at(*key, *column as u32).ok_or_else(no_row)?;
                values.push(match value {
                    ValueAt::Base(sid) => self.segment.value(*column, sid, data_type)?,
                    ValueAt::Row(values, row) => values.slice(row as usize, 1).flatten()?,
                });
            }
            Vector::concat(data_type, &values)?.flatten()
        });
        Ok(Batch::new(vectors.collect::<Result<_>>()?, names.len()))
    }
}

impl Segment {
    /// The value of a base row. The block stays open in a cache.
    fn value(&self, column: usize, sid: Sid, data_type: &Type) -> Result<Vector> {
        let block = sid / BLOCK_ROWS;
        let at = sid - block * BLOCK_ROWS;
        let reader = self.shared_reader(column, block, data_type)?;
        let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(at..at + 1, None)?.flatten()
    }

    fn shared_reader(&self, column: usize, block: u32, data_type: &Type) -> Result<SharedReader> {
        let cached = self.block(column, block).map(|it| (it.file.points(), it.address));
        let known = cached.and_then(|(cache, at)| cache.reader(at.file, at.offset));
        if let Some(reader) = known {
            return Ok(reader);
        }
        let reader = Arc::new(Mutex::new(self.open(column, block, data_type)?));
        if let Some((cache, at)) = cached {
            cache.put_reader(at.file, at.offset, at.bytes as usize, &reader);
        }
        Ok(reader)
    }
}
