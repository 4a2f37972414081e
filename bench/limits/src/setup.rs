//! Shared by the chapters: sessions, TPC-H files, tables in memory and columns as arrays.

use crate::Args;
use std::{path::PathBuf, sync::Arc};
use volley::{
    Batch, Decoded, Field, MemoryTable, Outcome, Result, Schema, Session, Settings, Type, Value,
    Vector,
};

/// Rows per batch of tables in memory, the engine's default.
pub const BATCH: usize = 8192;

/// A session with this number of threads.
pub fn session(threads: usize) -> Result<Session> {
    Session::with_settings(Settings { threads, ..Settings::default() })
}

/// The Parquet file of a TPC-H table, made with all others if they are not there.
pub fn tpch_file(args: &Args, table: &str) -> Result<PathBuf> {
    let default = || PathBuf::from(format!("data/tpch-sf{}", args.scale));
    let folder = args.data.clone().unwrap_or_else(default);
    if !volley_tpch::is_complete(&folder) {
        eprintln!("making TPC-H data of scale {} in {}", args.scale, folder.display());
        volley_tpch::generate(args.scale, &folder, &|_| Ok(()))?;
    }
    Ok(folder.join(format!("{table}.parquet")))
}

/// Runs statements without result rows.
pub fn execute(session: &Session, sql: &str) -> Result<()> {
    for statement in &volley::parse(sql)? {
        if let Outcome::Rows(mut rows) = session.run(statement)? {
            while rows.next()?.is_some() {}
        }
    }
    Ok(())
}

/// The rows of a query whose values are all numbers, without their scales.
pub fn numbers(session: &Session, sql: &str) -> Result<Vec<Vec<i128>>> {
    let rows = session.sql(sql)?.collect_values()?;
    Ok(rows.iter().map(|row| row.iter().map(number).collect()).collect())
}

/// A number without its scale; a text's first byte; 0 for anything else.
pub fn number(value: &Value) -> i128 {
    match value {
        Value::Decimal(value) | Value::HugeInt(value) => *value,
        Value::BigInt(value) => (*value).into(),
        Value::Varchar(text) => text.bytes().next().unwrap_or_default().into(),
        _ => 0,
    }
}

/// A BIGINT column without nulls for each array.
pub fn integers(arrays: &[&[u64]]) -> Vec<Vector> {
    let column = |it: &&[u64]| {
        let values: Vec<i64> = it.iter().map(|it| it.cast_signed()).collect();
        Vector::native(Type::BigInt, values, None)
    };
    arrays.iter().map(column).collect()
}

/// Names and columns of one length.
pub type Columns = Vec<(&'static str, Vector)>;

/// Makes a table in memory.
pub fn register(session: &Session, name: &str, columns: Columns) -> Result<()> {
    session.register_table(name, Arc::new(memory_table(session, name, &[columns])?))?;
    Ok(())
}

/// A table in memory of the rows of all parts, in batches of the engine's size.
pub fn memory_table(session: &Session, name: &str, parts: &[Columns]) -> Result<MemoryTable> {
    let field = |it: &(&str, Vector)| Field::new(it.0, it.1.data_type().clone());
    let schema: Schema = parts.iter().take(1).flatten().map(field).collect();
    let batches = parts.iter().flat_map(batches_of).collect();
    MemoryTable::new(name, schema, batches, session.pool())
}

fn batches_of(columns: &Columns) -> impl Iterator<Item = Batch> + '_ {
    let rows = columns.first().map_or(0, |it| it.1.len());
    (0..rows).step_by(BATCH).map(move |start| {
        let rows = BATCH.min(rows - start);
        Batch::new(columns.iter().map(|it| it.1.slice(start, rows)).collect(), rows)
    })
}

/// All values of one column of a query's batches, as `value` reads them.
pub fn array<T>(
    batches: &[Batch],
    column: usize,
    value: impl Fn(&Decoded<'_>, usize) -> T,
) -> Result<Vec<T>> {
    let mut values = Vec::with_capacity(batches.iter().map(Batch::rows).sum());
    for batch in batches {
        let decoded = Decoded::new(batch.column(column))?;
        values.extend((0..batch.rows()).map(|row| value(&decoded, row)));
    }
    Ok(values)
}
