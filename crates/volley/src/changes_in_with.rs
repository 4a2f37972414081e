//! Statements whose WITH changes rows: the parts run one after the other, each sees what those
//! before it changed, and all of them are one transaction.

use crate::{
    Outcome, Replacement, Replacements, Session,
    held_rows::HeldRows,
    planning::{StatementContext, plan_query},
    statement::{Collected, bind, execute},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::Table;
use volley_connector_memory::MemoryTable;
use volley_error::{Result, Span};
use volley_function::QueryConstants;
use volley_sql::{ChangesInWith, Parameters, ParsedStatement, Statement};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The column of a change without RETURNING.
const COUNT: &str = "Count";

/// Runs the parts in the session's transaction, or else in one of their own.
pub(crate) fn run(
    session: &Session,
    parts: &ChangesInWith,
    values: &(Parameters, Option<Span>),
    outside: Option<Arc<dyn Replacements>>,
    constants: &Arc<QueryConstants>,
) -> Result<Outcome> {
    session.catalog.check_not_aborted()?;
    let is_own = !session.is_in_transaction();
    if is_own {
        session.catalog.begin(constants.now_micros)?;
    }
    let returned = Arc::new(Returned { tables: Mutex::default(), outside });
    let outcome = run_parts(session, parts, values, &returned, constants);
    match (outcome, is_own) {
        (Ok(outcome), true) => session.catalog.commit().map(|()| outcome),
        (Err(error), true) => {
            session.catalog.roll_back()?;
            Err(error)
        }
        (outcome, false) => outcome,
    }
}

fn run_parts(
    session: &Session,
    parts: &ChangesInWith,
    values: &(Parameters, Option<Span>),
    returned: &Arc<Returned>,
    constants: &Arc<QueryConstants>,
) -> Result<Outcome> {
    for (name, change) in &parts.changes {
        let (schema, batches) = match run_part(session, change, values, returned, constants)? {
            Outcome::Rows(rows) => {
                let collected = Collected::of(rows, session)?;
                (collected.schema, collected.batches)
            }
            Outcome::Done(rows) => counted(rows.unwrap_or_default())?,
        };
        returned.add(name, MemoryTable::new(name, schema, batches, &session.pool)?);
        constants.cancellation.check()?;
    }
    run_part(session, &parts.last, values, returned, constants)
}

/// Runs one part; its rows are complete before the transaction commits.
fn run_part(
    session: &Session,
    part: &ParsedStatement,
    values: &(Parameters, Option<Span>),
    returned: &Arc<Returned>,
    constants: &Arc<QueryConstants>,
) -> Result<Outcome> {
    let mut cx = StatementContext::begin(session, Arc::clone(constants), None, part.text());
    cx.replacements = Some(Arc::clone(returned) as _);
    match bind(session, part, &cx, values.clone())? {
        Statement::Query(query) => {
            let schema = query.schema();
            let planned = plan_query(session, query.plan, &cx)?;
            HeldRows::run(session, planned, schema).map(Outcome::Rows)
        }
        other => execute(session, other, None, &cx),
    }
}

/// The number of rows that a change without RETURNING wrote.
fn counted(rows: u64) -> Result<(Schema, Vec<Batch>)> {
    let rows = Value::BigInt(i64::try_from(rows).unwrap_or(i64::MAX));
    let column = Vector::from_values(Type::BigInt, &[rows]);
    let schema = Schema::new(vec![Field::new(COUNT, Type::BigInt)]);
    Ok((schema, vec![Batch::new(vec![column], 1)]))
}

/// The rows of the parts so far, before the tables of the caller.
struct Returned {
    tables: Mutex<BTreeMap<String, Arc<dyn Table>>>,
    outside: Option<Arc<dyn Replacements>>,
}

impl Returned {
    fn add(&self, name: &str, table: MemoryTable) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(name.to_owned(), Arc::new(table));
    }
}

impl Replacements for Returned {
    fn find(&self, name: &str) -> Result<Option<Replacement>> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.get(name).map(|it| Replacement::Table(Arc::clone(it)));
        drop(tables);
        match (found, &self.outside) {
            (Some(found), _) => Ok(Some(found)),
            (None, Some(outside)) => outside.find(name),
            (None, None) => Ok(None),
        }
    }
}
