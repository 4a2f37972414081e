//! Cancelling one statement from another thread.

use pyo3::prelude::*;
use volley::CancellationToken;

/// Stops the statements that run with it.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Token(pub(crate) CancellationToken);

#[pymethods]
impl Token {
    /// Stops them now, and those that begin later.
    fn cancel(&self, py: Python<'_>) {
        // Hooks may wait for threads that want the GIL.
        py.detach(|| self.0.cancel());
    }
}
