//! The right to change a table.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use volley_error::Result;
use volley_memory::check_cancelled;

/// Time between two checks of a waiting thread whether its statement is cancelled.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Lets one statement at a time change a table, or any number that change few rows each. All
/// versions of a table share one.
#[derive(Debug, Default)]
pub struct WriteLock {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_held_alone: bool,
    /// How many hold it together.
    shares: usize,
    /// How many wait to hold it alone: no more shares meanwhile.
    waiting_alone: usize,
}

/// The right to change a table, until dropped.
#[derive(Debug)]
pub struct WriteGuard {
    lock: Arc<WriteLock>,
    hold: Hold,
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Alone,
    Together,
}

impl WriteLock {
    /// Waits for the right to change the table alone.
    ///
    /// # Errors
    ///
    /// The statement of this thread was cancelled.
    pub fn acquire(self: &Arc<Self>) -> Result<WriteGuard> {
        let mut state = self.state();
        state.waiting_alone += 1;
        while state.is_held_alone || state.shares > 0 {
            if let Err(cancelled) = check_cancelled() {
                state.waiting_alone -= 1;
                drop(state);
                self.released.notify_all();
                return Err(cancelled);
            }
            state = self.wait(state);
        }
        state.waiting_alone -= 1;
        state.is_held_alone = true;
        Ok(WriteGuard { lock: Arc::clone(self), hold: Hold::Alone })
    }

    /// Waits for the right to change rows of the table together with others that do, too.
    ///
    /// # Errors
    ///
    /// The statement of this thread was cancelled.
    pub fn acquire_together(self: &Arc<Self>) -> Result<WriteGuard> {
        let mut state = self.state();
        while state.is_held_alone || state.waiting_alone > 0 {
            check_cancelled()?;
            state = self.wait(state);
        }
        state.shares += 1;
        Ok(WriteGuard { lock: Arc::clone(self), hold: Hold::Together })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let waited = self.released.wait_timeout(state, LOOK_AGAIN);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl WriteGuard {
    /// Whether this is the right to change a table with this lock.
    pub fn is_of(&self, lock: &Arc<WriteLock>) -> bool {
        Arc::ptr_eq(&self.lock, lock)
    }
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        let mut state = self.lock.state();
        match self.hold {
            Hold::Alone => state.is_held_alone = false,
            Hold::Together => state.shares -= 1,
        }
        let is_free = state.shares == 0;
        drop(state);
        if is_free {
            self.lock.released.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::atomic::{AtomicBool, AtomicUsize, Ordering},
        thread,
    };
    use volley_memory::{CancellationToken, with_cancellation};

    #[test]
    fn rows_are_changed_together_and_tables_alone() {
        let lock = Arc::new(WriteLock::default());
        let (alone, together) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..4 {
                let (lock, alone, together) = (&lock, &alone, &together);
                scope.spawn(move || {
                    for _ in 0..500 {
                        if thread == 0 {
                            let guard = lock.acquire().unwrap();
                            assert!(guard.is_of(lock));
                            assert!(!alone.swap(true, Ordering::SeqCst));
                            assert_eq!(together.load(Ordering::SeqCst), 0);
                            alone.store(false, Ordering::SeqCst);
                        } else {
                            let _guard = lock.acquire_together().unwrap();
                            together.fetch_add(1, Ordering::SeqCst);
                            assert!(!alone.load(Ordering::SeqCst));
                            together.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn two_hold_it_together_and_a_cancelled_waiter_leaves_nothing() {
        let lock = Arc::new(WriteLock::default());
        let first = lock.acquire_together().unwrap();
        let second = lock.acquire_together().unwrap();
        let token = CancellationToken::default();
        token.cancel();
        assert!(with_cancellation(&token, || lock.acquire()).is_err());
        let third = lock.acquire_together().unwrap();
        drop((first, second, third));
        let alone = lock.acquire().unwrap();
        assert!(with_cancellation(&token, || lock.acquire_together()).is_err());
        drop(alone);
        lock.acquire().map(drop).unwrap();
    }
}
