//! Recycles the memory of results.

use crate::{Buffer, MutableBuffer};

/// Buffers kept at most.
const BUFFERS_MAX: usize = 8;

/// Larger buffers are not kept.
const BYTES_MAX: usize = 1 << 20;

/// Buffers of fixed-width results, which are used again once there is no other reference.
///
/// An operator makes results of one size batch after batch, and most are dropped before the next
/// batch: their memory is still in the cache and need not be cleared. At most 8 MiB are kept.
#[derive(Debug, Default)]
pub struct Recycler {
    kept: Vec<Buffer>,
}

impl Recycler {
    /// A buffer of `bytes` bytes with any contents.
    pub fn take(&mut self, bytes: usize) -> MutableBuffer {
        let is_free = |it: &Buffer| it.strong_count() == 1 && it.capacity() >= bytes;
        let free = self.kept.iter().position(is_free).map(|it| self.kept.swap_remove(it));
        let mut buffer = match free.map(Buffer::into_mutable) {
            Some(Ok(buffer)) => buffer,
            _ => MutableBuffer::with_capacity(bytes),
        };
        buffer.resize(bytes, 0);
        buffer
    }

    /// Keeps a buffer, to be given out when its other users have dropped it.
    pub fn keep(&mut self, buffer: &Buffer) {
        if buffer.capacity() > BYTES_MAX {
            return;
        }
        if self.kept.len() == BUFFERS_MAX {
            self.kept.remove(0);
        }
        self.kept.push(buffer.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_given_out_again_when_nobody_holds_it() {
        let mut recycler = Recycler::default();
        let buffer: Buffer = recycler.take(1000).into();
        let address = buffer.as_ptr();
        recycler.keep(&buffer);
        let other: Buffer = recycler.take(1000).into();
        assert_ne!(other.as_ptr(), address, "the first is still referenced");
        drop(buffer);
        let smaller = recycler.take(10);
        assert_eq!((smaller.as_ptr(), smaller.len()), (address, 10));
        recycler.keep(&smaller.into());
        let grown = recycler.take(1000);
        assert_eq!((grown.as_ptr(), grown.len()), (address, 1000));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut recycler = Recycler::default();
        (0..20).for_each(|_| recycler.keep(&MutableBuffer::with_capacity(100).into()));
        recycler.keep(&MutableBuffer::with_capacity(BYTES_MAX + 64).into());
        assert_eq!(recycler.kept.len(), BUFFERS_MAX);
    }
}
