//! Strings that do not fit into their view.

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_vector::{Buffer, INLINE_BYTES, StringView};

/// The first buffer's size; each next one doubles.
const BUFFER_BYTES_MIN: usize = 4 << 10;

/// Buffers do not grow beyond this, except for a longer string.
const BUFFER_BYTES_MAX: usize = 1 << 20;

/// An append-only heap of strings in buffers that vectors can share. A view's buffer number and
/// offset say where a string is.
#[derive(Debug, Default)]
pub(super) struct StringHeap {
    closed: Vec<Buffer>,
    /// What is in `closed`.
    closed_bytes: usize,
    open: Vec<u8>,
    /// All of `closed` for sharing; empty until [`StringHeap::freeze`].
    frozen: Arc<[Buffer]>,
}

impl StringHeap {
    /// Stores a string; charges a new buffer before allocating it.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], reservation: &mut Reservation) -> Result<u128> {
        if bytes.len() <= INLINE_BYTES {
            return Ok(StringView::inline(bytes));
        }
        if self.open.capacity() - self.open.len() < bytes.len() {
            self.open_buffer(bytes.len(), reservation)?;
        }
        let offset = self.open.len() as u32;
        self.open.extend_from_slice(bytes);
        Ok(StringView::new(bytes, self.closed.len() as u32, offset))
    }

    #[cold]
    fn open_buffer(&mut self, bytes_min: usize, reservation: &mut Reservation) -> Result<()> {
        self.close();
        let size = BUFFER_BYTES_MIN << self.closed.len().min(8);
        let size = size.min(BUFFER_BYTES_MAX).max(bytes_min);
        reservation.grow(size)?;
        self.open = Vec::with_capacity(size);
        Ok(())
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed_bytes += self.open.len();
            self.closed.push(Buffer::from_vec(std::mem::take(&mut self.open)));
        }
    }

    /// The string of a view.
    #[inline]
    pub(super) fn bytes_of<'a>(&'a self, view: &'a u128) -> &'a [u8] {
        let len = StringView::len_of(*view);
        if len > INLINE_BYTES {
            let (buffer, offset) = StringView::position(*view);
            if buffer as usize == self.closed.len() {
                return &self.open[offset as usize..offset as usize + len];
            }
        }
        StringView::bytes_of(view, &self.closed)
    }

    /// Makes all strings so far shareable.
    pub(super) fn freeze(&mut self) {
        self.close();
        if self.frozen.len() != self.closed.len() {
            self.frozen = self.closed.iter().cloned().collect();
        }
    }

    /// How many buffers there are.
    pub(super) fn len(&self) -> usize {
        self.closed.len() + usize::from(!self.open.is_empty())
    }

    /// The bytes of all strings.
    pub(super) fn bytes(&self) -> usize {
        self.closed_bytes + self.open.len()
    }

    /// What the buffers behind the first `len` hold, but for the one that is being filled.
    pub(super) fn bytes_from(&self, len: usize) -> usize {
        self.closed.iter().skip(len).map(|it| it.len()).sum()
    }

    /// Drops all but the first `len` buffers; what they took.
    pub(super) fn truncate(&mut self, len: usize) -> usize {
        self.close();
        self.closed_bytes -= self.bytes_from(len);
        let dropped = self.closed.drain(len.min(self.closed.len())..);
        let bytes = dropped.map(|it| it.capacity()).sum();
        self.freeze();
        bytes
    }

    /// The buffers; every string must be frozen.
    pub(super) fn buffers(&self) -> &Arc<[Buffer]> {
        debug_assert!(self.open.is_empty(), "strings that are not frozen");
        &self.frozen
    }

    /// Appends the buffers of `other`; its views' buffer numbers must be raised by the result.
    pub(super) fn absorb(&mut self, mut other: StringHeap) -> Result<u32> {
        self.close();
        other.close();
        let base = u32::try_from(self.closed.len());
        let base = base.map_err(|_| Error::internal("too many string buffers in a hash table"))?;
        self.closed_bytes += other.closed_bytes;
        self.closed.append(&mut other.closed);
        Ok(base)
    }
}
