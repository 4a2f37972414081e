//! Building string vectors.

use crate::{INLINE_BYTES, StringValues, StringView};
use arrow_buffer::Buffer;

/// Data buffers are closed at this size, so that offsets fit 32 bits and growth copies little.
const BUFFER_BYTES: usize = 1 << 20;

/// Collects strings into views and data buffers.
#[derive(Debug, Default)]
pub struct StringBuilder {
    views: Vec<u128>,
    closed: Vec<Buffer>,
    open: Vec<u8>,
}

impl StringBuilder {
    /// A builder with room for `rows` views.
    pub fn with_capacity(rows: usize) -> StringBuilder {
        StringBuilder { views: Vec::with_capacity(rows), ..StringBuilder::default() }
    }

    /// The number of strings so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.views.capacity() * 16
            + self.open.capacity()
            + self.closed.iter().map(Buffer::len).sum::<usize>()
    }

    /// Appends one string.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let view = self.store(bytes);
        self.views.push(view);
    }

    /// Appends an empty string (also for null rows).
    #[inline]
    pub fn push_empty(&mut self) {
        self.views.push(0);
    }

    /// Stores a string without appending it to the rows; its view is valid in the result.
    pub fn store(&mut self, bytes: &[u8]) -> u128 {
        if bytes.len() <= INLINE_BYTES {
            return StringView::inline(bytes);
        }
        if self.open.len() + bytes.len() > BUFFER_BYTES.max(self.open.capacity()) {
            self.close();
        }
        if self.open.capacity() == 0 {
            self.open.reserve(bytes.len().max(BUFFER_BYTES.min(self.views.capacity() * 16 + 64)));
        }
        let offset = self.open.len() as u32;
        self.open.extend_from_slice(bytes);
        StringView::new(bytes, self.closed.len() as u32, offset)
    }

    /// The strings.
    pub fn finish(mut self) -> StringValues {
        self.close();
        StringValues::new(self.views.into(), self.closed.into())
    }

    /// The data buffers, for views that the caller placed itself (see [`StringBuilder::store`]).
    pub fn finish_with_views(mut self, views: Vec<u128>) -> StringValues {
        self.close();
        StringValues::new(views.into(), self.closed.into())
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed.push(Buffer::from_vec(std::mem::take(&mut self.open)));
        }
    }
}

impl<'a> FromIterator<&'a str> for StringValues {
    fn from_iter<I: IntoIterator<Item = &'a str>>(strings: I) -> StringValues {
        let mut builder = StringBuilder::default();
        strings.into_iter().for_each(|it| builder.push(it.as_bytes()));
        builder.finish()
    }
}
