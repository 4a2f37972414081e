//! The batches of a table, with their charges and the rows that are left of them.

use crate::statistics::ColumnSummary;
use std::sync::{Arc, OnceLock};
use volley_connector::{Bounds, KeyIndex, KeyIndexes};
use volley_error::Result;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::Type;
use volley_vector::{Batch, Rows, Vector};

/// About the most rows of a batch that small ones are merged into.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// A batch of fewer bytes has one charge: a charge is rounded up, and small columns are many.
const SMALL_BYTES: usize = 1 << 18;

/// Rows of a table. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoredBatch {
    /// Flat columns.
    batch: Batch,
    /// The rows that were not deleted; `None` for all of them.
    live: Option<Rows>,
    /// The bytes of each column, shared by all versions that share the column; of a small batch, of
    /// all columns together.
    charges: Vec<Arc<Reservation>>,
    indexes: KeyIndexes,
    /// One per column, computed on first use and shared by all versions with the same rows of the
    /// column.
    summaries: Vec<Summary>,
}

type Summary = Arc<OnceLock<ColumnSummary>>;

impl StoredBatch {
    /// The bytes of its columns.
    pub fn bytes(&self) -> usize {
        self.batch.columns().iter().map(Vector::retained_bytes).sum()
    }

    /// A batch that keeps alive no more than its own rows.
    pub fn new(columns: Vec<Vector>, rows: usize, pool: &Pool) -> Result<StoredBatch> {
        let columns = columns.into_iter().map(|it| it.flatten()).collect::<Result<Vec<_>>>()?;
        let bytes: usize = columns.iter().map(Vector::retained_bytes).sum();
        let charges = if bytes < SMALL_BYTES {
            vec![charged(bytes, pool)?; columns.len()]
        } else {
            let columns = columns.iter().map(|it| charged(it.retained_bytes(), pool));
            columns.collect::<Result<_>>()?
        };
        Ok(StoredBatch {
            summaries: unknown_summaries(columns.len()),
            batch: Batch::new(columns, rows),
            live: None,
            charges,
            indexes: KeyIndexes::default(),
        })
    }

    /// As [`StoredBatch::new`], but flat columns are shared with their owner and not charged.
    pub fn sharing(columns: Vec<Vector>, rows: usize, pool: &Pool) -> Result<StoredBatch> {
        let mut copied_bytes = 0;
        let mut flat = Vec::with_capacity(columns.len());
        for column in columns {
            let is_shared = column.flat_values().is_some();
            let column = column.flatten()?;
            copied_bytes += if is_shared { 0 } else { column.retained_bytes() };
            flat.push(column);
        }
        Ok(StoredBatch {
            charges: vec![charged(copied_bytes, pool)?; flat.len()],
            summaries: unknown_summaries(flat.len()),
            batch: Batch::new(flat, rows),
            live: None,
            indexes: KeyIndexes::default(),
        })
    }

    /// The rows, deleted ones included.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The rows that were not deleted; `None` for all.
    pub fn live(&self) -> Option<&Rows> {
        self.live.as_ref()
    }

    /// How many rows were not deleted.
    pub fn rows(&self) -> usize {
        self.live.as_ref().map_or(self.batch.rows(), Rows::count)
    }

    /// The rows that were not deleted, for reading.
    pub fn rows_left(&self) -> Batch {
        match &self.live {
            Some(live) => self.batch.select(live),
            None => self.batch.clone(),
        }
    }

    /// The summary of the rows of a column that were not deleted; `None`: there is no such column.
    pub fn summary(&self, column: usize) -> Option<ColumnSummary> {
        let summary = self.summaries.get(column)?;
        let make = || ColumnSummary::new(self.batch.column(column), self.live.as_ref());
        Some(*summary.get_or_init(make))
    }

    /// The bounds of the rows of a column that were not deleted; nothing is known of the row ids.
    pub fn bounds(&self, column: usize) -> Bounds {
        let summary = self.summary(column);
        summary.map_or_else(Bounds::default, |it| it.bounds(self.batch.column(column).data_type()))
    }

    /// Whether the summary of a column was computed.
    #[cfg(test)]
    pub fn knows_summary(&self, column: usize) -> bool {
        self.summaries.get(column).is_some_and(|it| it.get().is_some())
    }

    /// The index of the keys in these columns, of deleted rows, too; made when there is none.
    pub fn key_index(
        &self,
        columns: &[usize],
        make: impl FnOnce() -> Result<Option<KeyIndex>>,
    ) -> Result<Option<Arc<KeyIndex>>> {
        self.indexes.get(columns, make)
    }

    /// The batch without some more of its rows; copied once few are left.
    pub fn without(&self, deleted: &Rows, pool: &Pool) -> Result<StoredBatch> {
        let mut live = self.live.clone().unwrap_or_else(|| Rows::all(self.batch.rows()));
        live.subtract(deleted);
        if live.count() * 2 > self.batch.rows() {
            let summaries = self.summaries_without(deleted);
            return Ok(StoredBatch { live: Some(live), summaries, ..self.clone() });
        }
        let kept = self.batch.gather(&live.to_indices())?;
        let rows = kept.rows();
        StoredBatch::new(kept.into_columns(), rows, pool)
    }

    /// The summaries after a deletion: those that it changes in a known way, and unknown ones.
    fn summaries_without(&self, deleted: &Rows) -> Vec<Summary> {
        let mut gone = deleted.clone();
        if let Some(live) = &self.live {
            gone.intersect(live);
        }
        let columns = self.batch.columns().iter().zip(&self.summaries);
        let summaries = columns.map(|(column, known)| {
            let left = known.get().and_then(|it| it.without(column, &gone));
            Arc::new(left.map_or_else(OnceLock::new, OnceLock::from))
        });
        summaries.collect()
    }

    /// The batch with another vector in the place of column `index`.
    pub fn with_column(&self, index: usize, column: Vector, pool: &Pool) -> Result<StoredBatch> {
        let charge = charged(column.retained_bytes(), pool)?;
        let mut changed = self.clone();
        let mut columns = changed.batch.into_columns();
        if let (Some(old), Some(old_charge)) =
            (columns.get_mut(index), changed.charges.get_mut(index))
        {
            *old = column;
            *old_charge = charge;
        }
        changed.batch = Batch::new(columns, self.batch.rows());
        changed.indexes = self.indexes.without(index);
        if let Some(summary) = changed.summaries.get_mut(index) {
            *summary = Arc::default();
        }
        Ok(changed)
    }

    /// The batch with one more column of its (also the deleted) rows.
    pub fn with_added(&self, column: Vector, pool: &Pool) -> Result<StoredBatch> {
        let mut changed = self.clone();
        changed.charges.push(charged(column.retained_bytes(), pool)?);
        changed.summaries.push(Arc::default());
        let mut columns = changed.batch.into_columns();
        columns.push(column);
        changed.batch = Batch::new(columns, self.batch.rows());
        Ok(changed)
    }

    /// The batch without a column.
    pub fn without_column(&self, index: usize) -> StoredBatch {
        let kept: Vec<usize> = (0..self.charges.len()).filter(|it| *it != index).collect();
        StoredBatch {
            batch: self.batch.project(&kept),
            live: self.live.clone(),
            charges: kept.iter().filter_map(|it| self.charges.get(*it).cloned()).collect(),
            indexes: KeyIndexes::default(),
            summaries: kept.iter().filter_map(|it| self.summaries.get(*it).cloned()).collect(),
        }
    }
}

fn unknown_summaries(columns: usize) -> Vec<Summary> {
    (0..columns).map(|_| Summary::default()).collect()
}

/// Adds batches behind others. Small ones at the end are merged, each row about as often as the
/// number of rows has digits, so that a table made row by row has few batches.
pub(crate) fn append(
    batches: &mut Vec<StoredBatch>,
    added: Vec<StoredBatch>,
    types: &[Type],
    pool: &Pool,
) -> Result<()> {
    for batch in added {
        check_cancelled()?;
        batches.push(batch);
        while let [.., before, last] = batches.as_slice()
            && before.rows() <= last.rows().saturating_mul(2)
            && before.rows() + last.rows() <= BATCH_ROWS
        {
            let merged = Batch::concat(types, &[before.rows_left(), last.rows_left()])?;
            let rows = merged.rows();
            let merged = StoredBatch::new(merged.into_columns(), rows, pool)?;
            batches.truncate(batches.len() - 2);
            batches.push(merged);
        }
    }
    Ok(())
}

fn charged(bytes: usize, pool: &Pool) -> Result<Arc<Reservation>> {
    let mut charge = pool.reservation();
    charge.grow(bytes)?;
    Ok(Arc::new(charge))
}
