//! Scanning: one split per batch of the table.

use crate::{MemoryTable, batch::StoredBatch, key, row_id::row_id};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    task::Waker,
};
use volley_connector::{
    KeyLookup, ListedSplits, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split,
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
}

/// The only rows that a scan may have, by batch.
type FoundRows = Arc<BTreeMap<usize, Vec<u32>>>;

impl MemoryScan {
    pub(crate) fn new(
        table: MemoryTable,
        row_ids: RowIds,
        request: ScanRequest,
    ) -> Result<MemoryScan> {
        let (found, found_by_joins) = (None, Mutex::default());
        let shared = ScanShared { table, row_ids, request, found, found_by_joins };
        let shared = ScanShared { found: shared.find()?, ..shared };
        Ok(MemoryScan { shared: Arc::new(shared) })
    }
}

impl ScanShared {
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
            None => Box::new(MemorySplits { batches, listed: 0 }),
        })
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let request = &self.shared.request;
        Ok(Box::new(MemorySource {
            batches: Arc::clone(self.shared.table.batches()),
            found: self.shared.found_now()?,
            row_ids: self.shared.row_ids,
            columns: request.columns.clone(),
            batch_rows: request.batch_rows.max(1),
            conjuncts: request.conjuncts()?,
            registry: Arc::clone(&request.registry),
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

/// One split per batch.
struct MemorySplits {
    batches: Arc<[StoredBatch]>,
    listed: usize,
}

impl SplitSource for MemorySplits {
    fn next(&mut self, max: usize, _waker: &Waker) -> Result<SplitStep> {
        let start = self.listed;
        self.listed = self.batches.len().min(start.saturating_add(max.max(1)));
        let split = |index| split(&self.batches, index);
        let splits: Vec<Split> = (start..self.listed).map(split).collect();
        Ok(if splits.is_empty() { SplitStep::End } else { SplitStep::Splits(splits) })
    }
}

struct MemorySource {
    batches: Arc<[StoredBatch]>,
    /// The only rows to read, if they are known.
    found: Option<FoundRows>,
    row_ids: RowIds,
    columns: Vec<usize>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    registry: Arc<Registry>,
    current: Option<Current>,
    metrics: ScanMetrics,
}

/// The batch being read.
struct Current {
    index: usize,
    batch: Batch,
    live: Option<Rows>,
    /// The only rows to read.
    found: Option<Vec<u32>>,
    /// How many of its rows were read.
    read: usize,
}

impl Current {
    /// The next rows, at most `rows_max`, without those that were deleted; `None` at the end. Found
    /// rows exist.
    fn next(&mut self, rows_max: usize, row_ids: RowIds) -> Result<Option<Batch>> {
        if let Some(found) = &self.found {
            let rows = found.get(self.read..).unwrap_or_default();
            let rows = rows.get(..rows_max.min(rows.len())).unwrap_or_default();
            self.read += rows.len();
            if rows.is_empty() {
                return Ok(None);
            }
            let part = self.batch.gather(rows)?;
            let has_ids = row_ids == RowIds::Appended;
            return Ok(Some(if has_ids { with_ids(part, self.index, rows) } else { part }));
        }
        Ok(self.next_live(rows_max, row_ids))
    }

    fn next_live(&mut self, rows_max: usize, row_ids: RowIds) -> Option<Batch> {
        let (start, rows) = (self.read, rows_max.min(self.batch.rows() - self.read));
        if rows == 0 {
            return None;
        }
        self.read += rows;
        let mut part = self.batch.slice(start, rows);
        if row_ids == RowIds::Appended {
            let ids: Vec<i64> = (start..self.read).map(|row| row_id(self.index, row)).collect();
            let mut columns = part.into_columns();
            columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
            part = Batch::new(columns, rows);
        }
        Some(match &self.live {
            Some(live) => {
                let left = (0..rows).filter(|row| live.contains(start + row));
                part.select(&Rows::from_indices(rows, left))
            }
            None => part,
        })
    }
}

impl Source for MemorySource {
    fn start(&mut self, split: Split) -> Result<()> {
        let index = read_split(&split, &self.batches, &self.registry)?;
        let missing = || Error::corruption(format!("no batch {index} in the table"));
        let batch = self.batches.get(index).ok_or_else(missing)?;
        self.metrics.groups_read += 1;
        let (batch, live) = (batch.batch().clone(), batch.live().cloned());
        let found = self.found.as_ref();
        let found = found.map(|it| it.get(&index).cloned().unwrap_or_default());
        self.current = Some(Current { index, batch, live, found, read: 0 });
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(current) = &mut self.current else { return Ok(SourceStep::NeedSplit) };
        let Some(part) = current.next(self.batch_rows, self.row_ids)? else {
            self.current = None;
            return Ok(SourceStep::NeedSplit);
        };
        self.metrics.rows_read += part.rows() as u64;
        if part.rows() == 0 {
            return Ok(SourceStep::Progress);
        }
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(part.project(&self.columns)));
        };
        let selected = conjuncts.select(part.project(conjuncts.columns()))?.rows;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(part.project(&self.columns).select(&selected)))
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
    use volley_function::QueryConstants;
    use volley_memory::Pool;
    use volley_types::{Field, Schema};

    fn table(batches: i64) -> MemoryTable {
        let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
        let batch =
            |it| Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![it; 3], None)], 3);
        let batches = (0..batches).map(batch).collect();
        MemoryTable::new("t", schema, batches, &Pool::root("test", None)).unwrap()
    }

    fn scan(table: &MemoryTable) -> Box<dyn Scan> {
        let request = ScanRequest {
            columns: vec![0],
            filters: Vec::new(),
            dynamic_filters: Vec::new(),
            batch_rows: 10,
            registry: Arc::new(Registry::new()),
            query: Arc::new(QueryConstants::default()),
            pool: Pool::root("test", None),
        };
        table.scan(request).unwrap()
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
