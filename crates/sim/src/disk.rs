//! A simulated disk.
//!
//! ```text
//! inode   cache   what reads show
//!         disk    what a crash leaves
//!         dirty   ranges of the cache that no sync has written yet
//! names   current, and durable
//! ```
//!
//! A sync writes dirty ranges to the disk. A failed sync writes some of their sectors and forgets
//! the others: they are not dirty any more, and reads still show them. A crash writes any subset of
//! the dirty sectors, some of them torn, and takes for each name the current or the durable file.
//!
//! The operating system's order of writes does not matter here: any subset of sectors is what any
//! order leaves.

mod fault;
mod handle;
mod inode;
mod state;
#[cfg(test)]
mod tests;

pub use fault::{Chance, FAULT_KINDS, Fault, Faults, Fired};

use handle::{SimAppend, SimRead};
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::Result;
use volley_io::RandomAccessFile;
use volley_storage::{Abilities, AppendFile, Expected, Listed, Name, Put, Store, WriteKind};

/// Bytes that are written as one, unless they are torn.
pub(crate) const SECTOR_BYTES: usize = 512;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl SimDisk {
    /// An empty disk without faults.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(State::new(seed))) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, faults happen with these chances.
    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Bytes that all files may have together.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = bytes;
    }

    /// Crashes during operation number `operation`, counted from the first one of the disk.
    pub fn crash_at(&self, operation: u64) {
        self.state().crash_at = operation;
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Whether the disk crashed: every operation fails until [`SimDisk::restart`].
    pub fn has_crashed(&self) -> bool {
        self.state().has_crashed
    }

    /// Crashes now, unless it has crashed already, and starts again: what was not synced may be
    /// gone. Files that are open stay unusable.
    pub fn restart(&self) {
        self.state().restart();
    }

    /// How often each kind of fault happened.
    pub fn fired(&self) -> Fired {
        self.state().fired
    }

    /// One line per operation, with its faults, to print for a seed that failed.
    pub fn trace(&self) -> String {
        self.state().trace.clone()
    }

    /// The bytes of a file as a crash without any luck leaves them; `None` if its name is not
    /// durable. For tests of programs that should have synced.
    pub fn durable_bytes(&self, name: &Name) -> Option<Vec<u8>> {
        self.state().durable_bytes(name)
    }
}

impl Store for SimDisk {
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>> {
        let mut state = self.state();
        let file = state.create(name)?;
        Ok(Box::new(SimAppend::new(self.clone(), name.clone(), file, state.generation)))
    }

    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
        let mut state = self.state();
        let (file, bytes) = state.open(name)?;
        Ok(Arc::new(SimRead::new(self.clone(), name, file, bytes, state.generation)))
    }

    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        self.state().put(name, bytes, expected)
    }

    fn list(&self, folder: &Name) -> Result<Vec<Listed>> {
        self.state().list(folder)
    }

    fn remove(&self, name: &Name) -> Result<()> {
        self.state().remove(name)
    }

    fn sync_names(&self, folder: &Name) -> Result<()> {
        self.state().sync_names(folder)
    }

    fn abilities(&self) -> Abilities {
        Abilities { writes: WriteKind::AppendOnce, sector_bytes: SECTOR_BYTES as u32 }
    }
}
