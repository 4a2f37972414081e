//! The current row group.

use crate::{
    bloom::BloomReads,
    chunk::ChunkBytes,
    column::ColumnReader,
    file::{ParquetFile, chunk_range},
    lazy_column::{SharedColumn, Use},
    page_pruning::{GroupPages, IndexReads},
    pages::Pages,
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicUsize},
};
use volley_connector::{Bounds, Conditions, ScanMetrics};
use volley_error::{Error, Result};
use volley_io::{BufferPool, RandomAccessFile};
use volley_memory::{Pool, Reservation, check_cancelled};

/// No batch is current.
pub(crate) const NO_BATCH: usize = usize::MAX;

/// A row group, and how far it was read.
pub(crate) struct Group {
    pub file: ParquetFile,
    pub group: usize,
    pub rows: usize,
    /// The first row that was not returned.
    pub row: usize,
    /// What page indexes leave of it, unless that is all and will be.
    pub pages: Option<GroupPages>,
    /// The version of the conditions that it was looked at with.
    version: u64,
    /// For each of the needed columns: its position in the file.
    pub places: Vec<usize>,
    /// For each of the needed columns, once its bytes are there.
    pub columns: Arc<[SharedColumn]>,
    /// The first row of the current batch.
    pub current: Arc<AtomicUsize>,
    /// Page indexes, and the bytes of the column chunks that were read together.
    pub reservation: Reservation,
}

/// The bytes of a column chunk that are needed.
pub(crate) struct ChunkParts {
    /// Of the file.
    chunk: Range<u64>,
    /// Of the chunk, ascending.
    parts: Vec<Range<usize>>,
}

/// Makes the bytes of column chunks.
pub(crate) struct ChunkSource<'a> {
    file: &'a Arc<dyn RandomAccessFile>,
    pool: &'a Pool,
    buffers: &'a BufferPool,
}

impl Group {
    /// A row group, before it is inspected.
    pub fn new(file: ParquetFile, group: usize, places: Vec<usize>, pool: &Pool) -> Group {
        Group {
            group,
            rows: file.rows(group),
            row: 0,
            pages: None,
            version: 0,
            places,
            columns: Arc::default(),
            current: Arc::new(AtomicUsize::new(NO_BATCH)),
            reservation: pool.reservation(),
            file,
        }
    }

    /// The page indexes to read, charged. `needed`: its columns, by position in the table.
    pub fn index_reads(
        &mut self,
        conditions: &Conditions,
        needed: &[usize],
    ) -> Result<Option<IndexReads>> {
        let columns = needed.iter().copied().zip(self.places.iter().copied());
        let index = IndexReads::new(conditions, &self.file, self.group, columns)?;
        // Without memory for them, they are left alone.
        Ok(index.filter(|it| self.reservation.grow(it.bytes_max).is_ok()))
    }

    /// Skips the rows that the page indexes in `bytes` rule out; returns the number of pages and
    /// rows. `needed`: as in [`Group::index_reads`].
    pub fn use_index(
        &mut self,
        index: &IndexReads,
        conditions: &Conditions,
        bytes: &[Bytes],
        needed: &[usize],
    ) -> ScanMetrics {
        let mut left_out = ScanMetrics::default();
        // What a bound that changes meanwhile rules out, is seen when it is inspected again.
        self.version = conditions.version();
        let (file, group, places) = (&self.file, self.group, &self.places);
        let bounds = |column: usize| bounds_in_group(file, group, places, needed, column);
        self.pages = index.evaluate(conditions, bytes, file, self.rows, &bounds);
        if let Some(pages) = &self.pages {
            left_out.pages_pruned = pages.pruned();
            left_out.rows_pruned = (self.rows - pages.rows_from(0)) as u64;
        }
        left_out
    }

    /// The Bloom filters to read, charged, if they are smaller than `bytes`, which would be read
    /// otherwise.
    pub fn bloom_reads(
        &mut self,
        conditions: &Conditions,
        needed: &[usize],
        bytes: u64,
    ) -> Result<Option<BloomReads>> {
        let columns = needed.iter().copied().zip(self.places.iter().copied());
        let bloom = BloomReads::new(conditions, &self.file, self.group, columns)?;
        let bloom = bloom.filter(|it| it.bytes() < bytes);
        Ok(bloom.filter(|it| self.reservation.grow(it.bytes_max()).is_ok()))
    }

    /// What is needed of the chunk of each leaf.
    pub fn chunks(&self) -> Result<Vec<ChunkParts>> {
        let mut chunks = Vec::new();
        for column in &self.places {
            for leaf in self.file.node(*column)?.leaves() {
                let chunk = chunk_range(self.file.chunk(self.group, leaf)?);
                let pages = self.pages.as_ref();
                let parts = pages.and_then(|it| it.parts_of(chunks.len()));
                let whole = 0..(chunk.end - chunk.start) as usize;
                chunks.push(ChunkParts { parts: parts.unwrap_or_else(|| vec![whole]), chunk });
            }
        }
        Ok(chunks)
    }

    pub fn chunk_source<'a>(&'a self, pool: &'a Pool, buffers: &'a BufferPool) -> ChunkSource<'a> {
        ChunkSource { file: self.file.file(), pool, buffers }
    }

    /// Makes the column readers; `chunks`: one per leaf.
    pub fn open(
        &mut self,
        chunks: Vec<ChunkBytes>,
        pool: &Pool,
        buffers: &BufferPool,
        uses: &[Arc<Use>],
    ) -> Result<()> {
        let mut chunks = chunks.into_iter().enumerate();
        let column = |(column, use_before): (&usize, &Arc<Use>)| {
            check_cancelled()?;
            let name = self.file.name(*column).to_owned();
            let place = (self.file.path().to_owned(), self.group, name);
            let node = self.file.node(*column)?;
            let mut pages = Vec::new();
            for leaf in node.leaves() {
                let bytes = chunks.next().ok_or_else(|| Error::internal("column without bytes"))?;
                let (number, bytes) = bytes;
                let metadata = self.file.chunk(self.group, leaf)?;
                let (buffers, reservation) = (buffers.clone(), pool.reservation());
                let leaf = leaf.clone();
                let mut leaf = Pages::new(leaf, metadata, bytes, self.rows, buffers, reservation);
                leaf.use_index(self.pages.as_ref().and_then(|it| it.locations_of(number)));
                pages.push(leaf);
            }
            let reader = ColumnReader::new(node, pages, self.rows)?;
            let (current, data_type) = (Arc::clone(&self.current), node.data_type.clone());
            Ok(SharedColumn::new(reader, current, data_type, place, Arc::clone(use_before)))
        };
        self.columns = self.places.iter().zip(uses).map(column).collect::<Result<_>>()?;
        Ok(())
    }

    /// The next rows to return: at most `most`, and fewer if their pages take more than about
    /// `bytes`.
    pub fn next_rows(&self, most: usize, bytes: usize) -> Option<Range<usize>> {
        let row_bytes =
            |sum: usize, it: &SharedColumn| sum.saturating_add(it.row_bytes(most, bytes));
        let fit = bytes / self.columns.iter().fold(0, row_bytes).max(1);
        let most = most.min(fit.max(1));
        let range = match &self.pages {
            None => self.row..self.rows,
            Some(pages) => {
                let next = pages.rows.partition_point(|it| it.end <= self.row);
                let range = pages.rows.get(next)?;
                range.start.max(self.row)..range.end
            }
        };
        let end = range.end.min(range.start.saturating_add(most));
        Some(range.start..end).filter(|it| !it.is_empty())
    }

    /// Skips the remaining rows that bounds rule out, if the bounds have changed; returns the
    /// number of pages and rows. `needed`: as in [`Group::index_reads`].
    pub fn look_again(&mut self, conditions: &Conditions, needed: &[usize]) -> ScanMetrics {
        let mut left_out = ScanMetrics::default();
        let version = conditions.version();
        if std::mem::replace(&mut self.version, version) == version {
            return left_out;
        }
        let (file, group, places) = (&self.file, self.group, &self.places);
        let bounds = |column: usize| bounds_in_group(file, group, places, needed, column);
        if conditions.rule_out(self.rows, &bounds) {
            let left = self.pages.as_ref().map(|it| it.rows_from(self.row));
            left_out.rows_pruned = left.unwrap_or(self.rows - self.row) as u64;
            self.row = self.rows;
        } else if let Some(pages) = &mut self.pages {
            let before = (pages.pruned(), pages.rows_from(0));
            pages.look_again(conditions, self.row, self.rows, &bounds);
            left_out.pages_pruned = pages.pruned() - before.0;
            left_out.rows_pruned = (before.1 - pages.rows_from(0)) as u64;
        }
        left_out
    }

    /// Skips the rows before the next one in columns whose skipping needs decoding, so that the
    /// work does not accumulate until the next load.
    pub fn pass_over(&self) -> Result<()> {
        self.columns.iter().try_for_each(|it| it.pass_nested_to(self.row))
    }

    pub fn page_metrics(&self) -> ScanMetrics {
        let mut metrics = ScanMetrics::default();
        self.columns.iter().for_each(|it| it.add_metrics(&mut metrics));
        metrics
    }
}

/// What the footer says of a column of the table in a row group, if it is one of `needed`, which
/// are at `places` of the file.
pub(crate) fn bounds_in_group(
    file: &ParquetFile,
    group: usize,
    places: &[usize],
    needed: &[usize],
    column: usize,
) -> Bounds {
    let place = needed.binary_search(&column).ok().and_then(|it| places.get(it));
    place.map_or_else(Bounds::default, |it| file.bounds(group, *it))
}

impl ChunkParts {
    /// Where they are in the file.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let start = self.chunk.start;
        self.parts.iter().map(move |it| start + it.start as u64..start + it.end as u64)
    }
}

impl ChunkSource<'_> {
    /// A chunk to be read window by window.
    pub fn windows(&self, chunk: ChunkParts) -> Result<ChunkBytes> {
        let (file, reservation) = (Arc::clone(self.file), self.pool.reservation());
        let bytes = ChunkBytes::windows(file, chunk.chunk, self.buffers.clone(), reservation)?;
        Ok(bytes.wanting(chunk.parts))
    }

    /// Chunks whose parts were read: `bytes`, in order.
    pub fn filled(&self, chunks: Vec<ChunkParts>, bytes: Vec<Bytes>) -> Result<Vec<ChunkBytes>> {
        let mut bytes = bytes.into_iter();
        let filled = chunks.into_iter().map(|chunk| {
            let starts: Vec<usize> = chunk.parts.iter().map(|it| it.start).collect();
            let parts = starts.into_iter().zip(bytes.by_ref()).collect();
            Ok(self.windows(chunk)?.with_parts(parts))
        });
        filled.collect()
    }
}
