//! Tables below SQL: rows loaded, then keys inserted, updated and looked up, one per transaction.
//!
//! Each tenth of the keys is timed, which shows whether the cost of a change grows with their
//! number.

use std::{path::Path, sync::Arc, thread, time::Instant};
use volley_connector::{
    Access, ColumnDefinition, Database, Definition, KeyDefinition, KeyLookup, RowChanges,
    RowUpdates, Snapshot, TableDefinition, TableId, TableWriter, WriteKind,
};
use volley_connector_native::NativeDatabase;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, TypeRegistry, Value};
use volley_vector::{Batch, Vector};

/// Drivers that load rows.
const DRIVERS: i64 = 2;

/// Rows of a batch.
const BATCH_ROWS: i64 = 8192;

/// Loads `rows` rows into a new database, then changes and looks up `changes` of them.
pub(crate) fn run(folder: &Path, rows: i64, changes: i64) -> Result<()> {
    let pool = Pool::root("bench", None);
    let database = NativeDatabase::open(folder, &pool, Arc::new(TypeRegistry::default()))?;
    let table = create(&database)?;
    let start = Instant::now();
    load(&database, table, rows, &pool)?;
    rate("rows loaded", rows, start);
    let mut random = fastrand::Rng::with_seed(1);
    // Even keys are loaded, odd ones are inserted.
    let mut keys: Vec<i64> = (0..rows).collect();
    random.shuffle(&mut keys);
    keys.truncate(usize::try_from(changes).unwrap_or(usize::MAX));
    look_up(&database, table, keys.iter().take(2).map(|it| it * 2))?;
    tenths("look-ups", &keys, |keys| look_up(&database, table, keys.iter().map(|it| it * 2)))?;
    tenths("inserts", &keys, |keys| {
        keys.iter().try_for_each(|it| insert(&database, table, it * 2 + 1))
    })?;
    tenths("updates", &keys, |keys| {
        keys.iter().try_for_each(|it| update(&database, table, it * 2))
    })?;
    let start = Instant::now();
    database.close()?;
    println!("closed in {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn rate(what: &str, count: i64, start: Instant) {
    println!("{what}: {:.0} per second", count as f64 / start.elapsed().as_secs_f64());
}

/// Times each tenth of the keys.
fn tenths(what: &str, keys: &[i64], mut run: impl FnMut(&[i64]) -> Result<()>) -> Result<()> {
    let rates = keys.chunks(keys.len().div_ceil(10).max(1)).map(|keys| {
        let start = Instant::now();
        run(keys)?;
        Ok(format!("{:.0}", keys.len() as f64 / start.elapsed().as_secs_f64()))
    });
    println!("{what} per second: {}", rates.collect::<Result<Vec<String>>>()?.join(", "));
    Ok(())
}

fn create(database: &NativeDatabase) -> Result<TableId> {
    let mut transaction = database.begin(Access::Any)?;
    let definition = TableDefinition {
        columns: vec![ColumnDefinition { is_not_null: true, ..ColumnDefinition::default() }],
        keys: vec![KeyDefinition { columns: vec![0], is_primary: true, index: None }],
        ..TableDefinition::default()
    };
    let fields = vec![Field::new("k", Type::BigInt), Field::new("t", Type::Varchar)];
    let (schema, name, columns) = ("main".to_owned(), "t".to_owned(), Schema::new(fields));
    transaction.define(Definition::CreateTable { schema, name, columns, definition })?;
    let snapshot = transaction.snapshot();
    let id = snapshot.catalog().relation("main", "t").and_then(|it| it.as_table()).map(|it| it.id);
    transaction.commit()?;
    id.ok_or_else(|| Error::internal("the table was not made"))
}

fn batch(keys: impl Iterator<Item = i64>) -> Batch {
    let keys: Vec<i64> = keys.collect();
    let texts: Vec<Value> = keys.iter().map(|it| Value::text(format!("text of {it}"))).collect();
    let rows = keys.len();
    let columns = vec![
        Vector::native::<i64>(Type::BigInt, keys, None),
        Vector::from_values(Type::Varchar, &texts),
    ];
    Batch::new(columns, rows)
}

fn load(database: &NativeDatabase, table: TableId, rows: i64, pool: &Pool) -> Result<()> {
    let mut transaction = database.begin(Access::Any)?;
    let writer: Arc<dyn TableWriter> = transaction.writer(table, &WriteKind::insert(), pool)?;
    let sinks = (0..DRIVERS).map(|_| writer.open()).collect::<Result<Vec<_>>>()?;
    let part = rows / DRIVERS + 1;
    let written = thread::scope(|scope| {
        let drivers = sinks.into_iter().zip(0..).map(|(mut sink, driver)| {
            scope.spawn(move || {
                let end = rows.min((driver + 1) * part);
                let mut start = driver * part;
                while start < end {
                    let next = end.min(start + BATCH_ROWS);
                    sink.write(&batch((start..next).map(|it| it * 2)))?;
                    start = next;
                }
                sink.finish()
            })
        });
        let drivers: Vec<_> = drivers.collect();
        drivers.into_iter().try_for_each(|it| {
            it.join().unwrap_or_else(|_| Err(Error::internal("a driver panicked")))
        })
    });
    written?;
    transaction.apply(table, writer)?;
    transaction.commit()
}

fn insert(database: &NativeDatabase, table: TableId, key: i64) -> Result<()> {
    let mut transaction = database.begin(Access::Any)?;
    let inserted = vec![batch([key].into_iter())];
    transaction.change(table, RowChanges { inserted, ..RowChanges::default() })?;
    transaction.commit()
}

/// Columns of a row by key, of the table with row ids.
fn find(snapshot: &dyn Snapshot, table: TableId, key: i64, column: usize) -> Result<Batch> {
    let stored = snapshot.table(table)?.as_stored();
    let stored = stored.ok_or_else(|| Error::internal("a table that cannot be changed"))?;
    let keys = Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![key], None)], 1);
    let lookup = KeyLookup { columns: vec![0], keys };
    // A large segment gets its index when it is asked for again.
    for _ in 0..2 {
        match stored.with_row_ids.lookup(&lookup, &[column])? {
            Some(found) if found.rows() == 1 => return Ok(found),
            Some(found) => return Err(Error::internal("rows of a key").at("rows", found.rows())),
            None => {}
        }
    }
    Err(Error::internal("the table has no index"))
}

fn look_up(
    database: &NativeDatabase,
    table: TableId,
    mut keys: impl Iterator<Item = i64>,
) -> Result<()> {
    keys.try_for_each(|key| {
        let snapshot = database.snapshot()?;
        let found = find(&*snapshot, table, key, 1)?;
        let is_right = found.column(0).value(0)? == Value::text(format!("text of {key}"));
        if is_right { Ok(()) } else { Err(Error::internal("another row")) }
    })
}

fn update(database: &NativeDatabase, table: TableId, key: i64) -> Result<()> {
    let mut transaction = database.begin(Access::Any)?;
    let found = find(&*transaction.snapshot(), table, key, 2)?;
    let id = found.column(0).value(0)?.as_i128().and_then(|it| i64::try_from(it).ok());
    let id = id.ok_or_else(|| Error::internal("no row id"))?;
    let values = Vector::from_values(Type::Varchar, &[Value::text(format!("new text of {key}"))]);
    let updates = vec![RowUpdates { ids: vec![id], values: Batch::new(vec![values], 1) }];
    let changes = RowChanges { updates, updated_columns: vec![1], ..RowChanges::default() };
    transaction.change(table, changes)?;
    transaction.commit()
}
