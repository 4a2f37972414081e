//! The index of a segment's base rows.

use crate::{BLOCK_ROWS, Segment, points::PointCache};
use std::sync::Arc;
use volley_connector::{Keys, key_hashes};
use volley_error::Result;
use volley_memory::{Reservation, check_cancelled};
use volley_pdt::Sid;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Base rows by the upper half of their keys' hashes.
#[derive(Debug)]
pub(crate) struct SegmentIndex {
    /// The upper 32 bits of a hash, then the row; ascending.
    entries: Vec<u64>,
    charge: Reservation,
}

/// Of larger segments, an index is made when it is asked for a second time.
const ROWS_AT_ONCE: u32 = 1 << 18;

/// Rows whose keys are hashed at once.
const BATCH_ROWS: u32 = 8192;
const _: () = assert!(BLOCK_ROWS.is_multiple_of(BATCH_ROWS));

impl SegmentIndex {
    /// Reads the columns of a key and makes their index; `None` without memory for it. Rows with a
    /// null in the key are not in it.
    ///
    /// # Errors
    ///
    /// I/O, corruption, cancelled.
    pub(crate) fn build(
        segment: &Segment,
        columns: &[usize],
        types: &[Type],
        cache: &PointCache,
    ) -> Result<Option<SegmentIndex>> {
        let bytes = segment.rows() as usize * size_of::<u64>();
        let Some(charge) = cache.reserve(bytes) else { return Ok(None) };
        let mut entries = Vec::with_capacity(segment.rows() as usize);
        for block in 0..segment.blocks() {
            let rows = segment.block_rows(block);
            let mut readers = Vec::with_capacity(columns.len());
            for column in columns {
                let data_type = types.get(*column).cloned().unwrap_or(Type::Unknown);
                readers.push(segment.open(*column, block, &data_type)?);
            }
            for start in (rows.start..rows.end).step_by(BATCH_ROWS as usize) {
                check_cancelled()?;
                let end = rows.end.min(start + BATCH_ROWS);
                let within = start - rows.start..end - rows.start;
                let vectors = readers.iter_mut().map(|it| it.read(within.clone(), None)?.flatten());
                let vectors = vectors.collect::<Result<Vec<Vector>>>()?;
                let keys = Batch::new(vectors, (end - start) as usize);
                let (hashes, values) = (key_hashes(&keys)?, Keys::new(&keys)?);
                let rows = (0..).zip(hashes).filter(|it| !values.has_null(it.0));
                entries.extend(rows.map(|(row, hash)| entry(hash, start + row as Sid)));
            }
        }
        entries.sort_unstable();
        Ok(Some(SegmentIndex { entries, charge }))
    }

    /// The rows that may have a key with this hash.
    pub(crate) fn rows(&self, hash: u64) -> impl Iterator<Item = Sid> {
        let first = self.entries.partition_point(|it| *it < entry(hash, 0));
        let found = self.entries.get(first..).unwrap_or_default();
        found.iter().take_while(move |it| **it >> 32 == hash >> 32).map(|it| *it as Sid)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.charge.bytes()
    }
}

fn entry(hash: u64, row: Sid) -> u64 {
    hash >> 32 << 32 | u64::from(row)
}

impl Segment {
    /// The index of a key's columns, made if there is none; `None` without rows, without memory for
    /// it, or if the segment is large and this is the first time.
    ///
    /// # Errors
    ///
    /// I/O, corruption, cancelled.
    pub(crate) fn key_index(
        &self,
        columns: &[usize],
        types: &[Type],
    ) -> Result<Option<Arc<SegmentIndex>>> {
        let Some(cache) = self.point_cache() else { return Ok(None) };
        if let Some(index) = cache.index(self.id(), columns) {
            return Ok(Some(index));
        }
        if self.rows() > ROWS_AT_ONCE && !cache.was_asked(self.id(), columns) {
            return Ok(None);
        }
        let Some(index) = SegmentIndex::build(self, columns, types, cache)? else {
            return Ok(None);
        };
        let index = Arc::new(index);
        cache.put_index(self.id(), columns, &index);
        Ok(Some(index))
    }
}
