//! Checking a database, and saving what can be read of a damaged one.

use crate::{NativeDatabase, NativeOptions};
use std::{path::Path, sync::Arc};
use volley_connector::{
    Access, CatalogSnapshot, Database, DefinedObject, Definition, RelationEntry, RowChanges,
    SequenceEntry, TableDefinition, TableEntry, Transaction, WriteAccess,
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::check_cancelled;
use volley_storage::{
    BLOCK_ROWS, CheckReport, LocalStore, SALVAGE_ROWS, SegmentView, Storage, StorageOptions,
    TableView, Version,
};
use volley_vector::Batch;

/// The schema that every database has.
const MAIN: &str = "main";

/// Rows that are inserted at once: enough for segments of their own.
const INSERT_ROWS: usize = 1 << 17;

/// What was saved of a damaged database.
#[derive(Debug, Default)]
pub struct SalvageReport {
    /// By schema and name.
    pub tables: Vec<SalvagedTable>,
    /// What is lost, and where the damage is.
    pub lost: Vec<Error>,
}

/// What was saved of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedTable {
    /// Its name, with its schema if that is not `main`.
    pub name: String,
    /// Rows in the new database.
    pub saved_rows: u64,
    /// Rows that could not be read.
    pub lost_rows: u64,
}

/// Reads all blocks of the database in `folder`, to find damage. Another process may write it.
///
/// # Errors
///
/// I/O: there is no database. Cancelled. What is wrong is in the report.
pub fn check_folder(folder: &Path, options: &NativeOptions) -> Result<CheckReport> {
    let read_only = NativeOptions { access: WriteAccess::ReadOnly, ..options.clone() };
    let failed = match NativeDatabase::open_with(folder, read_only) {
        Ok(database) => return database.check(),
        Err(error) => error,
    };
    if failed.kind() != ErrorKind::Corruption {
        return Err(failed);
    }
    let Ok((storage, findings)) = open_damaged(folder, options) else {
        return Ok(CheckReport { findings: vec![failed], ..CheckReport::default() });
    };
    let mut report = storage.check()?;
    let mut all = if findings.is_empty() { vec![failed] } else { findings };
    all.append(&mut report.findings);
    Ok(CheckReport { findings: all, ..report })
}

/// Saves what can be read of the database in `from` as a new one in `to`.
///
/// # Errors
///
/// I/O: there is no database in `from`, or one in `to`. Corruption: nothing can be read. Out of
/// memory, cancelled. The new database then has a part of the tables.
pub fn salvage(from: &Path, to: &Path, options: &NativeOptions) -> Result<SalvageReport> {
    if to.join("CURRENT").exists() {
        let error = Error::invalid_query("there is a database already").at("folder", to.display());
        return Err(error.hint("name a new folder"));
    }
    let (storage, lost) = match open_damaged(from, options) {
        Err(error) if error.kind() == ErrorKind::Corruption => {
            open_without_manifest(from, options, error)?
        }
        opened => opened?,
    };
    let mut report = SalvageReport { tables: Vec::new(), lost };
    let version = storage.snapshot();
    let new = NativeDatabase::open_with(to, options.clone())?;
    let mut transaction = new.begin(Access::Any)?;
    define_all(&version, transaction.as_mut())?;
    transaction.commit()?;
    for schema in version.catalog.schemas.values() {
        for table in schema.relations.values().filter_map(RelationEntry::as_table) {
            let mut transaction = new.begin(Access::Any)?;
            let name = CatalogSnapshot::shown_name(&schema.name, &table.name);
            let saved = Saved { schema: &schema.name, name, table };
            let salvaged = saved.rows(&version, transaction.as_mut(), &mut report.lost)?;
            transaction.commit()?;
            report.tables.push(salvaged);
        }
    }
    new.close()?;
    Ok(report)
}

fn open_damaged(folder: &Path, options: &NativeOptions) -> Result<(Arc<Storage>, Vec<Error>)> {
    let store = LocalStore::open_read_only(folder)?;
    Storage::open_damaged(Arc::new(store), storage_options(options))
}

/// Opens a database that has no readable manifest, as `error` says.
fn open_without_manifest(
    folder: &Path,
    options: &NativeOptions,
    error: Error,
) -> Result<(Arc<Storage>, Vec<Error>)> {
    let store = LocalStore::open_read_only(folder)?;
    let opened = Storage::open_without_manifest(Arc::new(store), storage_options(options));
    let (storage, findings) = match opened {
        Err(failed) if failed.kind() == ErrorKind::Corruption => return Err(error),
        opened => opened?,
    };
    let left_out = "rows are saved without keys, indexes, views, sequences and macros, and without \
                    the commits since the last checkpoint; some may have been removed before";
    let all = [error, Error::corruption(left_out)].into_iter().chain(findings);
    Ok((storage, all.collect()))
}

fn storage_options(options: &NativeOptions) -> StorageOptions {
    StorageOptions {
        pool: options.pool.child("damaged database"),
        delta_bytes: usize::MAX,
        types: Arc::clone(&options.types),
        salt: 0,
        bulk_rows: options.bulk_rows,
    }
}

/// Makes all objects. Sequences go on where they were.
fn define_all(version: &Version, transaction: &mut dyn Transaction) -> Result<()> {
    for schema in version.catalog.schemas.values() {
        let name = schema.name.clone();
        if !name.eq_ignore_ascii_case(MAIN) {
            transaction.define(Definition::CreateSchema { name: name.clone() })?;
        }
        let types = schema.types.values().map(|it| DefinedObject::Type((**it).clone()));
        let macros = schema.macros.values().map(|it| DefinedObject::Macro((**it).clone()));
        let sequences = schema.sequences.values().map(|it| {
            let next = version.numbers.get(&it.id).and_then(|it| it.next());
            let start = next.unwrap_or(it.start);
            DefinedObject::Sequence(SequenceEntry { start, ..(**it).clone() })
        });
        for object in types.chain(sequences).chain(macros) {
            transaction.define(Definition::Put { schema: name.clone(), object })?;
        }
        for relation in schema.relations.values() {
            let schema = name.clone();
            transaction.define(match relation {
                RelationEntry::Table(table) => Definition::CreateTable {
                    schema,
                    name: table.name.clone(),
                    columns: table.columns.clone(),
                    definition: TableDefinition::clone(&table.definition),
                },
                RelationEntry::View(view) => {
                    Definition::Put { schema, object: DefinedObject::View((**view).clone()) }
                }
            })?;
        }
    }
    Ok(())
}

/// A table whose rows are saved.
struct Saved<'a> {
    schema: &'a str,
    name: String,
    table: &'a TableEntry,
}

impl Saved<'_> {
    /// Inserts the rows that can be read into the new table.
    fn rows(
        self,
        version: &Version,
        transaction: &mut dyn Transaction,
        lost: &mut Vec<Error>,
    ) -> Result<SalvagedTable> {
        let snapshot = transaction.snapshot();
        let entry = snapshot.catalog().relation(self.schema, &self.table.name);
        let new = entry.and_then(RelationEntry::as_table).map(|it| it.id);
        let new = new.ok_or_else(|| Error::internal("a table that was not made"))?;
        let definition = &self.table.definition;
        let columns = 0..self.table.columns.len();
        let is_required: Vec<bool> = columns.map(|it| definition.is_not_null(it)).collect();
        let view = TableView::of_version(version, self.table.id)?;
        let mut salvaged = SalvagedTable { name: self.name, saved_rows: 0, lost_rows: 0 };
        let mut inserted: Vec<Batch> = Vec::new();
        let mut rows = 0;
        for segment in &view.segments {
            for sids in ranges(segment) {
                check_cancelled()?;
                let read = view.salvage(segment, sids, &is_required)?;
                lost.extend(read.findings.into_iter().map(|it| it.at("table", &salvaged.name)));
                salvaged.lost_rows += read.lost_rows;
                rows += read.batches.iter().map(Batch::rows).sum::<usize>();
                inserted.extend(read.batches);
                if rows >= INSERT_ROWS {
                    let inserted = std::mem::take(&mut inserted);
                    transaction.change(new, RowChanges { inserted, ..RowChanges::default() })?;
                    salvaged.saved_rows += rows as u64;
                    rows = 0;
                }
            }
        }
        if rows > 0 {
            transaction.change(new, RowChanges { inserted, ..RowChanges::default() })?;
            salvaged.saved_rows += rows as u64;
        }
        Ok(salvaged)
    }
}

/// Ranges of the rows of a segment, each within one block; an empty one of a segment without rows.
fn ranges(segment: &SegmentView) -> impl Iterator<Item = std::ops::Range<u32>> + use<> {
    const _: () = assert!(BLOCK_ROWS.is_multiple_of(SALVAGE_ROWS));
    let rows = segment.version().segment.rows();
    let starts = (0..rows.max(1)).step_by(SALVAGE_ROWS as usize);
    starts.map(move |start| start..rows.min(start + SALVAGE_ROWS))
}
