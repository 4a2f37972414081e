//! A database in a folder.

use crate::{check::check_keys, table::NativeTable, transaction::NativeTransaction};
use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use volley_connector::{
    Access, CatalogSnapshot, Database, DatabaseSize, Maintenance, SequenceId, Snapshot,
    StoredBlock, Table, TableId, Transaction, WriteAccess, WriteLock,
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, check_cancelled};
use volley_storage::{BULK_ROWS, Changes, CheckReport, LocalStore, Storage, StorageOptions, Store};
use volley_types::TypeRegistry;

/// Changes in memory take at most one of this many bytes of the memory limit.
const DELTA_PART: usize = 16;

/// Changes in memory of a database without a memory limit, in bytes.
const DELTA_BYTES: usize = 1 << 30;

/// A database on disk. Cheap to clone; clones are the same database.
///
/// What a commit that returned has changed is durable. [`Database::close`] makes the next
/// opening fast; without it, the log is replayed.
#[derive(Clone, Debug)]
pub struct NativeDatabase(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) storage: Arc<Storage>,
    /// Of transactions that change one table each.
    turns: Mutex<BTreeMap<TableId, Weak<WriteLock>>>,
}

/// What opening a database needs.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// Read only: no lock is taken, nothing is created or written, and another process may write
    /// the database. Each snapshot is that of its last commit.
    pub access: WriteAccess,
    /// Inserts of at least this many rows become segments at once; smaller ones are kept as changes
    /// of segments. [`BULK_ROWS`] suits most.
    pub bulk_rows: usize,
    /// What memory is charged to.
    pub pool: Pool,
    /// The types that tables may have.
    pub types: Arc<TypeRegistry>,
}

impl NativeDatabase {
    /// Opens the database in a folder of the local file system; makes one if there is none. Memory
    /// is charged to `pool`.
    ///
    /// # Errors
    ///
    /// I/O: among others, another process has it open, or the folder has files of another kind.
    /// Corruption: a file was damaged. Unsupported: a database of a newer version.
    pub fn open(
        folder: impl AsRef<Path>,
        pool: &Pool,
        types: Arc<TypeRegistry>,
    ) -> Result<NativeDatabase> {
        NativeDatabase::open_with(folder, NativeOptions::new(pool, types))
    }

    /// As [`NativeDatabase::open`], with options.
    ///
    /// # Errors
    ///
    /// As [`NativeDatabase::open`]; if it is opened read only, also that there is no database.
    pub fn open_with(folder: impl AsRef<Path>, options: NativeOptions) -> Result<NativeDatabase> {
        let folder = folder.as_ref();
        let store = match options.access {
            WriteAccess::ReadOnly => LocalStore::open_read_only(folder),
            WriteAccess::ReadWrite => {
                LocalStore::check_new(folder).and_then(|()| LocalStore::open(folder))
            }
        };
        let opened = store.and_then(|it| NativeDatabase::open_store(Arc::new(it), options));
        opened.map_err(|it| it.at("database", folder.display()))
    }

    /// As [`NativeDatabase::open_with`], in any store.
    ///
    /// # Errors
    ///
    /// As [`NativeDatabase::open_with`].
    pub fn open_store(store: Arc<dyn Store>, options: NativeOptions) -> Result<NativeDatabase> {
        let mut salt = [0; 8];
        getrandom::fill(&mut salt).map_err(|it| {
            Error::new(ErrorKind::Io, format!("the system has no random numbers: {it}"))
        })?;
        let NativeOptions { access, bulk_rows, pool, types } = options;
        let pool = pool.child("database on disk");
        let limit = pool.limit_bytes();
        let delta_bytes = if limit == usize::MAX { DELTA_BYTES } else { limit / DELTA_PART };
        let salt = u64::from_le_bytes(salt);
        let options = StorageOptions { pool, delta_bytes, types, salt, bulk_rows };
        let storage = match access {
            WriteAccess::ReadWrite => Storage::open(store, options)?,
            WriteAccess::ReadOnly => Storage::open_read_only(store, options)?,
        };
        Ok(NativeDatabase(Arc::new(Shared { storage, turns: Mutex::default() })))
    }

    /// Reads of blocks that were answered from memory since the database was opened.
    pub fn cached_reads(&self) -> u64 {
        self.0.storage.files().cached_reads()
    }

    /// Reads all blocks, to find damage, and looks for rows with the same key.
    ///
    /// # Errors
    ///
    /// Cancelled, out of memory; what is wrong is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let mut report = self.0.storage.check()?;
        check_keys(&self.0.storage, &mut report)?;
        Ok(report)
    }

    #[cfg(test)]
    pub(crate) fn storage(&self) -> &Storage {
        &self.0.storage
    }

    /// Writes all segments of a table with changes again, and small ones as one.
    fn propagate(&self, table: TableId) -> Result<()> {
        let version = self.0.storage.snapshot();
        for segment in &version.table(table)?.segments {
            check_cancelled()?;
            self.0.storage.propagate(table, segment.segment.id())?;
        }
        self.0.storage.merge_small(table)
    }
}

impl NativeOptions {
    /// To read and write.
    pub fn new(pool: &Pool, types: Arc<TypeRegistry>) -> NativeOptions {
        let (access, pool) = (WriteAccess::ReadWrite, pool.clone());
        NativeOptions { access, bulk_rows: BULK_ROWS, pool, types }
    }
}

impl Shared {
    fn lock(&self, table: TableId) -> Arc<WriteLock> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = turns.get(&table).and_then(Weak::upgrade) {
            return lock;
        }
        turns.retain(|_, it| it.strong_count() > 0);
        let lock = Arc::new(WriteLock::default());
        turns.insert(table, Arc::downgrade(&lock));
        lock
    }
}

impl Database for NativeDatabase {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        self.0.storage.refresh()?;
        let changes = Arc::new(Changes::new(self.0.storage.snapshot()));
        Ok(Arc::new(NativeSnapshot::new(Arc::clone(&self.0.storage), changes)))
    }

    fn begin(&self, access: Access) -> Result<Box<dyn Transaction>> {
        self.0.storage.refresh()?;
        let turn = match access {
            Access::Any => None,
            Access::OneTable(table) => Some((table, self.0.lock(table).acquire()?)),
            Access::Rows(table) => Some((table, self.0.lock(table).acquire_together()?)),
        };
        let open = self.0.storage.begin();
        if let Some((table, _)) = &turn {
            open.version().table(*table)?;
        }
        Ok(Box::new(NativeTransaction::new(open, turn)))
    }

    fn maintain(&self, work: Maintenance) -> Result<()> {
        match work {
            Maintenance::Checkpoint => {}
            Maintenance::Vacuum(Some(table)) => self.propagate(table)?,
            Maintenance::Vacuum(None) => {
                let version = self.0.storage.snapshot();
                version.tables.keys().try_for_each(|it| match self.propagate(*it) {
                    // It was dropped meanwhile.
                    Err(_) if !self.0.storage.snapshot().tables.contains_key(it) => Ok(()),
                    done => done,
                })?;
            }
        }
        self.0.storage.checkpoint()
    }

    fn close(&self) -> Result<()> {
        self.0.storage.close()
    }

    fn size(&self) -> Result<DatabaseSize> {
        self.0.storage.refresh()?;
        self.0.storage.size()
    }

    fn stored_blocks(&self, table: TableId) -> Result<Vec<StoredBlock>> {
        self.0.storage.refresh()?;
        self.0.storage.blocks(table)
    }
}

/// What is committed, or what a transaction sees.
#[derive(Debug)]
pub(crate) struct NativeSnapshot {
    storage: Arc<Storage>,
    changes: Arc<Changes>,
    /// Those asked for, since each computes its statistics once.
    tables: Mutex<BTreeMap<TableId, Arc<NativeTable>>>,
}

impl NativeSnapshot {
    pub(crate) fn new(storage: Arc<Storage>, changes: Arc<Changes>) -> NativeSnapshot {
        NativeSnapshot { storage, changes, tables: Mutex::default() }
    }
}

impl Snapshot for NativeSnapshot {
    fn catalog(&self) -> &Arc<CatalogSnapshot> {
        &self.changes.catalog
    }

    fn table(&self, table: TableId) -> Result<Arc<dyn Table>> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = tables.get(&table) {
            return Ok(Arc::clone(found) as _);
        }
        let opened = Arc::new(NativeTable::new(&self.changes, table)?);
        tables.insert(table, Arc::clone(&opened));
        Ok(opened)
    }

    fn take_numbers(&self, sequence: SequenceId, numbers: &mut [i64]) -> Result<usize> {
        let found = self.changes.numbers(sequence);
        let missing = || Error::invalid_query("the sequence does not exist any more");
        self.storage.take_numbers(sequence, found.ok_or_else(missing)?, numbers)
    }

    fn next_number(&self, sequence: SequenceId) -> Result<Option<i64>> {
        let found = self.changes.numbers(sequence);
        let missing = || Error::invalid_query("the sequence does not exist any more");
        Ok(found.ok_or_else(missing)?.next())
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.storage)
    }
}
