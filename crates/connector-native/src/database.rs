//! A database in a folder.

use crate::{table::NativeTable, transaction::NativeTransaction};
use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use volley_connector::{
    Access, CatalogSnapshot, Database, SequenceId, Snapshot, Table, TableId, Transaction, WriteLock,
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Pool;
use volley_storage::{BlockInfo, Changes, CheckReport, LocalStore, Storage, StorageOptions, Store};
use volley_types::TypeRegistry;

/// Changes in memory take at most one of this many bytes of the memory limit.
const DELTA_PART: usize = 16;

/// Changes in memory of a database without a memory limit, in bytes.
const DELTA_BYTES: usize = 1 << 30;

/// A database on disk. Cheap to clone; clones are the same database.
///
/// What a commit that returned has changed is durable. [`NativeDatabase::close`] makes the next
/// opening fast; without it, the log is replayed.
#[derive(Clone, Debug)]
pub struct NativeDatabase(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) storage: Arc<Storage>,
    /// Of transactions that change one table each.
    turns: Mutex<BTreeMap<TableId, Weak<WriteLock>>>,
}

impl NativeDatabase {
    /// Opens the database in a folder of the local file system; makes one if there is none. Memory
    /// is charged to `pool`.
    ///
    /// # Errors
    ///
    /// I/O: among others, another process has it open. Corruption: a file was damaged.
    /// Unsupported: a database of a newer version.
    pub fn open(
        folder: impl AsRef<Path>,
        pool: &Pool,
        types: Arc<TypeRegistry>,
    ) -> Result<NativeDatabase> {
        let store = LocalStore::open(folder.as_ref())?;
        NativeDatabase::open_store(Arc::new(store), pool, types)
    }

    /// As [`NativeDatabase::open`], in any store.
    ///
    /// # Errors
    ///
    /// As [`NativeDatabase::open`].
    pub fn open_store(
        store: Arc<dyn Store>,
        pool: &Pool,
        types: Arc<TypeRegistry>,
    ) -> Result<NativeDatabase> {
        let mut salt = [0; 8];
        getrandom::fill(&mut salt).map_err(|it| {
            Error::new(ErrorKind::Io, format!("the system has no random numbers: {it}"))
        })?;
        let pool = pool.child("database on disk");
        let limit = pool.limit_bytes();
        let delta_bytes = if limit == usize::MAX { DELTA_BYTES } else { limit / DELTA_PART };
        let salt = u64::from_le_bytes(salt);
        let storage = Storage::open(store, StorageOptions { pool, delta_bytes, types, salt })?;
        Ok(NativeDatabase(Arc::new(Shared { storage, turns: Mutex::default() })))
    }

    /// Writes a manifest of what is committed, so that the log before is not needed any more.
    ///
    /// # Errors
    ///
    /// I/O, out of memory.
    pub fn checkpoint(&self) -> Result<()> {
        self.0.storage.checkpoint()
    }

    /// Writes all segments of a table with changes again, and then a checkpoint.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory; invalid query: no such table.
    pub fn vacuum(&self, table: TableId) -> Result<()> {
        let version = self.0.storage.snapshot();
        for segment in &version.table(table)?.segments {
            self.0.storage.propagate(table, segment.segment.id())?;
        }
        self.checkpoint()
    }

    /// Reads all blocks, to find damage.
    ///
    /// # Errors
    ///
    /// Cancelled; what is wrong is in the report.
    pub fn check(&self) -> Result<CheckReport> {
        self.0.storage.check()
    }

    /// The blocks of a table's segments, for `storage_info`.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O, corruption.
    pub fn blocks(&self, table: TableId) -> Result<Vec<BlockInfo>> {
        self.0.storage.blocks(table)
    }

    /// Makes the next opening as fast as possible. The database can be used afterwards.
    ///
    /// # Errors
    ///
    /// As [`NativeDatabase::checkpoint`].
    pub fn close(&self) -> Result<()> {
        self.0.storage.close()
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
        let changes = Arc::new(Changes::new(self.0.storage.snapshot()));
        Ok(Arc::new(NativeSnapshot::new(Arc::clone(&self.0.storage), changes)))
    }

    fn begin(&self, access: Access) -> Result<Box<dyn Transaction>> {
        let turn = match access {
            Access::Any => None,
            Access::OneTable(table) => Some((table, self.0.lock(table).acquire()?)),
        };
        let open = self.0.storage.begin();
        if let Some((table, _)) = &turn {
            open.version().table(*table)?;
        }
        Ok(Box::new(NativeTransaction::new(open, turn)))
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
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.storage)
    }
}
