//! What checks do with a database.

use std::{sync::Arc, task::Waker};
use volley_connector::{
    Access, Database, Definition, RowChanges, RowUpdates, Scan, ScanRequest, Snapshot, SourceStep,
    Split, SplitStep, Table, TableDefinition, TableId, Transaction,
};
use volley_error::{Error, ErrorKind, Result};
use volley_function::{QueryConstants, Registry};
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The schema of the tables of checks.
pub(crate) const SCHEMA: &str = "main";

/// All rows of a table, in the order of its splits.
///
/// # Errors
///
/// Those of the scan.
pub fn rows(table: &Arc<dyn Table>) -> Result<Vec<Vec<Value>>> {
    let width = table.schema().len();
    let scan = table.scan(ScanRequest {
        columns: (0..width).collect(),
        filters: Vec::new(),
        dynamic_filters: Vec::new(),
        batch_rows: 1000,
        registry: Arc::new(Registry::default()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("check", None),
    })?;
    let mut source = scan.source()?;
    let mut rows = Vec::new();
    for split in splits(&*scan)? {
        source.start(split)?;
        loop {
            match source.step(Waker::noop())? {
                SourceStep::Batch(batch) => append_rows(&batch, &mut rows)?,
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(rows)
}

/// All splits of a scan.
fn splits(scan: &dyn Scan) -> Result<Vec<Split>> {
    let (mut listing, mut splits) = (scan.splits()?, Vec::new());
    loop {
        match listing.next(100, Waker::noop())? {
            SplitStep::Splits(listed) => splits.extend(listed),
            SplitStep::Blocked => std::thread::yield_now(),
            SplitStep::End => return Ok(splits),
        }
    }
}

/// As [`rows`], of a scan that must succeed.
#[track_caller]
pub(crate) fn rows_of(table: &Arc<dyn Table>) -> Vec<Vec<Value>> {
    done(rows(table))
}

fn append_rows(batch: &Batch, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    for row in 0..batch.rows() {
        let values = batch.columns().iter().map(|it| it.value(row));
        rows.push(values.collect::<Result<_>>()?);
    }
    Ok(())
}

/// The value of a call that must succeed.
#[track_caller]
pub(crate) fn done<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("operation failed: {error}"),
    }
}

/// Checks that a call fails with this kind and a message that contains `message`.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, kind: ErrorKind, message: &str) {
    let error: Error = result.err().expect("the operation must fail");
    assert!(error.kind() == kind && error.to_string().contains(message), "{error}");
}

/// Two columns: a key and a number.
pub(crate) fn columns() -> Schema {
    Schema::new(vec![Field::new("k", Type::BigInt), Field::new("n", Type::BigInt)])
}

/// A batch of such rows.
pub(crate) fn batch(rows: &[(i64, Option<i64>)]) -> Batch {
    let keys: Vec<Value> = rows.iter().map(|it| Value::BigInt(it.0)).collect();
    let numbers = rows.iter().map(|it| it.1.map_or(Value::Null, Value::BigInt));
    let numbers: Vec<Value> = numbers.collect();
    let columns = [keys, numbers].map(|it| Vector::from_values(Type::BigInt, &it));
    Batch::new(columns.into(), rows.len())
}

/// Rows to add.
pub(crate) fn added(rows: &[(i64, Option<i64>)]) -> RowChanges {
    RowChanges { inserted: vec![batch(rows)], ..RowChanges::default() }
}

pub(crate) fn create(name: &str, definition: TableDefinition) -> Definition {
    let (schema, name, columns) = (SCHEMA.to_owned(), name.to_owned(), columns());
    Definition::CreateTable { schema, name, columns, definition }
}

#[track_caller]
pub(crate) fn begin(database: &dyn Database) -> Box<dyn Transaction> {
    done(database.begin(Access::Any))
}

/// Commits a change of what objects there are.
#[track_caller]
pub(crate) fn define(database: &dyn Database, change: Definition) {
    let mut transaction = begin(database);
    done(transaction.define(change));
    done(transaction.commit());
}

/// Commits a new table with these rows.
#[track_caller]
pub(crate) fn make(database: &dyn Database, name: &str, rows: &[(i64, Option<i64>)]) -> TableId {
    let mut transaction = begin(database);
    done(transaction.define(create(name, TableDefinition::default())));
    let table = id(&*transaction.snapshot(), name);
    done(transaction.change(table, added(rows)));
    done(transaction.commit());
    table
}

/// The identity of a table.
#[track_caller]
pub(crate) fn id(snapshot: &dyn Snapshot, name: &str) -> TableId {
    let relation = snapshot.catalog().relation(SCHEMA, name);
    relation.and_then(|it| it.as_table()).expect("the table exists").id
}

/// The keys and numbers of a table, by key.
#[track_caller]
pub(crate) fn pairs(snapshot: &dyn Snapshot, table: TableId) -> Vec<(i64, Option<i64>)> {
    let number = |it: &Value| it.as_i128().and_then(|it| i64::try_from(it).ok());
    let rows = rows_of(&done(snapshot.table(table)));
    let pair = |it: &Vec<Value>| (number(&it[0]).expect("a key is not null"), number(&it[1]));
    let mut pairs: Vec<_> = rows.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs
}

/// What is committed of a table.
#[track_caller]
pub(crate) fn committed(database: &dyn Database, table: TableId) -> Vec<(i64, Option<i64>)> {
    pairs(&*done(database.snapshot()), table)
}

/// The ids of the rows with these keys, as a transaction sees them.
#[track_caller]
pub(crate) fn ids(snapshot: &dyn Snapshot, table: TableId, keys: &[i64]) -> Vec<i64> {
    let stored = done(snapshot.table(table)).as_stored().expect("the rows can be changed");
    let number = |it: &Value| it.as_i128().and_then(|it| i64::try_from(it).ok()).expect("a number");
    let rows = rows_of(&stored.with_row_ids);
    let found = rows.iter().filter(|it| keys.contains(&number(&it[0])));
    found.map(|it| number(it.last().expect("an id"))).collect()
}

/// Another number for the rows with these keys.
#[track_caller]
pub(crate) fn updated(
    snapshot: &dyn Snapshot,
    table: TableId,
    keys: &[i64],
    number: Option<i64>,
) -> RowChanges {
    let ids = ids(snapshot, table, keys);
    let values = vec![number.map_or(Value::Null, Value::BigInt); ids.len()];
    let values = Batch::new(vec![Vector::from_values(Type::BigInt, &values)], ids.len());
    let updates = vec![RowUpdates { ids, values }];
    RowChanges { updates, updated_columns: vec![1], ..RowChanges::default() }
}

/// The removal of the rows with these keys.
#[track_caller]
pub(crate) fn removed(snapshot: &dyn Snapshot, table: TableId, keys: &[i64]) -> RowChanges {
    RowChanges { deleted: ids(snapshot, table, keys), ..RowChanges::default() }
}
