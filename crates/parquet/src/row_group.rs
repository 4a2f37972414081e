//! The row group that is being read.

use crate::{
    bloom::BloomReads,
    chunk::ChunkBytes,
    column::ColumnReader,
    file::{ParquetFile, chunk_range},
    lazy_column::{SharedColumn, Use},
    page_pruning::{Conditions, GroupPages, IndexReads},
    pages::Pages,
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicUsize},
};
use volley_connector::ScanMetrics;
use volley_error::{Error, Result};
use volley_io::{BufferPool, RandomAccessFile};
use volley_memory::{Pool, Reservation};

/// No batch is current.
pub(crate) const NO_BATCH: usize = usize::MAX;

/// A row group, and how far it was read.
pub(crate) struct Group {
    pub file: ParquetFile,
    pub group: usize,
    rows: usize,
    /// The first row that was not put out.
    pub row: usize,
    /// What page indexes leave of it, unless that is all.
    pub pages: Option<GroupPages>,
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
    /// A row group, before it is looked at.
    pub fn new(file: ParquetFile, group: usize, places: Vec<usize>, pool: &Pool) -> Group {
        Group {
            group,
            rows: file.rows(group),
            row: 0,
            pages: None,
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
            let name = self.file.schema().fields.get(*column).map(|it| it.name.clone());
            let place = (self.file.path().to_owned(), self.group, name.unwrap_or_default());
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

    /// The next rows to put out, at most `most` of them.
    pub fn next_rows(&self, most: usize) -> Option<Range<usize>> {
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

    /// Passes over the rows before the next one in the columns where that takes decoding, so that
    /// it does not pile up until somebody loads them.
    pub fn pass_over(&self) -> Result<()> {
        self.columns.iter().try_for_each(|it| it.pass_nested_to(self.row))
    }

    pub fn page_metrics(&self) -> ScanMetrics {
        let mut metrics = ScanMetrics::default();
        self.columns.iter().for_each(|it| it.add_metrics(&mut metrics));
        metrics
    }
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
