//! Waiting for the engine without the GIL, so that other threads and signals are served.
//!
//! The work of a call runs on a helper thread. The calling thread waits for it, detached from the
//! interpreter, and attaches every 50 ms to let Python handle signals and show progress. If a
//! handler raises, as that of Ctrl-C does, the call cancels the work through its token, waits until
//! the work has stopped, and raises what the handler raised.
//!
//! Helper threads are kept for later calls. A fork leaves them behind: the child starts its own.

use crate::{error::exception, progress::Shown};
use pyo3::prelude::*;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};
use volley::{CancellationToken, Error, Result, Session};

/// How often a waiting call looks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Most helper threads that wait for work.
const IDLE_MAX: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// Idle helper threads of one process.
struct Helpers {
    process: u32,
    idle: Vec<Sender<Job>>,
}

/// Locked only by threads that are attached to the interpreter, so that a fork, which needs the
/// GIL, never leaves it locked.
static HELPERS: Mutex<Helpers> = Mutex::new(Helpers { process: 0, idle: Vec::new() });

/// A call that waits for the engine.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// What stops it.
    pub(crate) token: &'a CancellationToken,
    /// The text that errors point into.
    pub(crate) sql: Option<&'a str>,
    /// The session whose progress is shown.
    pub(crate) session: Option<&'a Arc<Session>>,
}

/// Runs `work` without the GIL, and returns its result. A signal whose handler raises cancels the
/// token of the call; then what the handler raised is returned, once `work` has ended.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    call: Call<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let job: Job = Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        let result = result.unwrap_or_else(|panic| Err(panicked(&*panic)));
        // The caller waits for it.
        let _ = send.send(result);
    });
    let helper = start(job).map_err(|it| exception(py, &it, None))?;
    let mut shown = Shown::new(call.session);
    let result = receive_attached(py, call.token, &receive, &mut shown);
    keep(helper);
    shown.finish(py);
    result?.map_err(|it| exception(py, &it, call.sql))
}

fn receive_attached<T: Send>(
    py: Python<'_>,
    token: &CancellationToken,
    receive: &Receiver<Result<T>>,
    shown: &mut Shown<'_>,
) -> PyResult<Result<T>> {
    // `Receiver` is not `Sync`, and is used by this thread alone.
    let receive = Detached(receive);
    loop {
        match py.detach(|| receive.timeout()) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(no_result())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(raised) = py.check_signals().and_then(|()| shown.update(py)) {
            token.cancel();
            // What the engine answers to its cancellation does not matter.
            py.detach(|| drop(receive.end()));
            return Err(raised);
        }
    }
}

/// A receiver for use without the GIL.
struct Detached<'a, T>(&'a Receiver<T>);

// SAFETY: the thread that waits is the only one that uses the receiver: `detach` runs its closure
// on the calling thread.
unsafe impl<T: Send> Sync for Detached<'_, T> {}

impl<T> Detached<'_, T> {
    fn timeout(&self) -> std::result::Result<T, RecvTimeoutError> {
        self.0.recv_timeout(SIGNAL_INTERVAL)
    }

    fn end(&self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// Gives a job to an idle helper, or to a new one.
fn start(mut job: Job) -> Result<Sender<Job>> {
    loop {
        let Some(helper) = take_idle() else { break };
        match helper.send(job) {
            Ok(()) => return Ok(helper),
            Err(unsent) => job = unsent.0,
        }
    }
    let (send, receive) = channel::<Job>();
    let run = move || receive.into_iter().for_each(|job| job());
    let started = std::thread::Builder::new().name("volley-call".to_owned()).spawn(run);
    started.map_err(|it| Error::io("thread of a call", it))?;
    send.send(job).map_err(|_| no_result())?;
    Ok(send)
}

fn take_idle() -> Option<Sender<Job>> {
    let mut helpers = HELPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if helpers.process != process {
        // The threads of the parent do not exist here; their channels are left as they are.
        std::mem::forget(std::mem::take(&mut helpers.idle));
        helpers.process = process;
    }
    helpers.idle.pop()
}

fn keep(helper: Sender<Job>) {
    let mut helpers = HELPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if helpers.process == std::process::id() && helpers.idle.len() < IDLE_MAX {
        helpers.idle.push(helper);
    }
}

fn no_result() -> Error {
    Error::internal("a call to the engine ended without a result")
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::internal(format!("panic in the engine: {}", text.unwrap_or("of unknown cause")))
}

/// Raises `Cancelled` if the query that calls Python from this thread was cancelled.
#[pyfunction]
pub(crate) fn check_cancelled(py: Python<'_>) -> PyResult<()> {
    volley_memory::check_cancelled().map_err(|it| exception(py, &it, None))
}
