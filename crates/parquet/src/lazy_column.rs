//! Columns that are decoded on first use.
//!
//! A lazy column shares its reader with the columns of later batches. Readers only move forward:
//! the next load skips rows of batches that were not loaded, whole pages without decompression.
//! Once the source has moved on, loading is an error.
//!
//! Large dictionaries are decompressed two at a time, when the columns of both were used in the row
//! group before.

use crate::{column::ColumnReader, error::corrupt, pages::decompress_dictionaries};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use volley_connector::ScanMetrics;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{Loader, Vector};

/// The maximum number of columns among which a partner for a dictionary is searched; the search is
/// quadratic.
const PAIRED_COLUMNS_MAX: usize = 1000;

/// Whether a column gets used, which many are not: where filters drop whole row groups.
#[derive(Default)]
pub(crate) struct Use {
    now: AtomicBool,
    before: AtomicBool,
}

impl Use {
    /// Whether a column that was used in the row group before has not been used in this one.
    fn is_expected(&self) -> bool {
        self.before.load(Ordering::Relaxed) && !self.now.load(Ordering::Relaxed)
    }
}

/// A column's reader, shared by the lazy vectors of its batches.
pub(crate) struct SharedColumn {
    reader: Mutex<ColumnReader>,
    /// The first row of the current batch.
    current: Arc<AtomicUsize>,
    data_type: Type,
    /// For messages: file, row group, column.
    place: (String, usize, String),
    uses: Arc<Use>,
    has_large_dictionary: bool,
    /// Of the first column of a row group: which ones have large dictionaries, once it was asked.
    large_dictionaries: OnceLock<Vec<usize>>,
}

impl SharedColumn {
    /// A column of a row group that begins; `current`: the first row of the batch that may be
    /// loaded.
    pub fn new(
        mut reader: ColumnReader,
        current: Arc<AtomicUsize>,
        data_type: Type,
        place: (String, usize, String),
        uses: Arc<Use>,
    ) -> SharedColumn {
        uses.before.store(uses.now.swap(false, Ordering::Relaxed), Ordering::Relaxed);
        let pages = reader.flat_pages();
        SharedColumn {
            has_large_dictionary: pages.is_some_and(|it| it.large_dictionary_bytes() > 0),
            reader: Mutex::new(reader),
            current,
            data_type,
            place,
            uses,
            large_dictionaries: OnceLock::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ColumnReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes over the rows before `row` where that takes decoding.
    ///
    /// # Errors
    ///
    /// Corruption, out of memory.
    pub fn pass_nested_to(&self, row: usize) -> Result<()> {
        let mut reader = self.lock();
        if reader.is_nested() {
            reader.pass_to(row).map_err(|it| self.in_place(it))?;
        }
        Ok(())
    }

    /// As [`ColumnReader::row_bytes`].
    pub fn row_bytes(&self, rows: usize, bytes: usize) -> usize {
        self.lock().row_bytes(rows, bytes)
    }

    /// Adds what was read and skipped.
    pub fn add_metrics(&self, metrics: &mut ScanMetrics) {
        for pages in self.lock().pages() {
            metrics.bytes_read += pages.bytes_read();
            metrics.pages_read += pages.pages_read;
            metrics.pages_skipped += pages.pages_skipped;
        }
    }

    fn in_place(&self, error: Error) -> Error {
        let (file, group, column) = &self.place;
        error.at("file", file).at("row group", group).at("column", column)
    }

    /// Decompresses the dictionary together with that of another column: the one most similar in
    /// size that was used in the previous row group and is not used yet in this one.
    fn begin_with_another(&self, columns: &[SharedColumn]) {
        let mut reader = self.lock();
        let Some(pages) = reader.flat_pages() else { return };
        let size = pages.large_dictionary_bytes();
        if size == 0 {
            return;
        }
        let large = with_large_dictionaries(columns).iter().filter_map(|it| columns.get(*it));
        let waiting = large.filter(|it| it.uses.is_expected());
        let others = waiting.filter_map(|it| Some((it.large_dictionary_bytes()?, it)));
        let unlike = |other: usize| other.max(size) - other.min(size);
        let Some((other_size, other)) = others.min_by_key(|it| unlike(it.0)) else { return };
        if unlike(other_size) > size.max(other_size) / 2 {
            return;
        }
        if let Ok(mut other) = other.reader.try_lock()
            && let Some(other) = other.flat_pages()
        {
            decompress_dictionaries(pages, other);
        }
    }

    /// Whether its dictionary's page waits to be used.
    #[cfg(test)]
    pub fn has_decompressed_dictionary(&self) -> bool {
        self.lock().flat_pages().is_some_and(|it| it.has_decompressed_dictionary())
    }

    /// The size of its dictionary as stored, if that is large and not decompressed.
    fn large_dictionary_bytes(&self) -> Option<usize> {
        let mut reader = self.reader.try_lock().ok()?;
        Some(reader.flat_pages()?.large_dictionary_bytes()).filter(|it| *it > 0)
    }
}

/// The places of those of a row group's columns that have large dictionaries, in the beginning.
fn with_large_dictionaries(columns: &[SharedColumn]) -> &[usize] {
    let Some(first) = columns.first() else { return &[] };
    first.large_dictionaries.get_or_init(|| {
        let large = columns.iter().enumerate().filter(|it| it.1.has_large_dictionary);
        large.map(|it| it.0).take(PAIRED_COLUMNS_MAX).collect()
    })
}

/// Decodes a column of one batch.
pub(crate) struct ColumnLoader {
    /// The columns of the row group, and which one of them.
    pub columns: Arc<[SharedColumn]>,
    pub place: usize,
    /// The batch: its first row, and how many it has.
    pub start: usize,
    pub rows: usize,
    /// The rows of the batch to be decoded, counted from `start`; all when `None`.
    pub selection: Option<Arc<[u32]>>,
}

impl ColumnLoader {
    /// A vector to be decoded on first use.
    pub fn into_vector(self) -> Result<Vector> {
        let len = self.selection.as_ref().map_or(self.rows, |it| it.len());
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
        if column.current.load(Ordering::Acquire) != self.start {
            return Err(Error::internal("lazy column loaded after its scan went on"));
        }
        if !column.uses.now.swap(true, Ordering::Relaxed) {
            column.begin_with_another(&self.columns);
        }
        let mut reader = column.lock();
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
        if selection.is_some_and(|it| it.last().is_some_and(|it| *it as usize >= self.rows)) {
            return Err(Error::internal("row beyond the batch"));
        }
        let wanted = selection.map_or(self.rows, <[u32]>::len);
        let vector =
            reader.read(self.start, self.rows, selection).map_err(|it| column.in_place(it))?;
        if vector.len() != wanted {
            return Err(column.in_place(corrupt("column with a wrong number of rows")));
        }
        Ok(vector)
    }
}
