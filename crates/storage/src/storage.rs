//! An open database.
//!
//! ```text
//! readers       snapshot() ──> Version
//! transactions  begin() ──> OpenTransaction: a Version ── Changes ── commit()
//! commit        queue ── one of the waiting threads leads: validates each, appends one group,
//!               syncs, publishes the next version
//! jobs          checkpoint(), propagate(): one at a time, while commits go on
//! ```
//!
//! Locks are taken in this order: jobs, core, shared. There are no threads, clocks or random
//! numbers here.

#[cfg(test)]
mod tests;

use crate::{
    Changes, ChunkFiles, Ids, Store, Version,
    commit::{Core, Queue},
    follower::Follower,
    locks::{Mutex, MutexGuard},
    recovery,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, atomic::AtomicBool},
};
use volley_connector::SequenceId;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Pool;
use volley_pdt::{Budget, Stamp};
use volley_types::TypeRegistry;

/// Inserts of this many rows are worth segments of their own.
pub const BULK_ROWS: usize = 64 << 10;

/// What an open database needs.
pub struct StorageOptions {
    /// Where changes in memory are charged.
    pub pool: Pool,
    /// The most bytes of changes in memory.
    pub delta_bytes: usize,
    /// The custom types that tables may have.
    pub types: Arc<TypeRegistry>,
    /// Inserts of at least this many rows become segments at once; smaller ones are changes of
    /// segments. [`BULK_ROWS`] suits most.
    pub bulk_rows: usize,
    /// For a new database: a number that no other database has.
    pub salt: u64,
}

/// An open database. Any number of threads may use it.
pub struct Storage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) files: Arc<ChunkFiles>,
    pub(crate) ids: Arc<Ids>,
    /// Of changes in memory.
    pub(crate) budget: Arc<Budget>,
    /// Of frozen changes.
    pub(crate) cache: Arc<Budget>,
    pub(crate) pool: Pool,
    pub(crate) salt: u64,
    pub(crate) bulk_rows: usize,
    /// Of a database that another process may write.
    pub(crate) follower: Option<Follower>,
    pub(crate) jobs: Mutex<()>,
    pub(crate) core: Mutex<Core>,
    pub(crate) shared: Mutex<Shared>,
    pub(crate) queue: Queue,
    /// Whether jobs that are due are to be looked for.
    pub(crate) is_to_look: AtomicBool,
}

/// What readers and transactions begin with.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) published: Arc<Version>,
    /// How many transactions are open that began with a commit.
    pub(crate) open: BTreeMap<Stamp, usize>,
}

/// A transaction from its beginning to its end.
#[derive(Debug)]
pub struct OpenTransaction {
    storage: Arc<Storage>,
    version: Arc<Version>,
}

impl Storage {
    /// Opens the database in `store`; makes one if there is none. Commits that the last process
    /// made durable are recovered.
    ///
    /// # Errors
    ///
    /// I/O; corruption: a file was damaged; unsupported: a database of a newer version; out of
    /// memory.
    pub fn open(store: Arc<dyn Store>, options: StorageOptions) -> Result<Arc<Storage>> {
        recovery::open(store, options).map(Arc::new)
    }

    /// Opens the database in `store` to read it, while another process may write it. Nothing is
    /// written. [`Storage::refresh`] looks for new commits.
    ///
    /// # Errors
    ///
    /// I/O: among others, there is no database. Corruption, unsupported, out of memory.
    pub fn open_read_only(store: Arc<dyn Store>, options: StorageOptions) -> Result<Arc<Storage>> {
        Follower::open(store, options).map(Arc::new)
    }

    /// If another process may write the database: makes its commits up to now visible.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory. The snapshot is then the one before.
    pub fn refresh(&self) -> Result<()> {
        self.follower.as_ref().map_or(Ok(()), |it| it.refresh(self))
    }

    /// Refuses to change a database that was opened to be read.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.follower.is_none() {
            return Ok(());
        }
        let error = Error::invalid_query("the database was opened read only");
        Err(error.hint("ATTACH it without READ_ONLY to change it"))
    }

    /// Inserts of at least this many rows become segments at once.
    pub fn bulk_rows(&self) -> usize {
        self.bulk_rows
    }

    /// What is committed now.
    pub fn snapshot(&self) -> Arc<Version> {
        Arc::clone(&self.shared().published)
    }

    /// Begins a transaction with what is committed now.
    pub fn begin(self: &Arc<Storage>) -> OpenTransaction {
        let mut shared = self.shared();
        let version = Arc::clone(&shared.published);
        *shared.open.entry(version.stamp).or_default() += 1;
        drop(shared);
        OpenTransaction { storage: Arc::clone(self), version }
    }

    /// Takes numbers of a sequence; how many there were.
    ///
    /// # Errors
    ///
    /// I/O: then no number was taken.
    pub fn take_numbers(
        &self,
        sequence: SequenceId,
        numbers: &crate::Numbers,
        taken: &mut [i64],
    ) -> Result<usize> {
        self.check_writable()?;
        numbers.take(taken, |resume| self.reserve_numbers(sequence, numbers, resume))
    }

    /// Numbers of objects, segments and files.
    pub fn ids(&self) -> &Arc<Ids> {
        &self.ids
    }

    /// The files of segments.
    pub fn files(&self) -> &Arc<ChunkFiles> {
        &self.files
    }

    /// What changes in memory are charged to.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What rows that are being written are charged to.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Makes the next recovery as short as possible, when no transaction is open.
    ///
    /// # Errors
    ///
    /// As [`Storage::checkpoint`].
    pub fn close(&self) -> Result<()> {
        if self.follower.is_some() {
            return Ok(());
        }
        let _job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.snapshot();
        let released = version.numbers.values().filter(|it| it.release_reserved()).count();
        let is_changed = released > 0 || self.core().log.bytes() > 0;
        if is_changed { self.checkpoint_now() } else { Ok(()) }
    }

    pub(crate) fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a version the one that readers and transactions begin with; the caller holds the core.
    pub(crate) fn publish(&self, version: Version) {
        self.shared().published = Arc::new(version);
    }

    /// What keys that transactions write are charged to.
    pub fn key_budget(&self) -> &Arc<Budget> {
        &self.cache
    }

    /// The commit that the oldest open transaction began with which does not commit in `group`.
    pub(crate) fn oldest_besides(&self, group: &[Changes]) -> Option<Stamp> {
        let shared = self.shared();
        let of_group = |stamp: &Stamp| group.iter().filter(|it| it.base.stamp == *stamp).count();
        shared.open.iter().find(|(stamp, count)| **count > of_group(stamp)).map(|it| *it.0)
    }

    /// The commit that the oldest open transaction began with.
    pub(crate) fn oldest_open(&self) -> Option<Stamp> {
        self.shared().open.first_key_value().map(|it| *it.0)
    }
}

impl OpenTransaction {
    /// What it began with.
    pub fn version(&self) -> &Arc<Version> {
        &self.version
    }

    /// The database.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Makes the changes durable and visible, or none of them.
    ///
    /// # Errors
    ///
    /// Invalid query: others changed the same. I/O: of a sync that failed, the outcome is open
    /// until the database is opened again. Out of memory.
    pub fn commit(self, changes: Changes) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.storage.check_writable()?;
        self.storage.queue.commit(&self.storage, changes)
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        let mut shared = self.storage.shared();
        if let Some(count) = shared.open.get_mut(&self.version.stamp) {
            *count -= 1;
            if *count == 0 {
                shared.open.remove(&self.version.stamp);
            }
        }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({:?})", self.store)
    }
}

/// The error of a database after an operation that may or may not have happened.
#[cold]
pub(crate) fn must_recover(why: &str) -> Error {
    let message = format!("the database cannot be changed any more: {why}");
    let error = Error::new(ErrorKind::Io, message);
    error.hint("open it again: it goes on with the last commit that is durable")
}
