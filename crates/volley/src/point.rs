//! The point path: prepared statements of one row by key, run on the caller's thread without a plan
//! and without a task.
//!
//! ```text
//! text ── as_point ──> PointStatement ── columns, key ──> PointPlan    kept for one catalog
//! run: values ──> look the key up ──> read, or change and commit
//! ```
//!
//! The path is taken only where it does what the plan would do. Whatever it cannot do (a value of
//! another type, a table without an index yet, an error of the change) is left to the plan, which
//! also says what is wrong: each function returns `None` then, and nothing has changed.

mod plan;

use crate::{Outcome, ResultStream, Session, prepared::PreparedStatement};
use plan::{Key, Steps, Upsert, Values};
use std::sync::{Arc, atomic::Ordering};
use volley_catalog::{Host, Object, StatementCatalog};
use volley_connector::{Changed, KeyLookup, RowChanges, RowUpdates, Snapshot};
use volley_error::{ErrorKind, Result};
use volley_memory::{Deadline, with_cancellation};
use volley_sql::PointStatement;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

pub(crate) use plan::PointPlan;

/// Runs a statement by the point path; `None` if it is not one, or must run by its plan.
pub(crate) fn run(
    session: &Session,
    statement: &PreparedStatement,
    values: &Values,
) -> Result<Option<Outcome>> {
    let Some(point) = &statement.point else { return Ok(None) };
    let settings = session.settings();
    if settings.tasks > 1 || settings.saves_plans || session.keeps_profiles(&settings) {
        return Ok(None);
    }
    if session.catalog.check_not_aborted().is_err() {
        return Ok(None);
    }
    let deadline = settings.statement_timeout.and_then(Deadline::after);
    let token = session.running_token().child_until(deadline);
    let outcome = with_cancellation(&token, || {
        let host: Arc<dyn Host> = Arc::clone(&session.host) as _;
        let catalog = session.catalog.statement(None, host, settings.dialect);
        let Some(plan) = current_plan(session, statement, point, &catalog)? else {
            return Ok(None);
        };
        match &plan.steps {
            Steps::Select { columns, key } => {
                let Some(rows) = select(&plan, columns, key, values, &catalog)? else {
                    return Ok(None);
                };
                let schema = crate::session::shown(plan.schema.clone(), &settings.time_zone);
                Ok(Some(Outcome::Rows(ResultStream::of_batch(schema, rows))))
            }
            steps => {
                let rows = write(session, &plan, steps, values)?;
                Ok(rows.map(|it| Outcome::Done(Some(it))))
            }
        }
    });
    let outcome = outcome.and_then(|it| match it {
        Some(outcome) => session.catalog.end_statement().map(|()| Some(outcome)),
        None => Ok(None),
    });
    match &outcome {
        Ok(Some(_)) => drop(session.direct_statements.fetch_add(1, Ordering::Relaxed)),
        Err(error) if !error.kind().is_transient() => session.catalog.abort(),
        _ => {}
    }
    outcome
}

/// The plan for the catalog as it is now; `None` if the path cannot be taken.
fn current_plan(
    session: &Session,
    statement: &PreparedStatement,
    point: &PointStatement,
    catalog: &StatementCatalog,
) -> Result<Option<Arc<PointPlan>>> {
    // What is wrong with the name is said by the plan.
    let Ok(Some(found)) = catalog.find_table(&point.table) else { return Ok(None) };
    let Object::Table(entry) = found.object else { return Ok(None) };
    let seen = catalog.snapshot(&found.place.database)?.catalog();
    let known = statement.plan();
    if let Some(plan) = known.filter(|it| it.is_of(&found.place.database, seen, entry.id)) {
        return Ok(plan.is_possible().then_some(plan));
    }
    let plan = PointPlan::new(session, statement, (point, &entry), (&found.place.database, seen));
    let plan = Arc::new(plan);
    statement.keep_plan(&plan);
    Ok(plan.is_possible().then_some(plan))
}

/// The row with a key, if there is one.
fn select(
    plan: &PointPlan,
    columns: &[usize],
    key: &Key,
    values: &Values,
    catalog: &StatementCatalog,
) -> Result<Option<Batch>> {
    let Some(keys) = plan.keys(key, values) else { return Ok(None) };
    let table = catalog.snapshot(&plan.database)?.table(plan.table)?;
    let found = table.lookup(&keys, columns)?;
    found.map(Batch::loaded).transpose()
}

/// Changes a row; how many were changed.
fn write(
    session: &Session,
    plan: &PointPlan,
    steps: &Steps,
    values: &Values,
) -> Result<Option<u64>> {
    session.catalog.change_rows(&plan.database, plan.table, |transaction| {
        let snapshot = transaction.snapshot();
        if !Arc::ptr_eq(snapshot.catalog(), &plan.catalog) {
            return Ok(None);
        }
        let Some(changes) = changes(plan, steps, values, &*snapshot)? else { return Ok(None) };
        if changes.is_nothing() {
            return Ok(Some(0));
        }
        match transaction.change(plan.table, changes.0) {
            Ok(changed) => Ok(Some(rows_of(&changed))),
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            // The plan's error says where in the text.
            Err(_) => Ok(None),
        }
    })
}

/// The changes of a statement.
struct PointChanges(RowChanges);

impl PointChanges {
    fn is_nothing(&self) -> bool {
        let RowChanges { inserted, updates, deleted, .. } = &self.0;
        inserted.is_empty() && updates.is_empty() && deleted.is_empty()
    }
}

/// What the statement changes; `None` if that is left to its plan.
fn changes(
    plan: &PointPlan,
    steps: &Steps,
    values: &Values,
    snapshot: &dyn Snapshot,
) -> Result<Option<PointChanges>> {
    let changes = match steps {
        Steps::Select { .. } | Steps::Impossible => return Ok(None),
        Steps::Insert { row, upsert } => {
            let Some(row) = plan.row(row, values) else { return Ok(None) };
            match upsert {
                None => inserted(row),
                Some(upsert) => match upserted(plan, row, upsert, values, snapshot)? {
                    Some(changes) => changes,
                    None => return Ok(None),
                },
            }
        }
        Steps::Update { columns, sources, key } => {
            let Some(new) = plan.values_of(columns, sources, values) else { return Ok(None) };
            let Some(keys) = plan.keys(key, values) else { return Ok(None) };
            let Some(ids) = row_ids(plan, &keys, snapshot)? else { return Ok(None) };
            match ids.as_slice() {
                [] => RowChanges::default(),
                [_] => updated(ids, columns.clone(), new),
                _ => return Ok(None),
            }
        }
        Steps::Delete { key } => {
            let Some(keys) = plan.keys(key, values) else { return Ok(None) };
            let Some(deleted) = row_ids(plan, &keys, snapshot)? else { return Ok(None) };
            RowChanges { deleted, ..RowChanges::default() }
        }
    };
    Ok(Some(PointChanges(changes)))
}

/// The row changes the one with its key, or is added.
fn upserted(
    plan: &PointPlan,
    row: Vec<Vector>,
    upsert: &Upsert,
    values: &Values,
    snapshot: &dyn Snapshot,
) -> Result<Option<RowChanges>> {
    let Some(keys) = plan.keys_of_row(&upsert.key, &row)? else { return Ok(None) };
    let Some(ids) = row_ids(plan, &keys, snapshot)? else { return Ok(None) };
    match ids.as_slice() {
        [] => Ok(Some(inserted(row))),
        [_] => {
            let new = plan.upserted_values(upsert, &row, values);
            Ok(new.map(|it| updated(ids, upsert.columns.clone(), it)))
        }
        _ => Ok(None),
    }
}

fn inserted(row: Vec<Vector>) -> RowChanges {
    RowChanges { inserted: vec![Batch::new(row, 1)], ..RowChanges::default() }
}

fn updated(ids: Vec<i64>, columns: Vec<usize>, new: Vec<Vector>) -> RowChanges {
    let updates = vec![RowUpdates { ids, values: Batch::new(new, 1) }];
    RowChanges { updates, updated_columns: columns, ..RowChanges::default() }
}

/// The ids of the rows with a key; `None` if the table has no index of it now.
fn row_ids(
    plan: &PointPlan,
    keys: &KeyLookup,
    snapshot: &dyn Snapshot,
) -> Result<Option<Vec<i64>>> {
    let Some(stored) = snapshot.table(plan.table)?.as_stored() else { return Ok(None) };
    let id_column = plan.entry.columns.len();
    let Some(found) = stored.with_row_ids.lookup(keys, &[id_column])? else { return Ok(None) };
    let ids = found.column(0).flatten()?;
    Ok(ids.flat_values().and_then(|it| it.native::<i64>()).map(<[i64]>::to_vec))
}

fn rows_of(changed: &Changed) -> u64 {
    changed.written.iter().chain(&changed.removed).map(|it| it.rows() as u64).sum()
}

/// A value as one of the type of a column, as the same literal in its place would be; `None` if it
/// is not one that needs no more than another width.
fn converted(value: &Value, from: &Type, to: &Type) -> Option<Value> {
    let is_integer =
        |it: &Type| matches!(it, Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt);
    match (to, value) {
        (_, Value::Null) => return Some(Value::Null),
        (Type::Boolean, Value::Boolean(_))
        | (Type::Double, Value::Double(_))
        | (Type::Varchar, Value::Varchar(_))
        | (Type::Varbinary, Value::Varbinary(_))
        | (Type::Date, Value::Date(_))
        | (Type::Timestamp, Value::Timestamp(_)) => return (from == to).then(|| value.clone()),
        (Type::Decimal { precision, scale }, Value::Decimal(unscaled)) => {
            let Type::Decimal { scale: from, .. } = from else { return None };
            return rescaled(*unscaled, *from, (*precision, *scale));
        }
        _ if is_integer(from) => {}
        _ => return None,
    }
    let number = value.as_i128()?;
    Some(match to {
        Type::Decimal { precision, scale } => rescaled(number, 0, (*precision, *scale))?,
        Type::TinyInt => Value::TinyInt(number.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(number.try_into().ok()?),
        Type::Integer => Value::Integer(number.try_into().ok()?),
        Type::BigInt => Value::BigInt(number.try_into().ok()?),
        _ => return None,
    })
}

/// A decimal of the scale `from` with the precision and scale of another type; `None` if it does
/// not fit or would lose digits.
fn rescaled(unscaled: i128, from: u8, (precision, scale): (u8, u8)) -> Option<Value> {
    let factor = 10_i128.checked_pow(u32::from(scale.checked_sub(from)?))?;
    let value = unscaled.checked_mul(factor)?;
    let limit = 10_u128.checked_pow(u32::from(precision))?;
    (value.unsigned_abs() < limit).then_some(Value::Decimal(value))
}
