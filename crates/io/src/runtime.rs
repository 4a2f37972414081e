//! Threads that wait for I/O.

use crate::pending::{Pending, polled_after_end, ready};
use std::{
    fmt,
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    process,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use volley_error::{Error, Result};
use volley_memory::{CancellationToken, with_cancellation};

/// Threads for blocking calls: this many local reads are in flight at most, the others queue.
pub(crate) const BLOCKING_THREADS: usize = 32;

/// The threads that wait for I/O of one engine. Cheap to clone; clones share the threads, which
/// start on first use and end after the last clone.
///
/// Threads do not survive `fork()`: in a child process, an `IoRuntime` of the parent answers with
/// an error.
#[derive(Clone)]
pub struct IoRuntime(Arc<Inner>);

struct Inner {
    /// The process that made it.
    process: u32,
    /// `None` inside: the system refused a thread.
    started: OnceLock<Option<Runtime>>,
}

impl Default for IoRuntime {
    fn default() -> IoRuntime {
        IoRuntime::new()
    }
}

impl IoRuntime {
    /// A runtime without threads so far.
    pub fn new() -> IoRuntime {
        IoRuntime(Arc::new(Inner { process: process::id(), started: OnceLock::new() }))
    }

    /// Runs a call that blocks on a thread of its own. The thread's current cancellation token
    /// ([`volley_memory::check_cancelled`]) is cancelled when the result is dropped.
    ///
    /// The result is an error if the system refuses a thread, in a forked child, and if `job`
    /// panics.
    pub fn run<T, F>(&self, job: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T> + Send + 'static,
    {
        let runtime = match self.started() {
            Ok(runtime) => runtime,
            Err(error) => return ready(Err(error)),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Waiting(None)),
            cancellation: CancellationToken::new(),
        });
        let result = Job(Arc::clone(&shared));
        runtime.spawn_blocking(move || {
            let run = || with_cancellation(&shared.cancellation, job);
            let result = catch_unwind(AssertUnwindSafe(run));
            shared.complete(result.unwrap_or_else(|_| Err(Error::internal("panic in an I/O job"))));
        });
        Box::pin(result)
    }

    /// Runs a future of a file system whose client is asynchronous; dropping the result aborts it.
    ///
    /// The result is an error if the system refuses a thread, in a forked child, and if the future
    /// panics.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Pending<T> {
        match self.started() {
            Ok(runtime) => Box::pin(Spawned(runtime.spawn(future))),
            Err(error) => ready(Err(error)),
        }
    }

    /// Runs a future that nothing waits for; it ends with the runtime.
    ///
    /// # Errors
    ///
    /// I/O: the system refuses a thread. Unsupported: this is a forked child.
    pub(crate) fn spawn_detached(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Result<()> {
        self.started()?.spawn(future);
        Ok(())
    }

    fn started(&self) -> Result<&Runtime> {
        check_process(self.0.process, "I/O threads")?;
        let start = || {
            Builder::new_multi_thread()
                .worker_threads(1)
                .max_blocking_threads(BLOCKING_THREADS)
                .thread_name("volley-io")
                .enable_all()
                .build()
                .ok()
        };
        let started = self.0.started.get_or_init(start).as_ref();
        started.ok_or_else(|| Error::io("threads for I/O", io::ErrorKind::WouldBlock.into()))
    }
}

/// Refuses to use what has threads of another process: `what` names it.
///
/// # Errors
///
/// Unsupported: this process is a fork of the one that made it.
pub fn check_process(made_by: u32, what: &str) -> Result<()> {
    let own = process::id();
    if made_by == own {
        return Ok(());
    }
    let message = format!("{what} of process {made_by} do not exist in its fork {own}");
    Err(Error::unsupported(message).hint("make a new session in the forked process"))
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(Some(runtime)) = self.started.take() else { return };
        if self.process == process::id() {
            // Reads under way are cancelled by the drop of their results; nothing waits for them.
            runtime.shutdown_background();
        } else {
            // A fork has no threads to wait for.
            std::mem::forget(runtime);
        }
    }
}

impl fmt::Debug for IoRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoRuntime(process {})", self.0.process)
    }
}

struct Shared<T> {
    state: Mutex<State<T>>,
    cancellation: CancellationToken,
}

enum State<T> {
    Waiting(Option<Waker>),
    Done(Result<T>),
    Taken,
}

impl<T> Shared<T> {
    fn complete(&self, result: Result<T>) {
        let before = std::mem::replace(&mut *self.lock(), State::Done(result));
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of a blocking call.
struct Job<T>(Arc<Shared<T>>);

impl<T> Future for Job<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(_) => {
                *state = State::Waiting(Some(cx.waker().clone()));
                Poll::Pending
            }
            State::Done(result) => Poll::Ready(result),
            State::Taken => Poll::Ready(Err(polled_after_end())),
        }
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.0.cancellation.cancel();
    }
}

/// The result of a future.
struct Spawned<T>(JoinHandle<Result<T>>);

impl<T> Future for Spawned<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.0).poll(cx).map(|joined| match joined {
            Ok(result) => result,
            Err(error) if error.is_cancelled() => Err(Error::cancelled()),
            Err(_) => Err(Error::internal("panic in an I/O task")),
        })
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pending::wait;
    use std::{sync::mpsc, thread};
    use volley_error::ErrorKind;
    use volley_memory::check_cancelled;

    #[test]
    fn jobs_and_futures_run_and_their_panics_are_errors() {
        let runtime = IoRuntime::new();
        assert_eq!(wait(runtime.run(|| Ok(1))).unwrap(), 1);
        assert_eq!(wait(runtime.spawn(async { Ok(2) })).unwrap(), 2);
        let panicking = || -> Result<()> { panic!("expected in this test") };
        let job = wait(runtime.run(panicking)).unwrap_err();
        let future = wait(runtime.spawn(async move { panicking() })).unwrap_err();
        assert_eq!([job.kind(), future.kind()], [ErrorKind::Internal; 2]);
    }

    #[test]
    fn a_dropped_result_cancels_its_job() {
        let runtime = IoRuntime::new();
        let (begin, begun) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let pending = runtime.run(move || {
            tell.send(check_cancelled().is_ok()).unwrap();
            begun.recv().unwrap();
            tell.send(check_cancelled().is_ok()).unwrap();
            Ok(())
        });
        assert!(told.recv().unwrap());
        drop(pending);
        begin.send(()).unwrap();
        assert!(!told.recv().unwrap());
    }

    #[test]
    fn each_runtime_has_threads_of_its_own() {
        let (one, other) = (IoRuntime::new(), IoRuntime::new());
        let id = |it: &IoRuntime| wait(it.spawn(async { Ok(thread::current().id()) })).unwrap();
        assert_eq!(id(&one), id(&one.clone()));
        assert_ne!(id(&one), id(&other));
    }
}
