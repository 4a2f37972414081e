//! Errors of damaged files.

use volley_error::Error;

/// A corruption error.
#[cold]
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::corruption(message)
}

/// A value that its type cannot hold.
#[cold]
pub(crate) fn out_of_range() -> Error {
    corrupt("value beyond the range of its type")
}
