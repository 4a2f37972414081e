//! Synchronization of drivers without blocking a thread.
//!
//! All types follow one protocol: check, store the waker, check again. A change of the state wakes
//! all stored wakers. Both happen under one lock, so that no wake is lost.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::Waker,
};

/// Wakers of drivers that wait for the same event.
#[derive(Debug, Default)]
pub struct Waiters(Vec<Waker>);

/// A value that is set once and waited for, such as the finished hash table of a join.
#[derive(Debug)]
pub struct OnceValue<T> {
    value: OnceLock<T>,
    waiters: Mutex<Waiters>,
}

/// A point that a fixed number of parties reach, each once; all can wait for the last.
///
/// A driver may end before it reaches the point (LIMIT further down is satisfied, the query was
/// cancelled). Then its [`Ticket`] is dropped, which counts as arriving.
#[derive(Debug)]
pub struct Barrier {
    state: Mutex<BarrierState>,
}

#[derive(Debug)]
struct BarrierState {
    missing: usize,
    waiters: Waiters,
}

/// One party's right to arrive at a barrier.
#[derive(Debug)]
pub struct Ticket {
    barrier: Option<Arc<Barrier>>,
}

impl Waiters {
    /// Adds a waker, unless an equal one is there.
    pub fn add(&mut self, waker: &Waker) {
        if !self.0.iter().any(|it| it.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    /// Whether no waker is stored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds all wakers of `other`.
    pub fn append(&mut self, other: Waiters) {
        match self.is_empty() {
            true => *self = other,
            false => self.0.extend(other.0),
        }
    }

    /// Takes all wakers; wake them after the lock is released.
    #[must_use]
    pub fn take(&mut self) -> Waiters {
        Waiters(std::mem::take(&mut self.0))
    }

    /// Wakes all.
    pub fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

impl From<Vec<Waker>> for Waiters {
    fn from(wakers: Vec<Waker>) -> Waiters {
        Waiters(wakers)
    }
}

impl<T> OnceValue<T> {
    /// A value that is not there yet.
    pub fn new() -> OnceValue<T> {
        OnceValue { value: OnceLock::new(), waiters: Mutex::default() }
    }

    /// The value, if it is there.
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value; when it is not there, `waker` is woken once it is.
    pub fn wait(&self, waker: &Waker) -> Option<&T> {
        if let Some(value) = self.value.get() {
            return Some(value);
        }
        let mut waiters = lock(&self.waiters);
        // Looked at again under the lock that `set` takes after storing the value.
        if self.value.get().is_none() {
            waiters.add(waker);
        }
        self.value.get()
    }

    /// Sets the value and wakes all that wait; gives `value` back when it was set before.
    ///
    /// # Errors
    ///
    /// `value`, when there is one already.
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        let waiters = lock(&self.waiters).take();
        waiters.wake();
        Ok(())
    }
}

impl<T> Default for OnceValue<T> {
    fn default() -> OnceValue<T> {
        OnceValue::new()
    }
}

impl Barrier {
    /// A barrier for `parties`, and one ticket for each.
    pub fn new(parties: usize) -> (Arc<Barrier>, Vec<Ticket>) {
        let state = BarrierState { missing: parties, waiters: Waiters::default() };
        let barrier = Arc::new(Barrier { state: Mutex::new(state) });
        let ticket = || Ticket { barrier: Some(Arc::clone(&barrier)) };
        let tickets = std::iter::repeat_with(ticket).take(parties).collect();
        (barrier, tickets)
    }

    /// Whether all have arrived; when not, `waker` is woken once they have.
    pub fn wait(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.state);
        if state.missing > 0 {
            state.waiters.add(waker);
        }
        state.missing == 0
    }

    fn arrive(&self) -> bool {
        let mut state = lock(&self.state);
        state.missing = state.missing.saturating_sub(1);
        let last = state.missing == 0;
        let waiters = if last { state.waiters.take() } else { Waiters::default() };
        drop(state);
        waiters.wake();
        last
    }
}

impl Ticket {
    /// Arrives; true for the last party. Later calls do nothing.
    pub fn arrive(&mut self) -> bool {
        self.barrier.take().is_some_and(|it| it.arrive())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.arrive();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
