//! Alarms: a thread that sleeps until the next one.
//!
//! The thread is started with the first alarm, and there is no other, however many alarms are set.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};
use volley_error::{Error, ErrorKind, Result};

/// What an alarm does; quick, as others wait for their moments.
type Action = Box<dyn FnOnce() + Send>;

/// Alarms and the thread that waits for them.
#[derive(Default)]
pub(crate) struct Timer {
    state: Mutex<State>,
    /// Signalled when the thread has to look again.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By moment, and then in the order in which they were set.
    alarms: BTreeMap<(Instant, u64), Action>,
    next: u64,
    thread: Option<JoinHandle<()>>,
    shut_down: bool,
}

/// An alarm that was set. Dropping it takes it back.
pub(crate) struct Alarm {
    timer: Arc<Timer>,
    key: (Instant, u64),
}

impl Timer {
    /// Does `action` at the moment `at`, at once when that is over.
    ///
    /// # Errors
    ///
    /// I/O, when the system refuses the thread.
    pub(crate) fn set(
        self: &Arc<Self>,
        at: Instant,
        action: impl FnOnce() + Send + 'static,
    ) -> Result<Alarm> {
        let mut state = self.lock();
        if state.thread.is_none() {
            let timer = Arc::clone(self);
            let thread = thread::Builder::new().name("timer".to_owned()).spawn(move || timer.run());
            let refused = |it| Error::new(ErrorKind::Io, "no thread to be had").caused_by(it);
            state.thread = Some(thread.map_err(refused)?);
        }
        let key = (at, state.next);
        state.next += 1;
        state.alarms.insert(key, Box::new(action));
        let is_first = state.alarms.keys().next() == Some(&key);
        drop(state);
        if is_first {
            self.changed.notify_all();
        }
        Ok(Alarm { timer: Arc::clone(self), key })
    }

    /// Ends the thread and waits for it, unless the caller is the thread itself.
    pub(super) fn shut_down(&self) {
        let mut state = self.lock();
        state.shut_down = true;
        let thread = state.thread.take();
        drop(state);
        self.changed.notify_all();
        if let Some(thread) = thread.filter(|it| it.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.shut_down {
            let now = Instant::now();
            let Some(first) = state.alarms.first_entry() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            match first.key().0.checked_duration_since(now).filter(|it| !it.is_zero()) {
                Some(rest) => {
                    let waited = self.changed.wait_timeout(state, rest);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    let action = first.remove();
                    drop(state);
                    // It wakes waiters; their panics must not stop the alarms.
                    let _ = catch_unwind(AssertUnwindSafe(action));
                    state = self.lock();
                }
            }
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Timer")
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let action = self.timer.lock().alarms.remove(&self.key);
        // What it holds may set or drop alarms in turn.
        drop(action);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    #[test]
    fn alarms_go_off_in_their_order_and_not_when_taken_back() {
        let timer = Arc::new(Timer::default());
        let (sender, receiver) = mpsc::channel();
        let set = |name: &'static str, millis: u64| {
            let sender = sender.clone();
            let at = Instant::now() + Duration::from_millis(millis);
            timer.set(at, move || sender.send((name, Instant::now() >= at)).unwrap()).unwrap()
        };
        let _late = set("late", 40);
        let _early = set("early", 20);
        let _at_once = set("at once", 0);
        drop(set("taken back", 30));
        let never = set("never", 1_000_000);
        for name in ["at once", "early", "late"] {
            assert_eq!(receiver.recv().unwrap(), (name, true));
        }
        timer.shut_down();
        drop(never);
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn a_timer_without_alarms_has_no_thread() {
        let timer = Arc::new(Timer::default());
        assert!(timer.lock().thread.is_none());
        timer.shut_down();
    }
}
