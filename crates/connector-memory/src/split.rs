//! Scanning: one split per batch of the table.

use crate::{
    MemoryTable,
    batch::StoredBatch,
    key,
    live_rows::{live_in, only},
    row_id::row_id,
};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
};
use volley_connector::{
    Conditions, KeyLookup, ListedSplits, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split,
    SplitReader, SplitSource, SplitStep, SplitWriter, Table,
};
use volley_error::{Error, Result};
use volley_expression::filter::{Conjuncts, FilterCounts};
use volley_function::Registry;
use volley_types::Type;
use volley_vector::{Batch, Rows, Vector};

/// Whether the rows' ids are a column behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowIds {
    None,
    Appended,
}

/// The number of this connector in the bytes of splits.
const CONNECTOR: u8 = 17;

/// Drawn once by each process: its tables are in no other.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("process"));

/// The process, the version of the table, and the batch.
fn split_bytes(batches: &Arc<[StoredBatch]>, index: usize) -> Vec<u8> {
    let writer = SplitWriter::new(CONNECTOR).number(*PROCESS).number(version(batches));
    writer.number(index as u64).finish()
}

/// The batch that a split of this version of the table means.
fn read_split(split: &Split, batches: &Arc<[StoredBatch]>, registry: &Registry) -> Result<usize> {
    let mut reader = SplitReader::new(split, CONNECTOR, registry)?;
    let (process, table, index) = (reader.number()?, reader.number()?, reader.position()?);
    reader.finish()?;
    let of = match (process == *PROCESS, table == version(batches)) {
        (true, true) => return Ok(index),
        (true, false) => "another version of the table",
        (false, _) => "a table in memory of another process",
    };
    Err(Error::invalid_query(format!("the split is of {of}")))
}

/// Tells versions of tables apart as long as they live: the scan holds its own.
fn version(batches: &Arc<[StoredBatch]>) -> u64 {
    Arc::as_ptr(batches).addr() as u64
}

/// A scan of a table's batches.
pub(crate) struct MemoryScan {
    shared: Arc<ScanShared>,
}

/// What the sources of a scan share.
struct ScanShared {
    table: MemoryTable,
    row_ids: RowIds,
    request: ScanRequest,
    /// The rows with the keys that filters name.
    found: Option<FoundRows>,
    /// Those with the keys of joins, once they are known.
    found_by_joins: Mutex<Option<Option<FoundRows>>>,
    /// The conditions that summaries of batches may decide.
    conditions: Conditions,
    /// How many batches the filters ruled out before they became splits.
    batches_skipped: AtomicU64,
}

/// The only rows that a scan may have, by batch.
type FoundRows = Arc<BTreeMap<usize, Vec<u32>>>;

impl MemoryScan {
    pub(crate) fn new(
        table: MemoryTable,
        row_ids: RowIds,
        request: ScanRequest,
    ) -> Result<MemoryScan> {
        let shared = ScanShared {
            conditions: Conditions::new(&request),
            table,
            row_ids,
            request,
            found: None,
            found_by_joins: Mutex::default(),
            batches_skipped: AtomicU64::new(0),
        };
        let shared = ScanShared { found: shared.find()?, ..shared };
        Ok(MemoryScan { shared: Arc::new(shared) })
    }
}

impl ScanShared {
    /// Whether some row of a batch may satisfy the conditions, by what is known of joins now.
    fn may_match(&self, batch: &StoredBatch) -> bool {
        self.conditions.may_match(batch.rows(), &|column| batch.bounds(column))
    }

    /// The rows with keys that the conditions name by now; `None` if they name none.
    fn find(&self) -> Result<Option<FoundRows>> {
        let table = &self.table;
        let keys = table.definition().key_columns();
        let Some(lookup) = KeyLookup::of(&self.request, table.schema(), keys) else {
            return Ok(None);
        };
        key::find(&lookup, table.batches(), table.pool()).map(|it| it.map(Arc::new))
    }

    /// The rows that a source may read, when it is made: keys of joins are known by then.
    fn found_now(&self) -> Result<Option<FoundRows>> {
        if self.found.is_some() || self.request.dynamic_filters.is_empty() {
            return Ok(self.found.clone());
        }
        let mut known = self.found_by_joins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*known {
            return Ok(found.clone());
        }
        let found = self.find()?;
        *known = Some(found.clone());
        Ok(found)
    }
}

/// The rows with keys; the column behind the table's last one has their ids. `None` when there is
/// no memory for an index.
pub(crate) fn lookup(
    table: &MemoryTable,
    keys: &KeyLookup,
    columns: &[usize],
) -> Result<Option<Batch>> {
    let Some(found) = key::find(keys, table.batches(), table.pool())? else { return Ok(None) };
    let mut types: Vec<Type> = table.schema().types().cloned().collect();
    types.push(Type::BigInt);
    let mut parts = Vec::new();
    for (index, rows) in found {
        let Some(batch) = table.batches().get(index) else { continue };
        let rows = with_ids(batch.batch().gather(&rows)?, index, &rows);
        parts.push(rows.project(columns));
    }
    let types: Vec<Type> = columns.iter().filter_map(|it| types.get(*it).cloned()).collect();
    Batch::concat(&types, &parts).map(Some)
}

/// Rows of a batch with their ids as the last column.
fn with_ids(part: Batch, index: usize, rows: &[u32]) -> Batch {
    let ids: Vec<i64> = rows.iter().map(|row| row_id(index, *row as usize)).collect();
    let mut columns = part.into_columns();
    columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
    Batch::new(columns, rows.len())
}

impl Scan for MemoryScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let batches = Arc::clone(self.shared.table.batches());
        Ok(match &self.shared.found {
            Some(found) => {
                ListedSplits::boxed(found.keys().map(|it| split(&batches, *it)).collect())
            }
            None => Box::new(MemorySplits { shared: Arc::clone(&self.shared), listed: 0 }),
        })
    }

    fn pruned(&self) -> ScanMetrics {
        let groups_skipped = self.shared.batches_skipped.load(Ordering::Relaxed);
        ScanMetrics { groups_skipped, ..ScanMetrics::default() }
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let request = &self.shared.request;
        Ok(Box::new(MemorySource {
            shared: Arc::clone(&self.shared),
            found: self.shared.found_now()?,
            batch_rows: request.batch_rows.max(1),
            conjuncts: request.conjuncts()?,
            current: None,
            metrics: ScanMetrics::default(),
        }))
    }
}

/// The split of a batch.
fn split(batches: &Arc<[StoredBatch]>, index: usize) -> Split {
    let size_bytes = batches.get(index).map_or(0, StoredBatch::bytes) as u64;
    Split { size_bytes, ..Split::new(split_bytes(batches, index), format!("batch {index}")) }
}

/// One split per batch that the filters do not rule out.
struct MemorySplits {
    shared: Arc<ScanShared>,
    /// How many batches were looked at.
    listed: usize,
}

impl SplitSource for MemorySplits {
    fn next(&mut self, max: usize, _waker: &Waker) -> Result<SplitStep> {
        let batches = self.shared.table.batches();
        let mut splits = Vec::new();
        while splits.len() < max.max(1)
            && let Some(batch) = batches.get(self.listed)
        {
            if self.shared.may_match(batch) {
                splits.push(split(batches, self.listed));
            } else {
                self.shared.batches_skipped.fetch_add(1, Ordering::Relaxed);
            }
            self.listed += 1;
        }
        Ok(if splits.is_empty() { SplitStep::End } else { SplitStep::Splits(splits) })
    }
}

struct MemorySource {
    shared: Arc<ScanShared>,
    /// The only rows to read, if they are known.
    found: Option<FoundRows>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    current: Option<Current>,
    metrics: ScanMetrics,
}

/// The batch being read.
struct Current {
    index: usize,
    batch: StoredBatch,
    /// The only rows to read.
    found: Option<Vec<u32>>,
    /// How many of its rows were read.
    read: usize,
}

/// Consecutive rows of a batch, or found rows.
struct Part {
    rows: Batch,
    /// Those of them that were not deleted; `None` for all.
    live: Option<Rows>,
}

impl Current {
    /// The next rows, at most `rows_max`; `None` at the end. Found rows exist.
    fn next(&mut self, rows_max: usize, row_ids: RowIds) -> Result<Option<Part>> {
        let has_ids = row_ids == RowIds::Appended;
        let batch = self.batch.batch();
        if let Some(found) = &self.found {
            let rows = found.get(self.read..).unwrap_or_default();
            let rows = rows.get(..rows_max.min(rows.len())).unwrap_or_default();
            self.read += rows.len();
            if rows.is_empty() {
                return Ok(None);
            }
            let part = batch.gather(rows)?;
            let rows = if has_ids { with_ids(part, self.index, rows) } else { part };
            return Ok(Some(Part { rows, live: None }));
        }
        let (start, rows) = (self.read, rows_max.min(batch.rows() - self.read));
        if rows == 0 {
            return Ok(None);
        }
        self.read += rows;
        let mut part = batch.slice(start, rows);
        if has_ids {
            let ids: Vec<i64> = (start..self.read).map(|row| row_id(self.index, row)).collect();
            let mut columns = part.into_columns();
            columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
            part = Batch::new(columns, rows);
        }
        let live = self.batch.live().map(|it| live_in(it, start, rows));
        Ok(Some(Part { rows: part, live }))
    }
}

impl Part {
    fn rows(&self) -> usize {
        self.live.as_ref().map_or(self.rows.rows(), Rows::count)
    }

    /// Columns of the rows that were not deleted.
    fn project(&self, columns: &[usize]) -> Result<Batch> {
        let rows = self.rows.project(columns);
        match &self.live {
            Some(live) => only(&rows, live),
            None => Ok(rows),
        }
    }
}

impl Source for MemorySource {
    fn start(&mut self, split: Split) -> Result<()> {
        let batches = self.shared.table.batches();
        let index = read_split(&split, batches, &self.shared.request.registry)?;
        let missing = || Error::corruption(format!("no batch {index} in the table"));
        let batch = batches.get(index).ok_or_else(missing)?;
        if !self.shared.may_match(batch) {
            self.metrics.groups_skipped += 1;
            return Ok(());
        }
        self.metrics.groups_read += 1;
        let found = self.found.as_ref();
        let found = found.map(|it| it.get(&index).cloned().unwrap_or_default());
        self.current = Some(Current { index, batch: batch.clone(), found, read: 0 });
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(current) = &mut self.current else { return Ok(SourceStep::NeedSplit) };
        let Some(part) = current.next(self.batch_rows, self.shared.row_ids)? else {
            self.current = None;
            return Ok(SourceStep::NeedSplit);
        };
        self.metrics.rows_read += part.rows() as u64;
        if part.rows() == 0 {
            return Ok(SourceStep::Progress);
        }
        let columns = &self.shared.request.columns;
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(part.project(columns)?));
        };
        let selected = conjuncts.select_rows(part.project(conjuncts.columns())?)?;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(part.project(columns)?.select(&selected)))
    }

    fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
    }

    fn split_share(&self) -> f64 {
        let share = |it: &Current| {
            let rows = it.found.as_ref().map_or(it.batch.rows(), Vec::len);
            it.read as f64 / rows.max(1) as f64
        };
        self.current.as_ref().map_or(0.0, share)
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;
    use volley_expression::{Expr, SpecialForm};
    use volley_function::QueryConstants;
    use volley_memory::Pool;
    use volley_types::{Field, Schema, Value};

    fn table(batches: i64) -> MemoryTable {
        let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
        let batch =
            |it| Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![it; 3], None)], 3);
        let batches = (0..batches).map(batch).collect();
        MemoryTable::new("t", schema, batches, &Pool::root("test", None)).unwrap()
    }

    fn request() -> ScanRequest {
        ScanRequest {
            columns: vec![0],
            filters: Vec::new(),
            dynamic_filters: Vec::new(),
            batch_rows: 10,
            registry: Arc::new(Registry::new()),
            query: Arc::new(QueryConstants::default()),
            pool: Pool::root("test", None),
        }
    }

    fn scan(table: &MemoryTable) -> Box<dyn Scan> {
        table.scan(request()).unwrap()
    }

    fn listed(scan: &dyn Scan, max: usize) -> Vec<Split> {
        match scan.splits().unwrap().next(max, Waker::noop()).unwrap() {
            SplitStep::Splits(splits) => splits,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn splits_are_listed_as_they_are_asked_for() {
        let scan = scan(&table(5));
        assert_eq!(listed(&*scan, 2).len(), 2);
        let all = listed(&*scan, 99);
        let labels: Vec<&str> = all.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["batch 0", "batch 1", "batch 2", "batch 3", "batch 4"]);
        assert!(all.iter().all(|it| it.size_bytes >= 24));
    }

    #[test]
    fn batches_that_a_filter_rules_out_are_no_splits() {
        let column = Expr::column(0, Type::BigInt);
        let is_null = Expr::special(SpecialForm::IsNull, vec![column.clone()], Type::Boolean);
        let three = Expr::constant(Value::BigInt(3), Type::BigInt);
        let equal = Expr::call("eq", vec![column, three], Type::Boolean);
        for (filter, left) in [(equal, vec!["batch 3"]), (is_null, vec![])] {
            let request = ScanRequest { filters: vec![filter], ..request() };
            let scan = table(5).scan(request).unwrap();
            let splits = match scan.splits().unwrap().next(9, Waker::noop()).unwrap() {
                SplitStep::Splits(splits) => splits,
                _ => Vec::new(),
            };
            let labels: Vec<&str> = splits.iter().map(|it| it.label.as_str()).collect();
            assert_eq!(labels, left);
            assert_eq!(scan.pruned().groups_skipped, 5 - left.len() as u64);
        }
    }

    #[test]
    fn a_split_is_of_one_version_of_a_table_in_one_process() {
        let (first, second) = (table(2), table(2));
        let (scan, other) = (scan(&first), scan(&second));
        let start = |split| scan.source().unwrap().start(split);
        let split = listed(&*scan, 9).remove(1);
        assert!(start(split.clone()).is_ok());
        let error = start(listed(&*other, 9).remove(1)).unwrap_err();
        assert_eq!(error.message(), "the split is of another version of the table");
        let bytes = |process: u64, index: u64| {
            let registry = Registry::new();
            let mut reader = SplitReader::new(&split, CONNECTOR, &registry).unwrap();
            let (_, version) = (reader.number().unwrap(), reader.number().unwrap());
            let writer = SplitWriter::new(CONNECTOR).number(process).number(version);
            Split::new(writer.number(index).finish(), "made")
        };
        assert!(start(bytes(*PROCESS, 0)).is_ok());
        let foreign = start(bytes(PROCESS.wrapping_add(1), 0)).unwrap_err();
        assert_eq!(foreign.message(), "the split is of a table in memory of another process");
        let beyond = start(bytes(*PROCESS, 2)).unwrap_err();
        assert_eq!(
            (beyond.kind(), beyond.message()),
            (ErrorKind::Corruption, "no batch 2 in the table")
        );
        for at in 0..split.bytes.len() {
            let mut changed = split.bytes.to_vec();
            changed[at] ^= 1;
            let error = start(Split::new(changed, "changed")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
        }
    }
}
