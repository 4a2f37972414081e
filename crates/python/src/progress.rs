//! Progress of the query that a call waits for, shown by a function of Python.

use pyo3::prelude::*;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use volley::Session;

/// How long a call waits before its progress is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// How often it is shown anew.
const INTERVAL: Duration = Duration::from_millis(100);

/// What shows progress: called with the share that is done, the seconds that are left (or `None`),
/// the rows read, and the seconds since the start; with `None` in place of the share at the end.
static DISPLAY: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Sets the function that shows the progress of long calls; `None`: no progress is shown.
#[pyfunction]
#[pyo3(signature = (display = None))]
pub(crate) fn set_progress_display(display: Option<Py<PyAny>>) {
    let before = {
        let mut current = DISPLAY.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, display)
    };
    // Dropping it may run code of Python, which must not find the lock taken.
    drop(before);
}

/// Shows the progress of one call.
pub(crate) struct Shown<'a> {
    session: Option<&'a Arc<Session>>,
    start: Instant,
    last: Option<Instant>,
}

impl<'a> Shown<'a> {
    /// A call that waits for a query of the session; without one nothing is shown.
    pub(crate) fn new(session: Option<&'a Arc<Session>>) -> Shown<'a> {
        Shown { session, start: Instant::now(), last: None }
    }

    /// Called again and again while the call waits.
    ///
    /// # Errors
    ///
    /// What the display raises.
    pub(crate) fn update(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(session) = self.session else { return Ok(()) };
        let now = Instant::now();
        let is_early = now - self.start < SHOWN_AFTER;
        if is_early || self.last.is_some_and(|it| now - it < INTERVAL) {
            return Ok(());
        }
        let Some(display) = display(py) else { return Ok(()) };
        let Some(progress) = session.progress() else { return Ok(()) };
        self.last = Some(now);
        let remaining = progress.remaining.map(|it| it.as_secs_f64());
        let elapsed = (now - self.start).as_secs_f64();
        display.call1(py, (progress.done, remaining, progress.rows, elapsed)).map(drop)
    }

    /// Called when the call ends.
    pub(crate) fn finish(&self, py: Python<'_>) {
        if self.last.is_none() {
            return;
        }
        let elapsed = self.start.elapsed().as_secs_f64();
        if let Some(display) = display(py) {
            // The result of the query counts, not what showing its end raises.
            let _ = display.call1(py, (None::<f64>, None::<f64>, 0_u64, elapsed));
        }
    }
}

fn display(py: Python<'_>) -> Option<Py<PyAny>> {
    DISPLAY.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|it| it.clone_ref(py))
}
