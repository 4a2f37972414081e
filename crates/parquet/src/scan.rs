//! Reads row groups: filters first, then the other columns for the rows that are left.
//!
//! ```text
//! start(group)   reads of all column chunks begin
//! step           filter columns of the next rows, lazily ── conjuncts ── selected rows
//!                output: filter columns as dictionaries over what is decoded,
//!                        other columns lazily, decoded for the selected rows alone
//! ```
//!
//! A lazy column shares its reader with the columns of later batches. Readers go forward only: rows
//! of batches that nobody loaded are passed over by the next load, whole pages without
//! decompression. Once the source has moved on, loading is an error.

use crate::{
    column::ColumnReader,
    error::corrupt,
    file::{ParquetFile, chunk_range},
    pages::Pages,
};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
    time::{Duration, Instant},
};
use volley_connector::{Conjuncts, ScanMetrics, ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_io::{BufferPool, RangeReads};
use volley_memory::{Pool, Reservation};
use volley_types::Type;
use volley_vector::{Batch, Loader, Vector};

/// A step returns after this many rows without output.
const ROWS_PER_STEP: usize = 1 << 16;

/// A step without output returns soon after this time, however costly the filters are.
const STEP_TIME: Duration = Duration::from_millis(5);

/// No batch is current.
const NO_BATCH: usize = usize::MAX;

/// Reads row groups of files with the same columns.
pub struct RowGroupReader {
    /// Columns to put out, by position in the table.
    columns: Vec<usize>,
    conjuncts: Option<Conjuncts>,
    batch_rows: usize,
    pool: Pool,
    /// Memory of chunks and pages, from one row group to the next.
    buffers: BufferPool,
    /// Columns to read, by position in the table, ascending.
    needed: Vec<usize>,
    state: State,
    metrics: ScanMetrics,
}

enum State {
    Idle,
    Reading(Group, RangeReads),
    Open(Group),
}

/// The row group being read.
struct Group {
    file: ParquetFile,
    group: usize,
    rows: usize,
    /// The first row that was not put out.
    row: usize,
    /// For each of the needed columns: its position in the file.
    places: Vec<usize>,
    /// For each of the needed columns, once its bytes are there.
    columns: Vec<Arc<SharedColumn>>,
    /// The first row of the current batch.
    current: Arc<AtomicUsize>,
    /// The bytes of the column chunks.
    _reservation: Reservation,
}

/// A column's reader, shared by the lazy vectors of its batches.
struct SharedColumn {
    reader: Mutex<ColumnReader>,
    current: Arc<AtomicUsize>,
    data_type: Type,
    /// For messages: file, row group, column.
    place: (String, usize, String),
}

impl RowGroupReader {
    /// A reader for `request`.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(request: &ScanRequest) -> Result<RowGroupReader> {
        let conjuncts = Conjuncts::new(request)?;
        let mut needed = request.columns.clone();
        needed.extend(conjuncts.iter().flat_map(|it| it.columns()));
        needed.sort_unstable();
        needed.dedup();
        Ok(RowGroupReader {
            columns: request.columns.clone(),
            conjuncts,
            batch_rows: request.batch_rows.max(1),
            pool: request.pool.clone(),
            buffers: BufferPool::default(),
            needed,
            state: State::Idle,
            metrics: ScanMetrics::default(),
        })
    }

    /// Begins a row group. `place` tells where a column of the table stands in the file.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory.
    pub fn start(
        &mut self,
        file: ParquetFile,
        group: usize,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<()> {
        self.close();
        let places: Vec<usize> = self.needed.iter().map(|it| place(*it)).collect();
        let mut ranges = Vec::new();
        for column in &places {
            for leaf in file.node(*column)?.leaves() {
                ranges.push(chunk_range(file.chunk(group, leaf)?));
            }
        }
        self.metrics.groups_read += 1;
        let bytes = ranges.iter().map(|it| it.end - it.start).sum::<u64>();
        self.metrics.bytes_read += bytes;
        let mut reservation = self.pool.reservation();
        reservation.resize(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let reads = RangeReads::start(Arc::clone(file.file()), ranges, &self.buffers)?;
        let current = Arc::new(AtomicUsize::new(NO_BATCH));
        let rows = file.rows(group);
        let columns = Vec::new();
        let group = Group {
            file,
            group,
            rows,
            row: 0,
            places,
            columns,
            current,
            _reservation: reservation,
        };
        self.state = State::Reading(group, reads);
        Ok(())
    }

    /// Advances by at most one batch.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, an error of a filter.
    pub fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        if let State::Reading(_, reads) = &mut self.state {
            let Some(chunks) = reads.poll(waker)? else { return Ok(SourceStep::Blocked) };
            if let State::Reading(mut group, _) = std::mem::replace(&mut self.state, State::Idle) {
                group.open(chunks, &self.pool, &self.buffers)?;
                self.state = State::Open(group);
            }
        }
        let (mut passed, begin) = (0, Instant::now());
        loop {
            let State::Open(group) = &mut self.state else { return Ok(SourceStep::NeedSplit) };
            let rows = self.batch_rows.min(group.rows - group.row);
            if rows == 0 {
                self.close();
                return Ok(SourceStep::NeedSplit);
            }
            self.metrics.rows_read += rows as u64;
            let view = BatchView { group, needed: &self.needed, start: group.row, rows };
            let batch = view.read(&self.columns, &mut self.conjuncts)?;
            if let State::Open(group) = &mut self.state {
                group.row += rows;
            }
            if let Some(batch) = batch {
                return Ok(SourceStep::Batch(batch));
            }
            passed += rows;
            if passed >= ROWS_PER_STEP || begin.elapsed() >= STEP_TIME {
                if let State::Open(group) = &self.state {
                    group.pass_over()?;
                }
                return Ok(SourceStep::Progress);
            }
        }
    }

    /// What was read and skipped so far.
    pub fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics.rows_dropped_by_joins =
            self.conjuncts.as_ref().map_or(0, Conjuncts::dropped_by_joins);
        if let State::Open(group) = &self.state {
            metrics += group.page_metrics();
        }
        metrics
    }

    /// Leaves the row group.
    fn close(&mut self) {
        if let State::Open(group) = &self.state {
            self.metrics += group.page_metrics();
            group.current.store(NO_BATCH, Ordering::Release);
        }
        self.state = State::Idle;
    }
}

impl Group {
    /// Makes the column readers; `chunks`: one per leaf.
    fn open(&mut self, chunks: Vec<bytes::Bytes>, pool: &Pool, buffers: &BufferPool) -> Result<()> {
        let mut chunks = chunks.into_iter();
        for column in &self.places {
            let name = self.file.schema().fields.get(*column).map(|it| it.name.clone());
            let place = (self.file.path().to_owned(), self.group, name.unwrap_or_default());
            let node = self.file.node(*column)?;
            let mut pages = Vec::new();
            for leaf in node.leaves() {
                let bytes = chunks.next().ok_or_else(|| Error::internal("column without bytes"))?;
                let metadata = self.file.chunk(self.group, leaf)?;
                let (buffers, reservation) = (buffers.clone(), pool.reservation());
                let leaf = leaf.clone();
                pages.push(Pages::new(leaf, metadata, bytes, self.rows, buffers, reservation));
            }
            self.columns.push(Arc::new(SharedColumn {
                reader: Mutex::new(ColumnReader::new(node, pages, self.rows)?),
                current: Arc::clone(&self.current),
                data_type: node.data_type.clone(),
                place,
            }));
        }
        Ok(())
    }

    /// Passes over the rows before the next one in the columns where that takes decoding, so that
    /// it does not pile up until somebody loads them.
    fn pass_over(&self) -> Result<()> {
        for column in &self.columns {
            let mut reader = column.reader.lock().unwrap_or_else(PoisonError::into_inner);
            if reader.is_nested() {
                reader.pass_to(self.row).map_err(|it| in_place(it, &column.place))?;
            }
        }
        Ok(())
    }

    fn page_metrics(&self) -> ScanMetrics {
        let mut metrics = ScanMetrics::default();
        for column in &self.columns {
            let reader = column.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let (read, skipped) = reader.page_counts();
            metrics.pages_read += read;
            metrics.pages_skipped += skipped;
        }
        metrics
    }
}

fn in_place(error: Error, (file, group, column): &(String, usize, String)) -> Error {
    error.at("file", file).at("row group", group).at("column", column)
}

/// Some rows of the row group on their way to a batch.
struct BatchView<'a> {
    group: &'a Group,
    needed: &'a [usize],
    start: usize,
    rows: usize,
}

impl BatchView<'_> {
    /// The columns to put out, of the rows that satisfy the filters; `None` without such rows.
    fn read(&self, columns: &[usize], conjuncts: &mut Option<Conjuncts>) -> Result<Option<Batch>> {
        self.group.current.store(self.start, Ordering::Release);
        let Some(conjuncts) = conjuncts else {
            let columns = each_once(columns, |it| self.lazy(it, None))?;
            return Ok(Some(Batch::new(columns, self.rows)));
        };
        let used = conjuncts.columns().to_vec();
        let filtered = used.iter().map(|it| self.lazy(*it, None)).collect::<Result<Vec<_>>>()?;
        let selected = conjuncts.select(Batch::new(filtered, self.rows))?;
        let rows = selected.rows;
        if rows.is_empty() {
            return Ok(None);
        }
        let selection: Option<Arc<[u32]>> = (!rows.is_all()).then(|| rows.to_indices().into());
        let column = |column: usize| match used.binary_search(&column) {
            Ok(place) => Ok(selected.columns.column(place).clone()),
            Err(_) => self.lazy(column, selection.clone()),
        };
        let columns = each_once(columns, column)?;
        Ok(Some(Batch::new(columns, rows.count())))
    }

    /// A column of the table, to be decoded on first use.
    fn lazy(&self, column: usize, selection: Option<Arc<[u32]>>) -> Result<Vector> {
        let place = self.needed.binary_search(&column).ok();
        let shared = place.and_then(|it| self.group.columns.get(it));
        let shared = shared.ok_or_else(|| Error::internal("column that was not asked for"))?;
        let len = selection.as_ref().map_or(self.rows, |it| it.len());
        let loader = ColumnLoader {
            column: Arc::clone(shared),
            start: self.start,
            rows: self.rows,
            selection,
        };
        Ok(Vector::lazy(shared.data_type.clone(), len, Box::new(loader)))
    }
}

/// The vector of each column, made once: readers go forward only, so a column that is put out twice
/// is decoded by whichever is loaded first.
fn each_once(columns: &[usize], make: impl Fn(usize) -> Result<Vector>) -> Result<Vec<Vector>> {
    let mut made: Vec<Vector> = Vec::with_capacity(columns.len());
    let has_twins = !columns.is_sorted_by(|a, b| a < b);
    for (place, column) in columns.iter().enumerate() {
        let before = columns.get(..place).filter(|_| has_twins).unwrap_or_default();
        let twin = before.iter().position(|it| it == column).and_then(|it| made.get(it));
        let vector = match twin {
            Some(twin) => twin.clone(),
            None => make(*column)?,
        };
        made.push(vector);
    }
    Ok(made)
}

/// Decodes a column of one batch.
struct ColumnLoader {
    column: Arc<SharedColumn>,
    start: usize,
    rows: usize,
    /// The rows of the batch, counted from `start`; all when `None`.
    selection: Option<Arc<[u32]>>,
}

impl Loader for ColumnLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let column = &*self.column;
        if column.current.load(Ordering::Acquire) != self.start {
            return Err(Error::internal("lazy column loaded after its scan went on"));
        }
        let mut reader = column.reader.lock().unwrap_or_else(PoisonError::into_inner);
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
        let vector = reader
            .read(self.start, self.rows, selection)
            .map_err(|it| in_place(it, &column.place))?;
        if vector.len() != wanted {
            return Err(in_place(corrupt("column with a wrong number of rows"), &column.place));
        }
        Ok(vector)
    }
}
