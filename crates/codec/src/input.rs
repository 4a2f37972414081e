//! Reads bytes from front to back and trusts none of them.

use arrow_buffer::Buffer;
use volley_error::{Error, Result};
use volley_kernels::pack::Lane;

/// Bytes of which the first ones are read.
pub(crate) struct Input {
    bytes: Buffer,
}

impl Input {
    pub(crate) fn new(bytes: Buffer) -> Input {
        Input { bytes }
    }

    /// The next `len` bytes, shared.
    pub(crate) fn take(&mut self, len: usize) -> Result<Buffer> {
        if len > self.bytes.len() {
            return Err(corruption("bytes end early"));
        }
        let taken = self.bytes.slice_with_length(0, len);
        self.bytes = self.bytes.slice(len);
        Ok(taken)
    }

    /// The next `len` elements of `element_bytes` each.
    pub(crate) fn elements(&mut self, len: usize, element_bytes: usize) -> Result<Buffer> {
        let bytes = len.checked_mul(element_bytes);
        self.take(bytes.ok_or_else(|| corruption("bytes end early"))?)
    }

    /// The next integer.
    pub(crate) fn integer<T: Lane>(&mut self) -> Result<T> {
        self.take(size_of::<T>()).map(|it| T::load(&it))
    }

    /// The next `len` integers.
    pub(crate) fn integers<T: Lane>(&mut self, len: usize) -> Result<Vec<T>> {
        let bytes = self.elements(len, size_of::<T>())?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(T::load).collect())
    }

    /// An error if bytes are left.
    pub(crate) fn finish(self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(corruption("bytes after the end")) }
    }
}

/// Appends an integer.
pub(crate) fn put<T: Lane>(out: &mut Vec<u8>, value: T) {
    let start = out.len();
    out.resize(start + size_of::<T>(), 0);
    value.store(&mut out[start..]);
}

/// Appends integers.
pub(crate) fn put_all<T: Lane>(out: &mut Vec<u8>, values: &[T]) {
    values.iter().for_each(|it| put(out, *it));
}

/// The error of bytes that are not a column.
pub(crate) fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged column: {what}"))
}
