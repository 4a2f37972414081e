//! Rows of a build side in memory, on their way to tables.

use super::HashJoinSpec;
use volley_error::Result;
use volley_memory::Pool;
use volley_state::hash_table::JoinRows;
use volley_vector::{Batch, Decoded, Rows, ScalarBuffer, Vector};

/// The rows of one driver, or of a part of a partition.
pub(super) struct BuildRows {
    /// Those that may match.
    pub(super) matching: JoinRows,
    /// Only for null-aware joins with correlation.
    pub(super) correlated: Option<CorrelatedRows>,
}

/// For each probe row that is compared with `NOT IN` or `IN`: the rows that count.
pub(super) struct CorrelatedRows {
    /// Those that may match are among them.
    pub(super) all: JoinRows,
    /// Those with a null in the last key.
    pub(super) nulls: JoinRows,
}

impl BuildRows {
    /// No rows.
    pub(super) fn new(spec: &HashJoinSpec, pool: &Pool) -> BuildRows {
        let correlated = spec.has_correlation().then(|| CorrelatedRows {
            all: JoinRows::new(&spec.correlation_table(), pool),
            nulls: JoinRows::new(&spec.correlation_table(), pool),
        });
        BuildRows { matching: JoinRows::new(&spec.table(), pool), correlated }
    }

    /// Appends rows; `columns` as in tables.
    ///
    /// # Errors
    ///
    /// As [`JoinRows::append`].
    pub(super) fn append(&mut self, columns: &[Vector], rows: usize) -> Result<()> {
        let Some(correlated) = &mut self.correlated else {
            return self.matching.append(columns, rows);
        };
        correlated.all.append(columns, rows)?;
        let nulls = match columns.get(correlated.all.keys()) {
            Some(last_key) => null_rows(last_key)?,
            None => Rows::none(rows),
        };
        append(&mut correlated.nulls, columns, &nulls)?;
        let mut others = Rows::all(rows);
        others.subtract(&nulls);
        append(&mut self.matching, columns, &others)
    }

    /// As [`JoinRows::rows`].
    pub(super) fn rows(&self) -> usize {
        self.whole().rows()
    }

    /// Bytes charged for the rows and their indexes.
    pub(super) fn bytes(&self) -> usize {
        let correlated = self.correlated.as_ref();
        self.matching.bytes() + correlated.map_or(0, |it| it.all.bytes() + it.nulls.bytes())
    }

    /// As [`JoinRows::sample_keys`], of the keys by which rows are spread over partitions.
    ///
    /// # Errors
    ///
    /// Those of `take`.
    pub(super) fn sample_keys(
        &mut self,
        take: impl FnMut(&[Vector], usize) -> Result<()>,
    ) -> Result<()> {
        match &mut self.correlated {
            Some(correlated) => correlated.all.sample_keys(take),
            None => self.matching.sample_keys(take),
        }
    }

    /// As [`JoinRows::drain`].
    ///
    /// # Errors
    ///
    /// Those of `take`; cancelled.
    pub(super) fn drain(self, take: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        // What is there twice goes at once.
        match self.correlated {
            Some(correlated) => {
                drop((self.matching, correlated.nulls));
                correlated.all.drain(take)
            }
            None => self.matching.drain(take),
        }
    }

    /// All rows.
    fn whole(&self) -> &JoinRows {
        self.correlated.as_ref().map_or(&self.matching, |it| &it.all)
    }
}

/// Appends some of the rows of a batch.
fn append(to: &mut JoinRows, columns: &[Vector], rows: &Rows) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    if rows.is_all() {
        return to.append(columns, rows.len());
    }
    let codes: ScalarBuffer<u32> = rows.to_indices().into();
    let columns = Batch::new(columns.to_vec(), rows.len()).wrap(&codes);
    to.append(columns.columns(), codes.len())
}

/// The rows of a column that are null.
///
/// # Errors
///
/// What a lazy column's loader reports.
pub(super) fn null_rows(column: &Vector) -> Result<Rows> {
    let decoded = Decoded::new(column)?;
    let Some(nulls) = decoded.nulls() else { return Ok(Rows::none(column.len())) };
    let mut rows = Rows::all(column.len());
    let mut valid = Rows::all(column.len());
    valid.subtract_nulls(&nulls);
    rows.subtract(&valid);
    Ok(rows)
}
