//! Statements that change the rows and columns of tables.
//!
//! ```text
//! INSERT: plan ── table write of each driver ──> Transaction::add
//! query ── rows ──> RowChanges ── Transaction::change ──> changed rows ── checks, RETURNING ──>
//!     commit
//! ```
//!
//! A failure before the last step leaves the table unchanged, and so does cancelling the statement,
//! which every loop over batches checks.

use crate::{
    Outcome, ResultStream, Session,
    planning::{Planned, StatementContext, plan_query},
    statement::{Collected, count_of, rows_of},
};
use std::sync::Arc;
use volley_catalog::Turn;
use volley_connector::{
    Changed, RowChanges, RowUpdates, SinkFactory, Table, TableChange, TableWriter,
};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_plan::{PlanNode, PlanNodeId, TableHandle, TableWriteNode, WriteTarget};
use volley_sql::{Alteration, MergeAction, Query, Write, WriteKind};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// Runs a statement that changes rows. `turn`: the right to, outside of a transaction.
pub(crate) fn write(
    session: &Session,
    write: Write,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    if matches!(write.kind, WriteKind::Insert { .. }) {
        let planned = plan_query(session, write.query.plan.clone(), cx)?;
        return insert(session, write, planned, turn, cx);
    }
    let rows = rows_of(session, write.query.clone(), cx)?;
    write_rows(session, write, rows, turn, cx)
}

/// Adds the rows of a plan to the table of a statement: the plan's drivers write them.
pub(crate) fn insert(
    session: &Session,
    write: Write,
    planned: Planned,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    let (place, table) = cx.catalog.stored_table(&write.table)?;
    let skipping_keys = match &write.kind {
        WriteKind::Insert { skipping_keys } => skipping_keys.as_slice(),
        _ => return Err(Error::internal("another statement than INSERT")),
    };
    let mut planned = Some(planned);
    session.catalog.change(&place.database, turn, |transaction| {
        // Statements that change rows have a turn or a transaction, and do not run again.
        let planned = planned.take().ok_or_else(|| Error::internal("rows that were written"))?;
        let writer = transaction.writer(table, &session.pool.child("rows of a statement"))?;
        write_into(session, planned, (&write.table, &write.schema), &writer)?;
        let changed = transaction.add(table, writer, skipping_keys)?;
        let outcome = finish(session, &write, changed, cx)?;
        cx.constants.cancellation.check()?;
        Ok(outcome)
    })
}

/// The name of the sink of a table that a statement changes.
const TABLE_SINK: &str = "table";

/// Runs a plan whose rows a writer receives, as those of a table; returns how many there were.
pub(crate) fn write_into(
    session: &Session,
    mut planned: Planned,
    (table, columns): (&str, &Schema),
    writer: &Arc<dyn TableWriter>,
) -> Result<u64> {
    let (sink, location) = (TABLE_SINK.to_owned(), table.to_owned());
    let target = WriteTarget { sink, location, options: Vec::new() };
    let written = Schema::new(vec![Field::new("rows", Type::BigInt)]);
    planned.wrap(1, |input| {
        Arc::new(PlanNode::TableWrite(TableWriteNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            target,
            column_names: columns.fields.iter().map(|it| it.name.clone()).collect(),
            schema: written.clone(),
        }))
    });
    planned.sinks = Some(Arc::new(OneWriter(Arc::clone(writer))));
    count_of(session.start(planned, written)?)
}

/// The sink of a statement that writes to one table.
struct OneWriter(Arc<dyn TableWriter>);

impl SinkFactory for OneWriter {
    fn writer(&self, _target: &WriteTarget, _columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        Ok(Arc::clone(&self.0))
    }
}

/// Writes the rows of the statement's query.
fn write_rows(
    session: &Session,
    write: Write,
    rows: Collected,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    let (place, table) = cx.catalog.stored_table(&write.table)?;
    let mut rows = Some(rows.batches);
    session.catalog.change(&place.database, turn, |transaction| {
        // Statements that change rows have a turn or a transaction, and do not run again.
        let rows = rows.take().ok_or_else(|| Error::internal("rows that were written"))?;
        let changed = transaction.change(table, changes_of(&write.kind, rows)?)?;
        let outcome = finish(session, &write, changed, cx)?;
        cx.constants.cancellation.check()?;
        Ok(outcome)
    })
}

/// Checks the rows that were written, and returns what RETURNING says of them.
fn finish(
    session: &Session,
    write: &Write,
    changed: Changed,
    cx: &StatementContext,
) -> Result<Outcome> {
    let rows: usize = changed.written.iter().chain(&changed.removed).map(Batch::rows).sum();
    if write.checks.is_empty() && write.returning.is_none() {
        return Ok(Outcome::Done(Some(rows as u64)));
    }
    let mut schema = write.schema.clone();
    let shown = match write.kind {
        WriteKind::Delete => changed.removed,
        WriteKind::Merge { .. } if write.returning.is_some() => {
            schema.fields.push(Field::new("action", Type::Varchar));
            with_actions(changed.written, changed.changed_batches, changed.removed)
        }
        _ => changed.written,
    };
    let shown = Shown { handle: write.written.clone(), schema, rows: shown };
    let (handle, shown) = shown.table(session)?;
    for check in &write.checks {
        let violations = query_over(session, check.violations.clone(), (&handle, &shown), cx)?;
        if violations.batches.iter().any(|it| it.rows() > 0) {
            let message = format!("CHECK constraint is not satisfied: {}", check.name);
            return Err(Error::invalid_value(message));
        }
    }
    match &write.returning {
        Some(query) => {
            let returned = query_over(session, query.clone(), (&handle, &shown), cx)?;
            Ok(Outcome::Rows(ResultStream::of_collected(returned)))
        }
        None => Ok(Outcome::Done(Some(rows as u64))),
    }
}

/// The rows that MERGE changed, added and removed, with the number of batches and the name of the
/// action.
fn with_actions(written: Vec<Batch>, changed_batches: usize, removed: Vec<Batch>) -> Vec<Batch> {
    let action = |index: usize| match index < changed_batches {
        true => MergeAction::Update,
        false => MergeAction::Insert,
    };
    let written = written.into_iter().enumerate().map(|(index, batch)| (batch, action(index)));
    let removed = removed.into_iter().map(|it| (it, MergeAction::Delete));
    let with_action = |(batch, action): (Batch, MergeAction)| {
        let rows = batch.rows();
        let action = Vector::constant(Type::Varchar, &Value::text(action.name()), rows);
        let columns = batch.columns().iter().cloned().chain([action]);
        Batch::new(columns.collect(), rows)
    };
    written.chain(removed).map(with_action).collect()
}

/// The rows that checks and RETURNING see.
struct Shown {
    handle: TableHandle,
    schema: Schema,
    rows: Vec<Batch>,
}

impl Shown {
    fn table(self, session: &Session) -> Result<(TableHandle, Arc<dyn Table>)> {
        let table = MemoryTable::new("written rows", self.schema, self.rows, &session.pool)?;
        Ok((self.handle, Arc::new(table)))
    }
}

/// The rows of a query whose `table` is only known now.
pub(crate) fn query_over(
    session: &Session,
    query: Query,
    (handle, table): (&TableHandle, &Arc<dyn Table>),
    cx: &StatementContext,
) -> Result<Collected> {
    let schema = query.schema();
    let mut planned = plan_query(session, query.plan, cx)?;
    planned.tables = Arc::new(planned.tables.with(handle.clone(), Arc::clone(table)));
    Collected::of(session.start(planned, schema)?, session)
}

fn changes_of(kind: &WriteKind, rows: Vec<Batch>) -> Result<RowChanges> {
    let mut changes = RowChanges::default();
    match kind {
        WriteKind::Insert { .. } => return Err(Error::internal("rows that are collected")),
        WriteKind::Delete => {
            for batch in rows {
                check_cancelled()?;
                changes.deleted.extend(ids_of(batch.column(0))?);
            }
        }
        WriteKind::Update { columns } => {
            changes.updated_columns.clone_from(columns);
            changes.updates = updates_of(rows, 1)?;
        }
        WriteKind::Merge { statement } => {
            for batch in rows {
                check_cancelled()?;
                split_merged(batch, &mut changes)?;
            }
            check_once(&changes, statement)?;
        }
    }
    Ok(changes)
}

/// Ids in the first column, values from column `first` on.
fn updates_of(rows: Vec<Batch>, first: usize) -> Result<Vec<RowUpdates>> {
    let update = |batch: Batch| {
        check_cancelled()?;
        let ids = ids_of(batch.column(0))?;
        let values: Vec<usize> = (first..batch.columns().len()).collect();
        Ok(RowUpdates { ids, values: batch.project(&values) })
    };
    rows.into_iter().map(update).collect()
}

/// Sorts rows of MERGE (id, action, columns) by what to do with them.
fn split_merged(batch: Batch, changes: &mut RowChanges) -> Result<()> {
    let actions = batch.column(1).flatten()?;
    let codes = actions.flat_values().and_then(|it| it.native::<i32>());
    let codes = codes.ok_or_else(|| Error::internal("actions that are no INTEGER"))?;
    let rows_of = |action: MergeAction| {
        let rows = codes.iter().zip(0..).filter(|it| MergeAction::of_code(*it.0) == Some(action));
        batch.gather(&rows.map(|it| it.1).collect::<Vec<u32>>())
    };
    let columns: Vec<usize> = (2..batch.columns().len()).collect();
    let inserted = rows_of(MergeAction::Insert)?;
    if inserted.rows() > 0 {
        changes.inserted.push(inserted.project(&columns));
    }
    changes.updated_columns = (0..columns.len()).collect();
    changes.updates.extend(updates_of(vec![rows_of(MergeAction::Update)?], 2)?);
    changes.deleted.extend(ids_of(rows_of(MergeAction::Delete)?.column(0))?);
    Ok(())
}

/// The number of row ids that are sorted between two checks for cancellation.
const SORTED_IDS: usize = 1 << 16;

/// Refuses to change or remove a row for several others.
fn check_once(changes: &RowChanges, statement: &str) -> Result<()> {
    let updated = changes.updates.iter().flat_map(|it| &it.ids);
    let mut ids: Vec<i64> = updated.chain(&changes.deleted).copied().collect();
    // Parts that are sorted are merged fast.
    for part in ids.chunks_mut(SORTED_IDS) {
        check_cancelled()?;
        part.sort_unstable();
    }
    ids.sort();
    if ids.windows(2).any(|it| it.first() == it.last()) {
        let message = format!("{statement} changes a row twice");
        let hint = "several rows of the source match the same row of the table";
        return Err(Error::invalid_value(message).hint(hint));
    }
    Ok(())
}

fn ids_of(column: &Vector) -> Result<Vec<i64>> {
    let column = column.flatten()?;
    let ids = column.flat_values().and_then(|it| it.native::<i64>());
    ids.map(<[i64]>::to_vec).ok_or_else(|| Error::internal("row ids that are no BIGINT"))
}

/// Runs ALTER TABLE.
pub(crate) fn alter(
    session: &Session,
    name: &str,
    alteration: Alteration,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<()> {
    let change = match alteration {
        Alteration::RenameTable { name: new } => {
            return session.catalog.rename_table(&cx.catalog, turn, name, &new);
        }
        Alteration::AddColumn { field, definition, values } => {
            let values = updates_of(rows_of(session, values, cx)?.batches, 1)?;
            TableChange::AddColumn { field, definition, values }
        }
        Alteration::Retype { index, data_type, named_types, values } => {
            let values = updates_of(rows_of(session, values, cx)?.batches, 1)?;
            TableChange::RetypeColumn { index, data_type, named_types, values }
        }
        Alteration::DropColumn { index } => TableChange::DropColumn { index },
        Alteration::RenameColumn { index, name } => TableChange::RenameColumn { index, name },
        Alteration::Define { definition } => TableChange::Define { definition },
    };
    cx.constants.cancellation.check()?;
    session.catalog.alter(&cx.catalog, turn, name, change)
}
