//! A reservation of bytes of a pool, which is released when it is dropped.

use crate::Pool;
use volley_error::Result;

/// Reservations move in steps of this size, so that small growths touch no shared counter.
const QUANTUM_BYTES: usize = 64 << 10;

/// Bytes that one structure holds in one pool. Dropping it gives them back.
#[derive(Debug)]
pub struct Reservation {
    pool: Pool,
    /// What the owner asked for.
    bytes: usize,
    /// What the pool counts: `bytes`, rounded up to the quantum.
    reserved_bytes: usize,
    /// Whether the bytes are for later.
    is_promise: bool,
}

impl Reservation {
    pub(crate) fn new(pool: Pool, is_promise: bool) -> Reservation {
        Reservation { pool, bytes: 0, reserved_bytes: 0, is_promise }
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The pool that counts them.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Sets the bytes held to `bytes`. Call it before allocating.
    ///
    /// # Errors
    ///
    /// Out of memory, when the pool or one of its ancestors is at its limit; nothing has changed
    /// then.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        let reserved_bytes = bytes.checked_next_multiple_of(QUANTUM_BYTES).unwrap_or(usize::MAX);
        if reserved_bytes > self.reserved_bytes {
            self.pool.grow(reserved_bytes - self.reserved_bytes)?;
        } else if reserved_bytes < self.reserved_bytes {
            self.pool.shrink(self.reserved_bytes - reserved_bytes);
        }
        self.set(bytes, reserved_bytes);
        Ok(())
    }

    /// Adds `bytes` to what is held.
    ///
    /// # Errors
    ///
    /// As [`Reservation::resize`].
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.resize(self.bytes.saturating_add(bytes))
    }

    /// Gives `bytes` back; at most what is held.
    pub fn shrink(&mut self, bytes: usize) {
        let rest = self.bytes.saturating_sub(bytes);
        let reserved_bytes = rest.next_multiple_of(QUANTUM_BYTES).min(self.reserved_bytes);
        self.pool.shrink(self.reserved_bytes - reserved_bytes);
        self.set(rest, reserved_bytes);
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.shrink(self.bytes);
    }

    /// Turns the promised bytes into a reservation of their own. No other consumer can reserve the
    /// bytes in between.
    pub fn commit(&mut self) -> Reservation {
        let (bytes, reserved_bytes) = (self.bytes, self.reserved_bytes);
        self.set(0, 0);
        Reservation { pool: self.pool.clone(), bytes, reserved_bytes, is_promise: false }
    }

    /// Notes what the pool counts now.
    fn set(&mut self, bytes: usize, reserved_bytes: usize) {
        if self.is_promise && reserved_bytes != self.reserved_bytes {
            self.pool.count_promised(reserved_bytes, self.reserved_bytes);
        }
        self.bytes = bytes;
        self.reserved_bytes = reserved_bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_promised_is_taken_without_being_given_back() {
        let pool = Pool::root("test", Some(1 << 20));
        let mut ahead = pool.reserve_ahead();
        ahead.resize(1 << 20).unwrap();
        assert_eq!((pool.stats().bytes, pool.taken_bytes()), (1 << 20, 0));
        let mut taken = ahead.commit();
        assert_eq!((ahead.bytes(), taken.bytes()), (0, 1 << 20));
        assert_eq!((pool.stats().bytes, pool.taken_bytes()), (1 << 20, 1 << 20));
        assert!(pool.reservation().resize(1).is_err());
        taken.shrink(1 << 19);
        drop((ahead, taken));
        assert_eq!((pool.stats().bytes, pool.taken_bytes()), (0, 0));
    }
}
