//! The right to change a table.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};
use volley_error::Result;
use volley_memory::check_cancelled;

/// Time between two checks of a waiting thread whether its statement is cancelled.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Lets one statement at a time change a table. All versions of a table share one.
#[derive(Debug, Default)]
pub struct WriteLock {
    is_held: Mutex<bool>,
    released: Condvar,
}

/// The right to change a table, until dropped.
#[derive(Debug)]
pub struct WriteGuard(Arc<WriteLock>);

impl WriteLock {
    /// Waits for the right to change the table.
    ///
    /// # Errors
    ///
    /// The statement of this thread was cancelled.
    pub fn acquire(self: &Arc<Self>) -> Result<WriteGuard> {
        let mut is_held = self.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_held {
            check_cancelled()?;
            let waited = self.released.wait_timeout(is_held, LOOK_AGAIN);
            is_held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_held = true;
        drop(is_held);
        Ok(WriteGuard(Arc::clone(self)))
    }
}

impl WriteGuard {
    /// Whether this is the right to change a table with this lock.
    pub fn is_of(&self, lock: &Arc<WriteLock>) -> bool {
        Arc::ptr_eq(&self.0, lock)
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        *self.0.is_held.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.released.notify_one();
    }
}
