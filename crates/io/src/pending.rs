//! Results that arrive later.
//!
//! A [`Pending`] is a standard future: it names no asynchronous runtime, and completion is told by
//! a waker. What it stands for runs whether or not it is polled. Dropping it cancels the work soon.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Condvar, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;

/// A result that arrives later.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// How often a waiting thread checks whether its statement was cancelled.
const CANCEL_CHECK: Duration = Duration::from_millis(10);

/// A result that is known already.
pub fn ready<T: Send + 'static>(result: Result<T>) -> Pending<T> {
    Box::pin(std::future::ready(result))
}

/// Blocks the calling thread until the result has arrived.
///
/// # Errors
///
/// That of the result; cancelled, when the statement that the thread works for was cancelled.
pub fn wait<T>(mut pending: Pending<T>) -> Result<T> {
    wait_polling(|cx| pending.as_mut().poll(cx))
}

/// As [`wait`], of anything that can be polled.
///
/// # Errors
///
/// As [`wait`].
pub fn wait_polling<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<Result<T>>) -> Result<T> {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = poll(&mut cx) {
            return result;
        }
        while !signal.wait() {
            check_cancelled()?;
        }
    }
}

/// Wakes a thread.
#[derive(Default)]
struct Signal {
    is_raised: Mutex<bool>,
    raised: Condvar,
}

impl Signal {
    /// Waits a moment; whether the signal was raised since the last call that said so.
    fn wait(&self) -> bool {
        let is_raised = self.is_raised.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.raised.wait_timeout_while(is_raised, CANCEL_CHECK, |it| !*it);
        let (mut is_raised, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *is_raised)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.raised.notify_one();
    }
}

/// The error of a result that was taken already.
pub(crate) fn polled_after_end() -> Error {
    Error::internal("result polled after its end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::atomic::AtomicBool, sync::atomic::Ordering, thread};

    #[test]
    fn a_thread_waits_until_it_is_woken() {
        let is_done = Arc::new(AtomicBool::new(false));
        let mut started = false;
        let result = wait_polling(|cx| {
            if !started {
                started = true;
                let (is_done, waker) = (Arc::clone(&is_done), cx.waker().clone());
                thread::spawn(move || {
                    is_done.store(true, Ordering::Release);
                    waker.wake();
                });
            }
            if is_done.load(Ordering::Acquire) { Poll::Ready(Ok(7)) } else { Poll::Pending }
        });
        assert_eq!(result.unwrap(), 7);
        assert_eq!(wait(ready(Ok(8))).unwrap(), 8);
    }
}
