//! Changes of rows on their way into a table: a sink for each driver of a statement.
//!
//! ```text
//! INSERT  columns of the table        ──> sink of the rows to add
//! DELETE  id                          ──> ids
//! UPDATE  id, new values              ──> batches of about 65,536 ids and values
//! MERGE   id, action, columns         ──> one of the three, by the action
//! ```
//!
//! A transaction takes what all sinks received once every driver has finished.

use crate::{
    BatchIndex, BatchMerger, MergeAction, OrderedParts, RowChanges, RowSink, RowUpdates,
    TableWriter, WriteKind,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// The number of row ids that are sorted between two checks for cancellation.
const SORTED_IDS: usize = 1 << 16;

/// Receives the rows of a statement as changes of a table.
pub struct ChangeCollector {
    kind: WriteKind,
    /// The types of the columns that change.
    changed_types: Vec<Type>,
    /// Receives rows to add.
    inserts: Arc<dyn TableWriter>,
    received: Arc<Mutex<Received>>,
}

/// What finished sinks received.
struct Received {
    updates: OrderedParts<RowUpdates>,
    sinks: usize,
    deleted: Vec<i64>,
    charge: Reservation,
}

impl ChangeCollector {
    /// Of a table with these columns. Rows to add go to `inserts`; other changes are charged to
    /// `pool`.
    pub fn new(
        kind: WriteKind,
        columns: &Schema,
        inserts: Arc<dyn TableWriter>,
        pool: &Pool,
    ) -> ChangeCollector {
        let types: Vec<Type> = columns.types().cloned().collect();
        let changed_types = match &kind {
            WriteKind::Update { columns } => {
                columns.iter().filter_map(|it| types.get(*it).cloned()).collect()
            }
            WriteKind::Insert { .. } | WriteKind::Merge { .. } => types,
            WriteKind::Delete => Vec::new(),
        };
        let received = Received {
            updates: OrderedParts::default(),
            sinks: 0,
            deleted: Vec::new(),
            charge: pool.reservation(),
        };
        let received = Arc::new(Mutex::new(received));
        ChangeCollector { kind, changed_types, inserts, received }
    }

    /// What receives rows to add.
    pub fn inserts(&self) -> &Arc<dyn TableWriter> {
        &self.inserts
    }

    /// The changes that all finished sinks received, but for the rows to add, and their charge.
    ///
    /// # Errors
    ///
    /// Invalid value: a MERGE that changes a row twice. Out of memory. Cancelled.
    pub fn take(&self) -> Result<(RowChanges, Reservation)> {
        let mut received = lock(&self.received);
        let mut changes = RowChanges {
            updates: received.updates.take(),
            deleted: std::mem::take(&mut received.deleted),
            ..RowChanges::default()
        };
        let empty = received.charge.pool().reservation();
        let charge = std::mem::replace(&mut received.charge, empty);
        match &self.kind {
            WriteKind::Insert { skipping_keys } => {
                changes.skipping_keys.clone_from(skipping_keys);
            }
            WriteKind::Delete => {}
            WriteKind::Update { columns } => changes.updated_columns.clone_from(columns),
            WriteKind::Merge { statement } => {
                changes.updated_columns = (0..self.changed_types.len()).collect();
                check_once(&changes, statement, charge.pool())?;
            }
        }
        Ok((changes, charge))
    }
}

impl TableWriter for ChangeCollector {
    fn sinks_max(&self) -> usize {
        self.inserts.sinks_max()
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let inserts = match self.kind {
            WriteKind::Insert { .. } => return self.inserts.open(),
            WriteKind::Merge { .. } => Some(self.inserts.open()?),
            WriteKind::Delete | WriteKind::Update { .. } => None,
        };
        let mut received = lock(&self.received);
        received.sinks += 1;
        let with_ids = std::iter::once(Type::BigInt).chain(self.changed_types.iter().cloned());
        Ok(Box::new(ChangeSink {
            sink: received.sinks,
            index: BatchIndex::default(),
            deletes: self.kind == WriteKind::Delete,
            inserts,
            updates: BatchMerger::new(with_ids.collect()),
            received: Arc::clone(&self.received),
        }))
    }
}

/// The sink of one driver.
struct ChangeSink {
    sink: usize,
    index: BatchIndex,
    /// Whether all rows are ids of rows to remove.
    deletes: bool,
    /// The sink of the rows that MERGE adds.
    inserts: Option<Box<dyn RowSink>>,
    /// Ids and new values.
    updates: BatchMerger,
    received: Arc<Mutex<Received>>,
}

impl ChangeSink {
    fn delete(&self, ids: &Vector) -> Result<()> {
        let ids = Ids::of(ids)?;
        let ids = ids.values()?;
        let mut received = lock(&self.received);
        let Received { deleted, charge, .. } = &mut *received;
        let len = deleted.len() + ids.len();
        if len > deleted.capacity() {
            let capacity = len.max(deleted.capacity() * 2);
            charge.grow((capacity - deleted.capacity()).saturating_mul(size_of::<i64>()))?;
            deleted.reserve_exact(capacity - deleted.len());
        }
        deleted.extend_from_slice(ids);
        Ok(())
    }

    fn update(&mut self, rows: Batch) -> Result<()> {
        let merged = self.updates.push(rows)?;
        self.keep(merged)
    }

    /// Keeps a large batch of ids and values.
    fn keep(&self, batch: Option<Batch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        let values = batch.project(&(1..batch.columns().len()).collect::<Vec<_>>());
        let bytes = values.retained_bytes() + batch.rows() * size_of::<i64>();
        lock(&self.received).charge.grow(bytes)?;
        let ids = Ids::of(batch.column(0))?.values()?.to_vec();
        lock(&self.received).updates.push(self.index, self.sink, RowUpdates { ids, values });
        Ok(())
    }

    /// Rows of MERGE: id, action, columns.
    fn merge(&mut self, batch: &Batch) -> Result<()> {
        let actions = batch.column(1).flatten()?;
        let codes = actions.flat_values().and_then(|it| it.native::<i32>());
        let codes = codes.ok_or_else(|| Error::internal("actions that are no INTEGER"))?;
        let rows_of = |action: MergeAction| {
            let rows =
                codes.iter().zip(0..).filter(|it| MergeAction::of_code(*it.0) == Some(action));
            batch.gather(&rows.map(|it| it.1).collect::<Vec<u32>>())
        };
        let values: Vec<usize> = (2..batch.columns().len()).collect();
        let inserted = rows_of(MergeAction::Insert)?;
        if inserted.rows() > 0 {
            let inserts = self.inserts.as_mut();
            let inserts = inserts.ok_or_else(|| Error::internal("rows without a sink"))?;
            inserts.write(&inserted.project(&values))?;
        }
        let updated = rows_of(MergeAction::Update)?;
        if updated.rows() > 0 {
            let columns: Vec<usize> = std::iter::once(0).chain(values).collect();
            self.update(updated.project(&columns))?;
        }
        let deleted = rows_of(MergeAction::Delete)?;
        if deleted.rows() > 0 { self.delete(deleted.column(0)) } else { Ok(()) }
    }
}

impl RowSink for ChangeSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        if self.deletes {
            self.delete(batch.column(0))
        } else if self.inserts.is_some() {
            self.merge(batch)
        } else {
            self.update(batch.clone())
        }
    }

    fn begin(&mut self, index: BatchIndex) -> Result<()> {
        let merged = self.updates.flush()?;
        self.keep(merged)?;
        self.index = index;
        self.inserts.as_mut().map_or(Ok(()), |it| it.begin(index))
    }

    fn finish(&mut self) -> Result<()> {
        let merged = self.updates.flush()?;
        self.keep(merged)?;
        self.inserts.as_mut().map_or(Ok(()), |it| it.finish())
    }

    fn held_bytes(&self) -> usize {
        let inserts = self.inserts.as_ref().map_or(0, |it| it.held_bytes());
        self.updates.held_bytes() + inserts
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        flat_bytes
    }
}

/// A flat column of row ids.
struct Ids(Vector);

impl Ids {
    fn of(column: &Vector) -> Result<Ids> {
        column.flatten().map(Ids)
    }

    fn values(&self) -> Result<&[i64]> {
        let ids = self.0.flat_values().and_then(|it| it.native::<i64>());
        ids.ok_or_else(|| Error::internal("row ids that are no BIGINT"))
    }
}

/// Refuses to change or remove a row for several others.
fn check_once(changes: &RowChanges, statement: &str, pool: &Pool) -> Result<()> {
    let rows = changes.updates.iter().map(|it| it.ids.len()).sum::<usize>() + changes.deleted.len();
    let mut charge = pool.reservation();
    // Merging sorted runs takes as much again.
    charge.grow(rows.saturating_mul(2 * size_of::<i64>()))?;
    let updated = changes.updates.iter().flat_map(|it| &it.ids);
    let mut ids = Vec::with_capacity(rows);
    ids.extend(updated.chain(&changes.deleted).copied());
    // Sorted runs are merged fast.
    for run in ids.chunks_mut(SORTED_IDS) {
        check_cancelled()?;
        run.sort_unstable();
    }
    ids.sort();
    if ids.windows(2).any(|it| it.first() == it.last()) {
        let message = format!("{statement} changes a row twice");
        let hint = "several rows of the source match the same row of the table";
        return Err(Error::invalid_value(message).hint(hint));
    }
    Ok(())
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}
