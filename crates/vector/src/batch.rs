//! A batch of rows: what operators pass to each other.

use crate::{Rows, Vector};
use arrow_buffer::ScalarBuffer;
use std::sync::Arc;
use volley_error::Result;

/// Columns of the same length. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The columns, in the order of the operator's output schema.
    columns: Vec<Vector>,
    rows: usize,
}

impl Batch {
    /// A batch of `rows` rows; `columns` may be empty (`SELECT count(*)`).
    ///
    /// # Panics
    ///
    /// If a column has another length.
    pub fn new(columns: Vec<Vector>, rows: usize) -> Batch {
        assert!(columns.iter().all(|it| it.len() == rows), "columns of different lengths");
        Batch { columns, rows }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// One column.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn column(&self, index: usize) -> &Vector {
        &self.columns[index]
    }

    /// The columns, by value.
    pub fn into_columns(self) -> Vec<Vector> {
        self.columns
    }

    /// The same rows with all lazy columns loaded.
    ///
    /// # Errors
    ///
    /// What a loader reports.
    pub fn loaded(self) -> Result<Batch> {
        if !self.columns.iter().any(Vector::is_lazy) {
            return Ok(self);
        }
        let columns = self.columns.iter().map(Vector::loaded).collect::<Result<Vec<_>>>()?;
        Ok(Batch { columns, rows: self.rows })
    }

    /// The columns at `indices`, in that order.
    pub fn project(&self, indices: &[usize]) -> Batch {
        let columns = indices.iter().map(|index| self.columns[*index].clone()).collect();
        Batch { columns, rows: self.rows }
    }

    /// The rows from `offset` on, `len` of them. Lazy columns must be loaded.
    pub fn slice(&self, offset: usize, len: usize) -> Batch {
        if offset == 0 && len == self.rows {
            return self.clone();
        }
        let columns = self.columns.iter().map(|it| it.slice(offset, len)).collect();
        Batch { columns, rows: len }
    }

    /// The selected rows: columns become dictionaries over one shared code buffer, nothing is
    /// copied. Lazy columns stay lazy.
    pub fn select(&self, rows: &Rows) -> Batch {
        if rows.is_all() {
            return self.clone();
        }
        if self.columns.is_empty() {
            return Batch { columns: Vec::new(), rows: rows.count() };
        }
        let codes: ScalarBuffer<u32> = rows.to_indices().into();
        self.wrap(&codes)
    }

    /// The rows `codes`, as dictionaries over the present columns.
    ///
    /// # Panics
    ///
    /// If a code is not a row.
    pub fn wrap(&self, codes: &ScalarBuffer<u32>) -> Batch {
        let mut composed = Vec::new();
        let columns = self.columns.iter().map(|it| it.wrap(codes, &mut composed)).collect();
        Batch { columns, rows: codes.len() }
    }

    /// Bytes of memory that the columns keep alive.
    pub fn retained_bytes(&self) -> usize {
        self.columns.iter().map(Vector::retained_bytes).sum()
    }

    /// Wraps the batch for sharing.
    pub fn shared(self) -> Arc<Batch> {
        Arc::new(self)
    }
}
