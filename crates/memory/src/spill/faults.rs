//! Injected disk failures, for tests.

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// How an operation on a spill file goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, such as with [`io::ErrorKind::StorageFull`].
    Error(io::ErrorKind),
    /// A write ends after half of its bytes; a read finds the file to end there.
    Short,
    /// One bit of what is written or read is another one.
    FlippedBit,
}

/// Which operation goes wrong. Without tests, one addition and one look per operation.
#[derive(Debug, Default)]
pub(super) struct Faults {
    operations: AtomicU64,
    is_armed: AtomicBool,
    armed: Mutex<Option<(u64, Fault)>>,
}

impl Faults {
    /// Makes the operation number `operation` go wrong, counted from the first of the space, 0.
    pub(super) fn arm(&self, operation: u64, fault: Fault) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((operation, fault));
        self.is_armed.store(true, Ordering::Release);
    }

    /// Operations so far.
    pub(super) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Counts an operation; how it is to go wrong.
    pub(super) fn next(&self) -> Option<Fault> {
        let operation = self.operations.fetch_add(1, Ordering::Relaxed);
        if !self.is_armed.load(Ordering::Acquire) {
            return None;
        }
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.take_if(|it| it.0 == operation).map(|it| it.1)
    }
}
