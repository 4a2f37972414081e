//! Memory that is held only as long as nothing else needs it: a cache.
//!
//! Its bytes count in the pool, but not as used: memory is not scarce because of them. A growth
//! that the limit would refuse takes them first.

use std::fmt;

/// A cache, whose memory is released before any query has to release or wait.
pub trait Reclaimable: fmt::Debug + Send + Sync {
    /// Releases about this number of bytes, as far as it has them; returns how many. Threads that
    /// reserve memory call it: it must not wait for them, and must not reserve memory itself.
    fn reclaim(&self, bytes: usize) -> usize;
}
