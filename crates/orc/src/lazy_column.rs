//! Columns that are decoded on first use.
//!
//! A lazy column shares its reader with the columns of later batches. Readers go forward only: rows
//! of batches that were not loaded are passed over by the next load, whole row groups without
//! decompression where there is a row index. Once the source has moved on, loading is an error.

use crate::{column::ColumnReader, error::corrupt, row_index::StripeIndexes};
use std::{
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{Loader, Vector};

/// Rows that are passed over before it is asked again whether the query goes on.
const SKIP_ROWS: usize = 1 << 16;

/// A column's reader, shared by the lazy vectors of its batches.
pub(crate) struct SharedColumn {
    reader: Mutex<Forward>,
    /// The first row of the current batch.
    current: Arc<AtomicUsize>,
    data_type: Type,
    /// For messages: file, stripe, column.
    place: (String, usize, String),
}

/// A reader and how far it is.
struct Forward {
    reader: ColumnReader,
    row: usize,
    indexes: Arc<StripeIndexes>,
}

impl SharedColumn {
    /// A column of a stripe that begins; `current`: the first row of the batch that may be loaded.
    pub fn new(
        reader: ColumnReader,
        indexes: Arc<StripeIndexes>,
        current: Arc<AtomicUsize>,
        place: (String, usize, String),
    ) -> SharedColumn {
        let data_type = reader.data_type.clone();
        SharedColumn {
            reader: Mutex::new(Forward { reader, row: 0, indexes }),
            current,
            data_type,
            place,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Forward> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that its streams have read from the file themselves.
    pub fn bytes_read(&self) -> u64 {
        self.lock().reader.bytes_read()
    }

    fn in_place(&self, error: Error) -> Error {
        let (file, stripe, column) = &self.place;
        error.at("file", file).at("stripe", stripe).at("column", column)
    }
}

impl Forward {
    /// Passes over the rows before `row`.
    fn pass_to(&mut self, row: usize) -> Result<()> {
        let left = row.checked_sub(self.row);
        let left = left.ok_or_else(|| Error::internal("rows are read forward only"))?;
        let stride = self.indexes.stride.max(1);
        let group = row / stride;
        if left > 0
            && self.indexes.groups() > 0
            && group > self.row / stride
            && self.reader.can_seek(&self.indexes, group)
        {
            self.reader.seek(group, &self.indexes)?;
            self.row = group * stride;
        }
        while self.row < row {
            check_cancelled()?;
            let rows = (row - self.row).min(SKIP_ROWS);
            self.reader.skip(rows)?;
            self.row += rows;
        }
        Ok(())
    }

    fn read(&mut self, rows: Range<usize>, selection: Option<&[u32]>) -> Result<Vector> {
        self.pass_to(rows.start)?;
        let vector = self.reader.read(rows.len(), None, selection)?;
        self.row = rows.end;
        Ok(vector)
    }
}

/// Decodes a column of one batch.
pub(crate) struct ColumnLoader {
    /// The columns of the stripe, and which one of them.
    pub columns: Arc<[SharedColumn]>,
    pub place: usize,
    /// The batch.
    pub rows: Range<usize>,
    /// The rows of the batch to be decoded, counted from its first; all when `None`.
    pub selection: Option<Arc<[u32]>>,
}

impl ColumnLoader {
    /// A vector to be decoded on first use.
    pub fn into_vector(self) -> Result<Vector> {
        let len = self.selection.as_ref().map_or(self.rows.len(), |it| it.len());
        let data_type = self.column()?.data_type.clone();
        Ok(Vector::lazy(data_type, len, Box::new(self)))
    }

    fn column(&self) -> Result<&SharedColumn> {
        let column = self.columns.get(self.place);
        column.ok_or_else(|| Error::internal("column that was not asked for"))
    }
}

impl Loader for ColumnLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        check_cancelled()?;
        let column = self.column()?;
        if column.current.load(Ordering::Acquire) != self.rows.start {
            return Err(Error::internal("lazy column loaded after its scan went on"));
        }
        let composed: Vec<u32>;
        let selection = match (&self.selection, rows) {
            (None, rows) => rows,
            (Some(selection), None) => Some(&**selection),
            (Some(selection), Some(rows)) => {
                let row = |it: &u32| selection.get(*it as usize).copied();
                composed = rows.iter().filter_map(row).collect();
                Some(composed.as_slice())
            }
        };
        if selection.is_some_and(|it| it.last().is_some_and(|it| *it as usize >= self.rows.len())) {
            return Err(Error::internal("row beyond the batch"));
        }
        let wanted = selection.map_or(self.rows.len(), <[u32]>::len);
        let mut reader = column.lock();
        let vector = reader.read(self.rows.clone(), selection).map_err(|it| column.in_place(it))?;
        if vector.len() != wanted {
            return Err(column.in_place(corrupt("column with a wrong number of rows")));
        }
        Ok(vector)
    }
}
