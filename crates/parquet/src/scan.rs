//! Reads row groups: filters first, then the other columns for the rows that are left.
//!
//! ```text
//! start(group)   reads of all column chunks begin, unless they are in the page cache: then each
//!                column reads what it decodes next
//! step           filter columns of the next rows, lazily ── conjuncts ── selected rows
//!                output: filter columns as dictionaries over what is decoded,
//!                        other columns lazily, decoded for the selected rows alone
//! ```

use crate::{
    chunk::ChunkBytes,
    column::ColumnReader,
    file::{ParquetFile, chunk_range},
    lazy_column::{ColumnLoader, SharedColumn, Use},
    pages::Pages,
};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
    time::{Duration, Instant},
};
use volley_connector::{Conjuncts, ScanMetrics, ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_io::{BufferPool, RangeReads};
use volley_memory::{Pool, Reservation};
use volley_vector::{Batch, Vector};

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
    /// Which of them get used.
    uses: Vec<Arc<Use>>,
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
    columns: Arc<[SharedColumn]>,
    /// The first row of the current batch.
    current: Arc<AtomicUsize>,
    /// The bytes of the column chunks that were read together.
    reservation: Reservation,
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
            uses: needed.iter().map(|_| Arc::default()).collect(),
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
        let ranges = chunk_ranges(&file, group, &places)?;
        self.metrics.groups_read += 1;
        let mut group = Group {
            group,
            rows: file.rows(group),
            row: 0,
            places,
            columns: Arc::default(),
            current: Arc::new(AtomicUsize::new(NO_BATCH)),
            reservation: self.pool.reservation(),
            file,
        };
        let from = group.file.file();
        self.state = if from.is_at_hand(&ranges) {
            let chunk = |range| {
                let (buffers, reservation) = (self.buffers.clone(), self.pool.reservation());
                ChunkBytes::windows(Arc::clone(from), range, buffers, reservation)
            };
            let chunks = ranges.into_iter().map(chunk).collect::<Result<_>>()?;
            group.open(chunks, &self.pool, &self.buffers, &self.uses)?;
            State::Open(group)
        } else {
            let bytes = ranges.iter().map(|it| it.end - it.start).sum::<u64>();
            self.metrics.bytes_read += bytes;
            group.reservation.resize(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            let reads = RangeReads::start(Arc::clone(from), ranges, &self.buffers)?;
            State::Reading(group, reads)
        };
        Ok(())
    }

    /// Says which row group will most likely be read next, so that a device may begin.
    ///
    /// # Errors
    ///
    /// Internal: no such column.
    pub fn prepare(
        &self,
        file: &ParquetFile,
        group: usize,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<()> {
        if matches!(self.state, State::Reading(..)) {
            let places: Vec<usize> = self.needed.iter().map(|it| place(*it)).collect();
            file.file().will_read(&chunk_ranges(file, group, &places)?);
        }
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
                let chunks = chunks.into_iter().map(ChunkBytes::whole).collect();
                group.open(chunks, &self.pool, &self.buffers, &self.uses)?;
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
    fn open(
        &mut self,
        chunks: Vec<ChunkBytes>,
        pool: &Pool,
        buffers: &BufferPool,
        uses: &[Arc<Use>],
    ) -> Result<()> {
        let mut chunks = chunks.into_iter();
        let column = |(column, use_before): (&usize, &Arc<Use>)| {
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
            let reader = ColumnReader::new(node, pages, self.rows)?;
            let (current, data_type) = (Arc::clone(&self.current), node.data_type.clone());
            Ok(SharedColumn::new(reader, current, data_type, place, Arc::clone(use_before)))
        };
        self.columns = self.places.iter().zip(uses).map(column).collect::<Result<_>>()?;
        Ok(())
    }

    /// Passes over the rows before the next one in the columns where that takes decoding, so that
    /// it does not pile up until somebody loads them.
    fn pass_over(&self) -> Result<()> {
        self.columns.iter().try_for_each(|it| it.pass_nested_to(self.row))
    }

    fn page_metrics(&self) -> ScanMetrics {
        let mut metrics = ScanMetrics::default();
        self.columns.iter().for_each(|it| it.add_metrics(&mut metrics));
        metrics
    }
}

/// Where the chunks of these columns are: one range per leaf.
fn chunk_ranges(file: &ParquetFile, group: usize, places: &[usize]) -> Result<Vec<Range<u64>>> {
    let mut ranges = Vec::new();
    for column in places {
        for leaf in file.node(*column)?.leaves() {
            ranges.push(chunk_range(file.chunk(group, leaf)?));
        }
    }
    Ok(ranges)
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
        let place = self.needed.binary_search(&column);
        let place = place.map_err(|_| Error::internal("column that was not asked for"))?;
        let columns = Arc::clone(&self.group.columns);
        ColumnLoader { columns, place, start: self.start, rows: self.rows, selection }.into_vector()
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
