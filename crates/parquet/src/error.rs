//! Errors of damaged files.

use parquet::errors::ParquetError;
use volley_error::Error;

/// A corruption error.
#[cold]
pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::corruption(message)
}

/// What the `parquet` crate found wrong.
#[cold]
pub(crate) fn from_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(message) => Error::unsupported(format!("parquet feature: {message}")),
        ParquetError::General(message) | ParquetError::EOF(message) => {
            Error::corruption(format!("invalid parquet data: {message}"))
        }
        other => Error::corruption("invalid parquet data").caused_by(other),
    }
}
