//! Memory that is used again for the next read.
//!
//! Column chunks and pages are alike in size from one row group to the next. Fresh memory of their
//! size comes from the operating system, which clears it; and then it would be cleared once more to
//! be filled.

use bytes::Bytes;
use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A pool of one reader keeps at most this many bytes for later reads. A user of buffers reserves
/// their bytes; those that are kept are not charged.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// A buffer is used for a read only if at most 1/8 of the read's size would be unused: its user
/// reserves the size of the read.
const UNUSED_SHARE: usize = 8;

/// Buffers to be used again, of one reader. Clones share them.
#[derive(Clone)]
pub struct BufferPool {
    kept: Arc<Mutex<Vec<Box<[u8]>>>>,
    kept_bytes_max: usize,
}

impl Default for BufferPool {
    fn default() -> BufferPool {
        BufferPool::keeping(KEPT_BYTES_MAX)
    }
}

impl BufferPool {
    /// A pool that keeps at most this many bytes for later reads.
    pub(crate) fn keeping(kept_bytes_max: usize) -> BufferPool {
        BufferPool { kept: Arc::default(), kept_bytes_max }
    }

    /// A buffer of `len` bytes, which hold anything.
    pub fn take(&self, len: usize) -> PooledBuffer {
        let fits = |it: &[u8]| it.len() >= len && it.len() - len <= len / UNUSED_SHARE;
        let mut kept = self.lock();
        let found = (0..kept.len())
            .filter(|place| kept.get(*place).is_some_and(|it| fits(it)))
            .min_by_key(|place| kept.get(*place).map(|it| it.len()));
        let memory = found.map(|place| kept.remove(place));
        drop(kept);
        let memory = memory.unwrap_or_else(|| vec![0; len].into());
        PooledBuffer { memory, len, pool: self.clone() }
    }

    fn keep(&self, memory: Box<[u8]>) {
        if memory.is_empty() || memory.len() > self.kept_bytes_max {
            return;
        }
        let mut kept = self.lock();
        kept.push(memory);
        let mut bytes: usize = kept.iter().map(|it| it.len()).sum();
        while bytes > self.kept_bytes_max {
            // The one that was not used for the longest time.
            bytes -= kept.remove(0).len();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of a [`BufferPool`], which keeps it for later reads.
pub struct PooledBuffer {
    memory: Box<[u8]>,
    /// The bytes in use.
    len: usize,
    pool: BufferPool,
}

impl PooledBuffer {
    /// The bytes, to be shared; their memory goes back to the pool with the last reference.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl Deref for PooledBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.get_mut(..self.len).unwrap_or_default()
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.keep(std::mem::take(&mut self.memory));
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({} kept)", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_after_the_last_reference() {
        let pool = BufferPool::default();
        let mut buffer = pool.take(1000);
        buffer.fill(7);
        let address = buffer.as_ptr();
        let bytes = buffer.freeze();
        let part = bytes.slice(10..20);
        drop(bytes);
        assert_ne!(pool.take(900).as_ptr(), address);
        assert_eq!(part, [7; 10].as_slice());
        drop(part);
        // The smallest that is large enough.
        assert_eq!(pool.take(950).as_ptr(), address);
        assert_eq!(pool.take(950).len(), 950);
        // Not for a fraction of it.
        assert_ne!(pool.take(100).as_ptr(), address);
        assert!(pool.take(0).is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let pool = BufferPool::default();
        let all: Vec<PooledBuffer> = (0..10).map(|_| pool.take(KEPT_BYTES_MAX / 3)).collect();
        drop(all);
        assert_eq!(pool.lock().len(), 3);
        drop(pool.take(KEPT_BYTES_MAX + 1));
        assert_eq!(pool.lock().len(), 3);
    }
}
