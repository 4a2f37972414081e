//! The interface of page formats: batches in transit as bytes.
//!
//! ```text
//! PageFormat ── writer(types) ──> PageWriter ── write(batch, out) ──> bytes of a page
//!            ── decode(bytes, types) ──────────────────────────────> batch
//! ```
//!
//! A page is whole: it is decoded without other pages. Its bytes do not say the engine's types;
//! both ends of an edge know them from the plan.

use std::fmt;
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Batch, Buffer};

/// A way to write batches as bytes, and to read them.
///
/// Implementations trust no byte that they read: any bytes give a valid batch or an error of kind
/// corruption or unsupported, and take memory in proportion to the bytes. One of them is
/// [`crate::NativeFormat`].
pub trait PageFormat: fmt::Debug + Send + Sync {
    /// The name, such as in EXPLAIN.
    fn name(&self) -> &'static str;

    /// A writer of pages with columns of `types`. One writer is used by one thread; it keeps its
    /// scratch memory from page to page.
    ///
    /// # Errors
    ///
    /// Unsupported: types that the format does not have.
    fn writer(&self, types: &[Type]) -> Result<Box<dyn PageWriter>>;

    /// The batch of a page: all of `page`, with columns of `types`. The batch may share the memory
    /// of `page`.
    ///
    /// # Errors
    ///
    /// Corruption: bytes that no writer of these types wrote. Unsupported: a newer version of the
    /// format.
    fn decode(&self, page: &Buffer, types: &[Type]) -> Result<Batch>;
}

/// Writes pages of one format and one list of types.
pub trait PageWriter: Send {
    /// Appends the page of `batch` to `out`. Loads lazy columns. After an error `out` has the bytes
    /// that it had before.
    ///
    /// # Errors
    ///
    /// What a loader reports; a page that is too large for the format; internal: columns of other
    /// types.
    fn write(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()>;
}
