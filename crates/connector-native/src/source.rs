//! Reading splits.
//!
//! ```text
//! block of base rows, zone by zone:
//!   bounds rule the zone out         nothing is read
//!   rows of the zone that exist  ──> filter columns ──> other columns, lazily, of rows that remain
//! inserted rows: batches of the plan
//! ```
//!
//! A block of a column is read when its first value is needed.

use crate::{
    lookup::{FoundRows, read_rows},
    scan::ScanShared,
    split::{SplitRows, no_rows},
    table::RowIds,
};
use std::{
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
    vec,
};
use volley_codec::ColumnReader;
use volley_connector::{Bounds, ScanMetrics, Source, SourceStep, Split, select_lazily_among};
use volley_error::{Error, Result};
use volley_expression::filter::{Conjuncts, FilterCounts};
use volley_memory::check_cancelled;
use volley_pdt::{InsertedRows, MergePlan, RowId, RowName};
use volley_storage::{SegmentView, ZONE_ROWS, bounds_of, union_bounds};
use volley_types::Type;
use volley_vector::{Batch, ColumnTest, Loader, Rows, Vector};

/// Reads splits of a native table.
pub(crate) struct NativeSource {
    shared: Arc<ScanShared>,
    /// The only rows to read, if they are known.
    found: Option<FoundRows>,
    conjuncts: Option<Conjuncts>,
    current: Option<Current>,
    metrics: ScanMetrics,
    /// Of blocks; readers outlive the batch that they were made for.
    bytes_read: Arc<AtomicU64>,
}

/// The split being read.
enum Current {
    Block(BlockRows),
    Inserted { segment: u32, rest: vec::IntoIter<InsertedRows>, open: Option<InsertedRows> },
    Found { rest: vec::IntoIter<RowId> },
}

/// A block of base rows.
struct BlockRows {
    segment: Arc<SegmentView>,
    plan: Arc<MergePlan>,
    /// The rows of the block.
    rows: u32,
    /// Rows that were not read yet.
    rest: Range<u32>,
    /// By column of the table.
    readers: Vec<Arc<LazyReader>>,
}

/// A block of a column, opened when it is first read.
struct LazyReader {
    shared: Arc<ScanShared>,
    segment: Arc<SegmentView>,
    column: usize,
    block: u32,
    /// The first row of the block.
    start: u32,
    reader: Mutex<Option<ColumnReader>>,
    bytes_read: Arc<AtomicU64>,
}

impl NativeSource {
    pub(crate) fn new(shared: Arc<ScanShared>) -> Result<NativeSource> {
        let conjuncts = shared.request.conjuncts()?;
        let found = shared.found_now()?;
        Ok(NativeSource {
            shared,
            found,
            conjuncts,
            current: None,
            metrics: ScanMetrics::default(),
            bytes_read: Arc::default(),
        })
    }

    /// The columns that inserted rows are read with: those of the table.
    fn all_columns(&self) -> Vec<usize> {
        (0..self.shared.view.types.len()).collect()
    }

    fn step_block(&mut self, mut block: BlockRows) -> Result<SourceStep> {
        check_cancelled()?;
        let Some(sids) = self.next_rows(&mut block)? else {
            return Ok(SourceStep::NeedSplit);
        };
        let live = block.plan.range(sids.clone()).live();
        let live = live.unwrap_or_else(|| Rows::all(sids.len()));
        self.metrics.rows_read += live.count() as u64;
        let batch = match live.is_empty() {
            true => None,
            false => {
                let lazy = |column, selected| block.lazy(column, &sids, selected);
                let columns = &self.shared.request.columns;
                select_lazily_among(columns, live, &mut self.conjuncts, &lazy)?
            }
        };
        self.current = Some(Current::Block(block));
        Ok(batch.map_or(SourceStep::Progress, SourceStep::Batch))
    }

    /// The next rows of one zone, at most a batch; skips zones that bounds rule out.
    fn next_rows(&mut self, block: &mut BlockRows) -> Result<Option<Range<u32>>> {
        let batch_rows = u32::try_from(self.shared.request.batch_rows.max(1)).unwrap_or(u32::MAX);
        while !block.rest.is_empty() {
            let start = block.rest.start;
            let zone_end = (start / ZONE_ROWS + 1) * ZONE_ROWS;
            let zone = start..zone_end.min(block.rest.end);
            let is_first = start.is_multiple_of(ZONE_ROWS);
            if is_first && self.is_zone_ruled_out(block, zone.clone())? {
                self.metrics.rows_pruned += zone.len() as u64;
                block.rest.start = zone.end;
                continue;
            }
            let end = start.saturating_add(batch_rows).min(zone.end);
            block.rest.start = end;
            return Ok(Some(start..end));
        }
        Ok(None)
    }

    fn is_zone_ruled_out(&self, block: &BlockRows, sids: Range<u32>) -> Result<bool> {
        if !self.shared.has_conditions() {
            return Ok(false);
        }
        let zones = block.segment.version().segment.zones(&self.shared.view.types)?;
        let changes = block.plan.range(sids.clone());
        let zone = (sids.start / ZONE_ROWS) as usize;
        let bounds = |column: usize| {
            let of_zone = zones.get(column).and_then(|it| it.get(zone)).cloned();
            let of_zone = of_zone.unwrap_or_default();
            match changes.modified(column as u32) {
                Some(modified) => widened(&of_zone, &modified.values_here()),
                None => of_zone,
            }
        };
        Ok(self.shared.is_ruled_out(sids.len() as u64, &bounds))
    }

    fn step_inserted(
        &mut self,
        segment: u32,
        mut rest: vec::IntoIter<InsertedRows>,
        open: Option<InsertedRows>,
    ) -> Result<SourceStep> {
        check_cancelled()?;
        let Some(mut inserted) = open.or_else(|| rest.next()) else {
            return Ok(SourceStep::NeedSplit);
        };
        let count = self.shared.request.batch_rows.max(1).min(inserted.ids.len());
        let mut rows = inserted.rows.slice(0, count);
        let later = inserted.ids.split_off(count);
        let ids = std::mem::replace(&mut inserted.ids, later);
        inserted.rows = inserted.rows.slice(count, inserted.ids.len());
        let open = (!inserted.ids.is_empty()).then_some(inserted);
        self.current = Some(Current::Inserted { segment, rest, open });
        self.metrics.rows_read += count as u64;
        if self.shared.row_ids == RowIds::Appended {
            let id = |it: &u32| RowId { segment, row: RowName::Inserted(*it) }.pack();
            let ids: Vec<i64> = ids.iter().map(id).collect();
            let mut columns = rows.into_columns();
            columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
            rows = Batch::new(columns, count);
        }
        self.filtered(&rows)
    }

    /// The rows that were found in a split.
    fn step_found(&mut self, mut rest: vec::IntoIter<RowId>) -> Result<SourceStep> {
        check_cancelled()?;
        let ids: Vec<RowId> = rest.by_ref().take(self.shared.request.batch_rows.max(1)).collect();
        if ids.is_empty() {
            return Ok(SourceStep::NeedSplit);
        }
        self.current = Some(Current::Found { rest });
        self.metrics.rows_read += ids.len() as u64;
        let view = &self.shared.view;
        let of_conjuncts = self.conjuncts.as_ref().map(|it| it.columns()).unwrap_or_default();
        let mut needed: Vec<usize> =
            self.shared.request.columns.iter().chain(of_conjuncts).copied().collect();
        needed.sort_unstable();
        needed.dedup();
        let read = read_rows(view, &ids, &needed)?;
        // At the positions of the table: the others are not read.
        let mut columns = vec![Vector::nulls(Type::Unknown, ids.len()); view.types.len() + 1];
        for (column, values) in needed.iter().zip(read.into_columns()) {
            columns.iter_mut().skip(*column).take(1).for_each(|it| *it = values.clone());
        }
        self.filtered(&Batch::new(columns, ids.len()))
    }

    /// The rows that satisfy all conditions; `rows` have the columns of the table.
    fn filtered(&mut self, rows: &Batch) -> Result<SourceStep> {
        let columns = &self.shared.request.columns;
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(rows.project(columns)));
        };
        let selected: Rows = conjuncts.select_rows(rows.project(conjuncts.columns()))?;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(rows.project(columns).select(&selected)))
    }
}

impl Source for NativeSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let shared = &self.shared;
        let rows = SplitRows::read(&split, &shared.view, &shared.request.registry)?;
        let segment = shared.view.segment(rows.segment).ok_or_else(no_rows)?;
        let block = rows.block;
        if block.is_some_and(|it| it >= segment.version().segment.blocks()) {
            return Err(no_rows());
        }
        if let Some(found) = &self.found {
            let of_split = found.iter().filter(|it| SplitRows::of_row(**it) == rows);
            let rest = of_split.copied().collect::<Vec<RowId>>().into_iter();
            self.current = Some(Current::Found { rest });
            return Ok(());
        }
        let plan = segment.plan()?;
        self.current = Some(match block {
            Some(block) => {
                self.metrics.groups_read += 1;
                let segment = Arc::clone(segment);
                Current::Block(BlockRows::new(&self.shared, segment, plan, block, &self.bytes_read))
            }
            None => {
                let inserted: Vec<InsertedRows> =
                    plan.inserted_with_ids(&self.all_columns()).collect();
                let (segment, rest) = (segment.segment_id(), inserted.into_iter());
                Current::Inserted { segment, rest, open: None }
            }
        });
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        match self.current.take() {
            None => Ok(SourceStep::NeedSplit),
            Some(Current::Block(block)) => self.step_block(block),
            Some(Current::Found { rest }) => self.step_found(rest),
            Some(Current::Inserted { segment, rest, open }) => {
                self.step_inserted(segment, rest, open)
            }
        }
    }

    fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
    }

    fn split_share(&self) -> f64 {
        match &self.current {
            Some(Current::Block(block)) => {
                1.0 - block.rest.len() as f64 / f64::from(block.rows.max(1))
            }
            // Few rows.
            Some(Current::Inserted { .. } | Current::Found { .. }) | None => 0.0,
        }
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }
}

impl BlockRows {
    fn new(
        shared: &Arc<ScanShared>,
        segment: Arc<SegmentView>,
        plan: Arc<MergePlan>,
        block: u32,
        bytes_read: &Arc<AtomicU64>,
    ) -> BlockRows {
        let rest = segment.version().segment.block_rows(block);
        let reader = |column: usize| LazyReader {
            shared: Arc::clone(shared),
            segment: Arc::clone(&segment),
            column,
            block,
            start: rest.start,
            reader: Mutex::default(),
            bytes_read: Arc::clone(bytes_read),
        };
        let columns = shared.view.types.len();
        let readers = (0..columns).map(|it| Arc::new(reader(it))).collect();
        BlockRows { segment, plan, rows: rest.end - rest.start, rest, readers }
    }

    /// A column of the rows at the positions `pick` in `sids`, or of all of them.
    fn lazy(&self, column: usize, sids: &Range<u32>, pick: Option<Arc<[u32]>>) -> Result<Vector> {
        let rows = pick.as_ref().map_or(sids.len(), |it| it.len());
        let Some(reader) = self.readers.get(column) else {
            return Ok(self.row_ids(sids, pick.as_deref()));
        };
        let data_type = reader.data_type()?.clone();
        let loader = BlockLoader {
            reader: Arc::clone(reader),
            plan: Arc::clone(&self.plan),
            sids: sids.clone(),
            pick,
        };
        Ok(Vector::lazy(data_type, rows, Box::new(loader)))
    }

    fn row_ids(&self, sids: &Range<u32>, pick: Option<&[u32]>) -> Vector {
        let segment = self.segment.segment_id();
        let id = |at: u32| RowId { segment, row: RowName::Base(sids.start + at) }.pack();
        let ids: Vec<i64> = match pick {
            Some(pick) => pick.iter().map(|it| id(*it)).collect(),
            None => (0..sids.end - sids.start).map(id).collect(),
        };
        Vector::native::<i64>(Type::BigInt, ids, None)
    }
}

impl LazyReader {
    fn data_type(&self) -> Result<&Type> {
        let data_type = self.shared.view.types.get(self.column);
        data_type.ok_or_else(|| Error::internal("no such column"))
    }

    fn read(&self, sids: &Range<u32>, pick: Option<&[u32]>) -> Result<Vector> {
        let within = self.within(sids);
        self.with_reader(|it| it.read(within, pick))
    }

    /// Which of the rows `among`, positions in `sids`, pass a test, if that is known without
    /// decoding.
    fn select(&self, sids: &Range<u32>, test: &ColumnTest, among: &Rows) -> Result<Option<Rows>> {
        let within = self.within(sids);
        self.with_reader(|it| it.select(within, test, among))
    }

    fn within(&self, sids: &Range<u32>) -> Range<u32> {
        sids.start - self.start..sids.end - self.start
    }

    fn with_reader<T>(&self, f: impl FnOnce(&mut ColumnReader) -> Result<T>) -> Result<T> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match reader.take() {
            Some(open) => reader.insert(open),
            None => {
                let segment = &self.segment.version().segment;
                let opened = segment.open(self.column, self.block, self.data_type()?)?;
                let bytes = segment.block_bytes(self.column, self.block);
                self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
                reader.insert(opened)
            }
        };
        f(open)
    }
}

/// Loads a column of base rows, with modified values.
struct BlockLoader {
    reader: Arc<LazyReader>,
    plan: Arc<MergePlan>,
    sids: Range<u32>,
    pick: Option<Arc<[u32]>>,
}

impl Loader for BlockLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let pick = compose(self.pick.as_ref(), rows);
        let values = self.reader.read(&self.sids, pick.as_deref())?;
        let column = self.reader.column as u32;
        self.plan.range(self.sids.clone()).patch(column, values, pick.as_deref())
    }

    /// Tests the values on disk, and apart from them those that were modified.
    fn select(&mut self, test: &ColumnTest, among: &Rows) -> Result<Option<Rows>> {
        let changes = self.plan.range(self.sids.clone());
        let modified = changes.modified(self.reader.column as u32);
        let Some(pick) = &self.pick else {
            let passing = self.reader.select(&self.sids, test, among)?;
            let (Some(modified), Some(passing)) = (modified, &passing) else { return Ok(passing) };
            return modified.select(&self.sids, test, among, passing).map(Some);
        };
        if modified.is_some() {
            return Ok(None);
        }
        let picked = among.to_indices();
        let picked = picked.iter().filter_map(|it| pick.get(*it as usize));
        let of_block = Rows::from_indices(self.sids.len(), picked.map(|it| *it as usize));
        let Some(passing) = self.reader.select(&self.sids, test, &of_block)? else {
            return Ok(None);
        };
        let passes = |row: &usize| pick.get(*row).is_some_and(|it| passing.contains(*it as usize));
        let among = among.to_indices().into_iter().map(|it| it as usize);
        Ok(Some(Rows::from_indices(pick.len(), among.filter(passes))))
    }
}

/// Bounds of values, some of them overwritten with others.
fn widened(bounds: &Bounds, modified: &Vector) -> Bounds {
    let of_modified = bounds_of(modified).unwrap_or_default();
    let widened = union_bounds(bounds, u64::MAX, &of_modified, modified.len() as u64);
    // How many nulls were overwritten is not known.
    let nulls = widened.nulls.filter(|it| *it == 0);
    Bounds { nulls, ..widened }
}

/// The elements of `outer` at the positions `inner`.
fn compose(outer: Option<&Arc<[u32]>>, inner: Option<&[u32]>) -> Option<Arc<[u32]>> {
    match (outer, inner) {
        (None, None) => None,
        (Some(outer), None) => Some(Arc::clone(outer)),
        (None, Some(inner)) => Some(inner.into()),
        (Some(outer), Some(inner)) => {
            let element = |it: &u32| outer.get(*it as usize).copied().unwrap_or_default();
            Some(inner.iter().map(element).collect())
        }
    }
}
