//! Statements that change the rows and columns of tables.
//!
//! ```text
//! plan ── checks and sink of each driver ──> Transaction::apply ──> changed rows ──> commit
//!                                                                        └── RETURNING ──> held
//! ```
//!
//! A failure before the last step leaves the table unchanged, and so does cancelling the statement,
//! which every loop over batches checks. Rows of RETURNING are held until the commit has succeeded.

use crate::{
    Outcome, ResultStream, Session,
    held_rows::HeldRows,
    new_values::new_values,
    planning::{Planned, StatementContext, plan_query},
    statement::Collected,
};
use std::sync::Arc;
use volley_catalog::Turn;
use volley_connector::{
    Changed, MergeAction, SinkFactory, Table, TableChange, TableWriter, WriteKind,
};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_plan::{PlanNode, PlanNodeId, TableHandle, TableWriteNode, WriteTarget};
use volley_sql::{Alteration, Query, Write};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// Runs a statement that changes rows. `turn`: the right to, outside of a transaction.
pub(crate) fn write(
    session: &Session,
    write: Write,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    let planned = plan_query(session, write.query.plan.clone(), cx)?;
    run_write(session, &write, planned, turn, cx).map(|it| it.0)
}

/// Changes a table by the rows of a plan: the plan's drivers write them.
pub(crate) fn run_write(
    session: &Session,
    write: &Write,
    planned: Planned,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<(Outcome, Written)> {
    let (place, table) = cx.catalog.stored_table(&write.table)?;
    let mut planned = Some(write_plan(planned, &write.table, &write.checks));
    session.catalog.change(&place.database, turn, |transaction| {
        // Statements that change rows have a turn or a transaction, and do not run again.
        let planned = planned.take().ok_or_else(|| Error::internal("rows that were written"))?;
        let pool = session.pool.child("rows of a statement");
        let writer = transaction.writer(table, &write.kind, &pool)?;
        let written = write_into(session, planned, &writer)?;
        let changed = transaction.apply(table, writer)?;
        let outcome = finish(session, write, changed, cx)?;
        cx.constants.cancellation.check()?;
        Ok((outcome, written))
    })
}

/// The name of the sink of a table that a statement changes.
const TABLE_SINK: &str = "table";

/// The plan that writes the rows of another one to a table. Its last columns are those of `checks`.
pub(crate) fn write_plan(mut planned: Planned, table: &str, checks: &[String]) -> Planned {
    let (sink, location) = (TABLE_SINK.to_owned(), table.to_owned());
    let target = WriteTarget { sink, location, options: Vec::new() };
    let fields = &planned.plan.schema().fields;
    let written = fields.iter().take(fields.len().saturating_sub(checks.len()));
    let column_names = written.map(|it| it.name.clone()).collect();
    planned.wrap(1, |input| {
        Arc::new(PlanNode::TableWrite(TableWriteNode {
            node_id: PlanNodeId::UNASSIGNED,
            target,
            column_names,
            checks: checks.to_vec(),
            schema: Schema::new(vec![Field::new("rows", Type::BigInt)]),
            input,
        }))
    });
    planned
}

/// What a plan that writes rows did.
pub(crate) struct Written {
    /// How many rows its sinks received.
    pub(crate) rows: u64,
    /// Its rows, which were read: it knows what the operators did.
    pub(crate) result: ResultStream,
}

/// Runs a plan of [`write_plan`], whose rows a writer receives.
pub(crate) fn write_into(
    session: &Session,
    mut planned: Planned,
    writer: &Arc<dyn TableWriter>,
) -> Result<Written> {
    planned.sinks = Some(Arc::new(OneWriter(Arc::clone(writer))));
    let schema = planned.plan.schema().clone();
    let mut result = session.start(planned, schema)?;
    let rows = count_of(&mut result)?;
    Ok(Written { rows, result })
}

/// The sink of a statement that writes to one table.
struct OneWriter(Arc<dyn TableWriter>);

impl SinkFactory for OneWriter {
    fn writer(&self, _target: &WriteTarget, _columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        Ok(Arc::clone(&self.0))
    }
}

/// The sum of the BIGINT column of a result.
pub(crate) fn count_of(result: &mut ResultStream) -> Result<u64> {
    let mut count = 0;
    while let Some(batch) = result.next()? {
        for row in 0..batch.rows() {
            let value = batch.column(0).value(row)?.as_i128().unwrap_or_default();
            count += u64::try_from(value).unwrap_or_default();
        }
    }
    Ok(count)
}

/// Makes the late checks of the rows that were written, and holds what RETURNING says of them.
fn finish(
    session: &Session,
    write: &Write,
    changed: Changed,
    cx: &StatementContext,
) -> Result<Outcome> {
    let rows: usize = changed.written.iter().chain(&changed.removed).map(Batch::rows).sum();
    if write.late_checks.is_empty() && write.returning.is_none() {
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
    // Columns are shared with the table, which is charged for them.
    let shown = MemoryTable::sharing("written rows", schema, shown, &session.pool)?;
    let (handle, shown) = (&write.written, Arc::new(shown) as Arc<dyn Table>);
    for check in &write.late_checks {
        let violations = query_over(session, check.violations.clone(), (handle, &shown), cx)?;
        if violations.batches.iter().any(|it| it.rows() > 0) {
            return Err(Error::invalid_value(check.message.clone()));
        }
    }
    match &write.returning {
        Some(query) => {
            let planned = plan_over(session, query.clone(), (handle, &shown), cx)?;
            let schema = query.schema();
            HeldRows::run(session, planned, schema).map(Outcome::Rows)
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

/// The rows of a query whose `table` is only known now.
pub(crate) fn query_over(
    session: &Session,
    query: Query,
    table: (&TableHandle, &Arc<dyn Table>),
    cx: &StatementContext,
) -> Result<Collected> {
    let schema = query.schema();
    Collected::of(session.start(plan_over(session, query, table, cx)?, schema)?, session)
}

/// The plan of a query whose `table` is only known now.
fn plan_over(
    session: &Session,
    query: Query,
    (handle, table): (&TableHandle, &Arc<dyn Table>),
    cx: &StatementContext,
) -> Result<Planned> {
    let mut planned = plan_query(session, query.plan, cx)?;
    planned.tables = Arc::new(planned.tables.with(handle.clone(), Arc::clone(table)));
    Ok(planned)
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
            let values = new_values(session, values, cx)?;
            TableChange::AddColumn { field, definition, values }
        }
        Alteration::Retype { index, data_type, named_types, values } => {
            let values = new_values(session, values, cx)?;
            TableChange::RetypeColumn { index, data_type, named_types, values }
        }
        Alteration::DropColumn { index } => TableChange::DropColumn { index },
        Alteration::RenameColumn { index, name } => TableChange::RenameColumn { index, name },
        Alteration::Define { definition } => TableChange::Define { definition },
    };
    cx.constants.cancellation.check()?;
    session.catalog.alter(&cx.catalog, turn, name, change)
}
