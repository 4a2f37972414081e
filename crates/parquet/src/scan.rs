//! Reads row groups: filters first, then the other columns for the remaining rows.
//!
//! ```text
//! start(group)   page indexes, if they may rule out pages, tell which rows to read; Bloom filters,
//!                whether there are any
//!                reads of column chunks, or of the pages that are left, begin, unless they are in
//!                the page cache: then each column reads what it decodes next
//! step           rows that a bound has ruled out in the meantime are left out
//!                filter columns of the next rows, lazily ── conjuncts ── selected rows
//!                output: filter columns as dictionaries over what is decoded,
//!                        other columns lazily, decoded for the selected rows alone
//! ```

use crate::{
    bloom::BloomReads,
    file::ParquetFile,
    lazy_column::{ColumnLoader, Use},
    page_pruning::IndexReads,
    row_group::{ChunkParts, Group, NO_BATCH},
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
    task::Waker,
    time::{Duration, Instant},
};
use volley_connector::{Conditions, ScanMetrics, ScanRequest, SourceStep, select_lazily};
use volley_error::{Error, Result};
use volley_expression::filter::{Conjuncts, FilterCounts};
use volley_io::{BufferPool, RangeReads};
use volley_memory::Pool;
use volley_vector::Vector;

/// A step returns after this many rows without output.
const ROWS_PER_STEP: usize = 1 << 16;

/// A step without output returns soon after this time, however costly the filters are.
const STEP_TIME: Duration = Duration::from_millis(5);

/// Reads row groups of files with the same columns.
pub struct RowGroupReader {
    /// Columns to return, by position in the table.
    columns: Vec<usize>,
    conditions: Conditions,
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
    /// Page indexes or Bloom filters are read.
    Looking(Group, Look, RangeReads),
    /// Chunks are read.
    Reading(Group, Vec<ChunkParts>, RangeReads),
    Open(Group),
}

/// What is read before the columns.
enum Look {
    Index(IndexReads),
    Bloom(BloomReads),
}

impl Look {
    fn ranges(&self) -> &[Range<u64>] {
        match self {
            Look::Index(index) => &index.ranges,
            Look::Bloom(bloom) => &bloom.ranges,
        }
    }
}

impl RowGroupReader {
    /// A reader for `request`.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(request: &ScanRequest) -> Result<RowGroupReader> {
        let conjuncts = request.conjuncts()?;
        let mut needed = request.columns.clone();
        needed.extend(conjuncts.iter().flat_map(|it| it.columns()));
        needed.sort_unstable();
        needed.dedup();
        Ok(RowGroupReader {
            columns: request.columns.clone(),
            conditions: Conditions::new(request),
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

    /// Begins a row group. `place` maps a column of the table to its position in the file.
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
        let places = self.needed.iter().map(|it| place(*it)).collect();
        let mut group = Group::new(file, group, places, &self.pool);
        match group.index_reads(&self.conditions, &self.needed)? {
            Some(index) => self.look(group, Look::Index(index)),
            None => self.look_up(group),
        }
    }

    /// Reads something small that may rule rows out.
    fn look(&mut self, group: Group, look: Look) -> Result<()> {
        let ranges = look.ranges();
        self.metrics.bytes_read += ranges.iter().map(|it| it.end - it.start).sum::<u64>();
        let from = group.file.file();
        if from.is_at_hand(ranges) {
            let bytes =
                ranges.iter().map(|it| from.read(it.clone())).collect::<Result<Vec<_>>>()?;
            return self.looked(group, look, &bytes);
        }
        let reads = RangeReads::start(Arc::clone(from), ranges.to_vec(), &self.buffers)?;
        self.state = State::Looking(group, look, reads);
        Ok(())
    }

    /// Leaves out what is ruled out by what was read.
    fn looked(&mut self, mut group: Group, look: Look, bytes: &[Bytes]) -> Result<()> {
        match look {
            Look::Index(index) => {
                self.metrics += group.use_index(&index, &self.conditions, bytes, &self.needed);
                self.look_up(group)
            }
            Look::Bloom(bloom) => {
                let may_match = bloom.may_match(&self.conditions, bytes);
                group.reservation.shrink(bloom.bytes_max());
                if may_match { self.read(group) } else { self.skip() }
            }
        }
    }

    /// Looks up constants in Bloom filters, if that may save reading the remaining rows.
    fn look_up(&mut self, mut group: Group) -> Result<()> {
        if group.pages.as_ref().is_some_and(|it| it.rows.is_empty()) {
            return self.skip();
        }
        let chunks = group.chunks()?;
        let bytes = chunks.iter().flat_map(ChunkParts::ranges).map(|it| it.end - it.start).sum();
        match group.bloom_reads(&self.conditions, &self.needed, bytes)? {
            Some(bloom) => self.look(group, Look::Bloom(bloom)),
            None => self.read(group),
        }
    }

    fn skip(&mut self) -> Result<()> {
        self.metrics.groups_skipped += 1;
        Ok(())
    }

    /// Begins to read the columns of a row group, as far as there are rows left.
    fn read(&mut self, mut group: Group) -> Result<()> {
        self.metrics.groups_read += 1;
        let chunks = group.chunks()?;
        let ranges: Vec<Range<u64>> = chunks.iter().flat_map(ChunkParts::ranges).collect();
        let from = group.file.file();
        self.state = if from.is_at_hand(&ranges) {
            let source = group.chunk_source(&self.pool, &self.buffers);
            let chunks = chunks.into_iter().map(|it| source.windows(it)).collect::<Result<_>>()?;
            group.open(chunks, &self.pool, &self.buffers, &self.uses)?;
            State::Open(group)
        } else {
            let bytes = ranges.iter().map(|it| it.end - it.start).sum::<u64>();
            self.metrics.bytes_read += bytes;
            group.reservation.grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            let reads = RangeReads::start(Arc::clone(from), ranges, &self.buffers)?;
            State::Reading(group, chunks, reads)
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
        if !matches!(self.state, State::Idle) {
            let places = self.needed.iter().map(|it| place(*it)).collect();
            let mut group = Group::new(file.clone(), group, places, &self.pool);
            let ranges = match group.index_reads(&self.conditions, &self.needed)? {
                // It will determine which pages are needed.
                Some(index) => index.ranges,
                None => group.chunks()?.iter().flat_map(ChunkParts::ranges).collect(),
            };
            // While rows are decoded that a cache had, the next ones may be far away.
            if !file.file().is_at_hand(&ranges) {
                file.file().will_read(&ranges);
            }
        }
        Ok(())
    }

    /// Advances by at most one batch.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory, an error of a filter.
    pub fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        if !self.poll(waker)? {
            return Ok(SourceStep::Blocked);
        }
        let (mut passed, begin) = (0, Instant::now());
        loop {
            let State::Open(group) = &mut self.state else { return Ok(SourceStep::NeedSplit) };
            self.metrics += group.look_again(&self.conditions, &self.needed);
            let Some(rows) = group.next_rows(self.batch_rows, self.pool.batch_bytes()) else {
                self.close();
                return Ok(SourceStep::NeedSplit);
            };
            self.metrics.rows_read += rows.len() as u64;
            group.current.store(rows.start, Ordering::Release);
            let lazy = |column: usize, selection: Option<Arc<[u32]>>| {
                lazy_column(group, &self.needed, column, rows.clone(), selection)
            };
            let batch = select_lazily(&self.columns, rows.len(), &mut self.conjuncts, &lazy)?;
            if let State::Open(group) = &mut self.state {
                group.row = rows.end;
            }
            if let Some(batch) = batch {
                return Ok(SourceStep::Batch(batch));
            }
            passed += rows.len();
            if passed >= ROWS_PER_STEP || begin.elapsed() >= STEP_TIME {
                if let State::Open(group) = &self.state {
                    group.pass_over()?;
                }
                return Ok(SourceStep::Progress);
            }
        }
    }

    /// Goes on when reads have ended; `false` while they are under way.
    fn poll(&mut self, waker: &Waker) -> Result<bool> {
        let (State::Looking(_, _, reads) | State::Reading(_, _, reads)) = &mut self.state else {
            return Ok(true);
        };
        let Some(bytes) = reads.poll(waker)? else { return Ok(false) };
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Looking(group, look, _) => {
                self.looked(group, look, &bytes)?;
                // Reads that begin now have no waker yet.
                return self.poll(waker);
            }
            State::Reading(mut group, chunks, _) => {
                let source = group.chunk_source(&self.pool, &self.buffers);
                let chunks = source.filled(chunks, bytes)?;
                group.open(chunks, &self.pool, &self.buffers, &self.uses)?;
                self.state = State::Open(group);
            }
            State::Idle | State::Open(_) => {}
        }
        Ok(true)
    }

    /// How much of the row group is returned, from 0 to 1.
    pub fn group_share(&self) -> f64 {
        match &self.state {
            State::Open(group) => group.row as f64 / group.rows.max(1) as f64,
            State::Idle | State::Looking(..) | State::Reading(..) => 0.0,
        }
    }

    /// What was read and skipped so far.
    pub fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        if let State::Open(group) = &self.state {
            metrics += group.page_metrics();
        }
        metrics
    }

    /// What each filter did so far.
    pub fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
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

/// A column of the table in some rows of the row group, to be decoded on first use.
fn lazy_column(
    group: &Group,
    needed: &[usize],
    column: usize,
    rows: Range<usize>,
    selection: Option<Arc<[u32]>>,
) -> Result<Vector> {
    let place = needed.binary_search(&column);
    let place = place.map_err(|_| Error::internal("column that was not asked for"))?;
    let columns = Arc::clone(&group.columns);
    ColumnLoader { columns, place, start: rows.start, rows: rows.len(), selection }.into_vector()
}
