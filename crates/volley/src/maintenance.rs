//! CHECKPOINT, VACUUM and ANALYZE, and what databases and tables take on disk.

use crate::{Session, catalog_tables::ColumnType, planning::StatementContext};
use std::sync::Arc;
use volley_catalog::{Attached, FoundTable, MEMORY, Object, StatementCatalog, TEMPORARY};
use volley_connector::{
    Maintenance, StoredBlock, TableArgument, TableArguments, TableId, WriteAccess,
};
use volley_error::{Error, Result};
use volley_memory::format_bytes;
use volley_types::Value;

/// Columns of `storage_info`.
pub(crate) const STORAGE_INFO: [(&str, ColumnType); 12] = [
    ("segment_id", ColumnType::BigInt),
    ("column_id", ColumnType::BigInt),
    ("column_name", ColumnType::Text),
    ("column_type", ColumnType::Text),
    ("block_id", ColumnType::BigInt),
    ("start", ColumnType::BigInt),
    ("rows", ColumnType::BigInt),
    ("zones", ColumnType::BigInt),
    ("codec", ColumnType::Text),
    ("bytes", ColumnType::BigInt),
    ("file", ColumnType::BigInt),
    ("changed_rows", ColumnType::BigInt),
];

/// Columns of `pragma_database_size`.
pub(crate) const DATABASE_SIZE: [(&str, ColumnType); 8] = [
    ("database_name", ColumnType::Text),
    ("database_size", ColumnType::Text),
    ("wal_size", ColumnType::Text),
    ("memory_usage", ColumnType::Text),
    ("memory_limit", ColumnType::Text),
    ("bytes", ColumnType::BigInt),
    ("live_bytes", ColumnType::BigInt),
    ("files", ColumnType::BigInt),
];

/// Runs CHECKPOINT of a database; of the current one without a name.
pub(crate) fn checkpoint(
    session: &Session,
    database: Option<&str>,
    cx: &StatementContext,
) -> Result<()> {
    let current = session.catalog.path().current().database.clone();
    let name = database.map_or(current, str::to_lowercase);
    maintain(cx.catalog.attached(&name)?, Maintenance::Checkpoint)
}

/// Runs VACUUM of a table; of all tables of the current database without a name.
pub(crate) fn vacuum(session: &Session, table: Option<&str>, cx: &StatementContext) -> Result<()> {
    let Some(name) = table else {
        let current = session.catalog.path().current().database.clone();
        return maintain(cx.catalog.attached(&current)?, Maintenance::Vacuum(None));
    };
    match stored(&cx.catalog, name)? {
        Some((database, table)) => {
            maintain(cx.catalog.attached(&database)?, Maintenance::Vacuum(Some(table)))
        }
        None => Ok(()),
    }
}

/// Runs ANALYZE: statistics are exact and always there, so only the name is checked.
pub(crate) fn analyze(table: Option<&str>, cx: &StatementContext) -> Result<()> {
    table.map_or(Ok(()), |it| stored(&cx.catalog, it).map(drop))
}

fn maintain(attached: &Attached, work: Maintenance) -> Result<()> {
    if attached.access == WriteAccess::ReadOnly {
        let message = format!("the database {} is attached read only", attached.name);
        return Err(Error::invalid_query(message));
    }
    attached.database.maintain(work)
}

/// The database and table of a name; `None` of a table that a program registered.
fn stored(catalog: &StatementCatalog, name: &str) -> Result<Option<(String, TableId)>> {
    let found = catalog.find_table(name)?;
    let Some(FoundTable { place, object }) = found else {
        return Err(Error::invalid_query(format!("no such table: {name}")));
    };
    match object {
        Object::Table(table) => Ok(Some((place.database, table.id))),
        Object::Registered(_) => Ok(None),
        Object::View(_) => Err(Error::invalid_query(format!("{name} is a view, not a table"))),
    }
}

/// The rows of `storage_info(table)`: one for each block.
pub(crate) fn storage_info(
    catalog: &StatementCatalog,
    arguments: &TableArguments,
) -> Result<Vec<Vec<Value>>> {
    let name = match arguments.arguments.as_slice() {
        [TableArgument::Value(name, _)] => name.as_str(),
        _ => None,
    };
    let name = name.ok_or_else(|| {
        let error = Error::invalid_query("storage_info needs the name of a table");
        error.hint("FROM storage_info('items')")
    })?;
    let Some((database, table)) = stored(catalog, name)? else { return Ok(Vec::new()) };
    let snapshot = catalog.snapshot(&database)?;
    let Some((_, entry)) = snapshot.catalog().table(table) else { return Ok(Vec::new()) };
    // A table that the transaction made is not stored yet.
    let is_committed = catalog.attached(&database)?.database.snapshot()?;
    if is_committed.catalog().table(table).is_none() {
        return Ok(Vec::new());
    }
    let blocks = catalog.attached(&database)?.database.stored_blocks(table)?;
    let entry = Arc::clone(entry);
    Ok(blocks.into_iter().map(|it| block_row(&it, &entry.columns)).collect())
}

fn block_row(block: &StoredBlock, columns: &volley_types::Schema) -> Vec<Value> {
    let field = columns.fields.get(block.column);
    let number = |it: Option<u32>| it.map_or(Value::Null, |it| Value::BigInt(it.into()));
    let bytes = |it: u64| Value::BigInt(i64::try_from(it).unwrap_or(i64::MAX));
    vec![
        number(Some(block.segment)),
        bytes(block.column as u64),
        field.map_or(Value::Null, |it| Value::text(&it.name)),
        field.map_or(Value::Null, |it| Value::text(it.data_type.to_string())),
        number(block.block),
        number(Some(block.first_row)),
        number(Some(block.rows)),
        number(Some(block.zones)),
        block.codec.as_ref().map_or(Value::Null, Value::text),
        bytes(block.bytes),
        number(block.file),
        bytes(block.changed_rows),
    ]
}

/// The rows of `pragma_database_size()`: one for each database.
pub(crate) fn database_sizes(
    catalog: &StatementCatalog,
    pool: &volley_memory::Pool,
) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (name, attached) in catalog.databases() {
        if name == TEMPORARY {
            continue;
        }
        let size = attached.database.size()?;
        let text = |it: u64| Value::text(format_bytes(usize::try_from(it).unwrap_or(usize::MAX)));
        let number = |it: u64| Value::BigInt(i64::try_from(it).unwrap_or(i64::MAX));
        let limit = match pool.limit_bytes() {
            usize::MAX => Value::text("unlimited"),
            limit => Value::text(format_bytes(limit)),
        };
        let is_in_memory = name == MEMORY || size.files == 0;
        let log = if is_in_memory { text(0) } else { text(size.log_bytes) };
        rows.push(vec![
            Value::text(&attached.name),
            text(size.bytes),
            log,
            Value::text(format_bytes(pool.stats().bytes)),
            limit,
            number(size.bytes),
            number(size.live_bytes),
            number(size.files),
        ]);
    }
    Ok(rows)
}
