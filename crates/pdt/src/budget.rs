//! Memory of deltas: reserved from a pool before it is allocated, counted until it is freed.
//!
//! Versions of a delta share nodes and chunks, so that no version owns a number of bytes. Each node
//! and chunk holds a [`Charge`], and all charges of a [`Budget`] are in one reservation.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation, format_bytes};

/// The reservation grows in steps of this many bytes, and keeps up to twice as many in advance.
const STEP_BYTES: usize = 256 << 10;

/// How much memory deltas may hold, and how much they hold. Usually one per database.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    reserved_bytes: AtomicUsize,
    reservation: Mutex<Reservation>,
}

impl Budget {
    /// A budget of at most `limit_bytes` of `pool`.
    pub fn new(pool: &Pool, limit_bytes: usize) -> Arc<Budget> {
        Arc::new(Budget {
            limit_bytes,
            used_bytes: AtomicUsize::new(0),
            reserved_bytes: AtomicUsize::new(0),
            reservation: Mutex::new(pool.reservation()),
        })
    }

    /// A budget without any limit.
    pub fn unlimited() -> Arc<Budget> {
        Budget::new(&Pool::root("deltas", None), usize::MAX)
    }

    /// Bytes that deltas hold.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that deltas may hold. Freezing should start well before they are used.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Reserves `bytes` that are about to be allocated.
    ///
    /// # Errors
    ///
    /// Out of memory: beyond the limit, or refused by the pool; nothing has changed then.
    pub fn ensure(&self, bytes: usize) -> Result<()> {
        let needed = self.used_bytes().saturating_add(bytes);
        if needed <= self.reserved_bytes.load(Ordering::Relaxed) {
            return Ok(());
        }
        if needed > self.limit_bytes {
            return Err(self.exhausted(bytes));
        }
        self.reserve(needed.saturating_add(STEP_BYTES).min(self.limit_bytes))
            .or_else(|_| self.reserve(needed))
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > reservation.bytes() {
            reservation.resize(bytes)?;
            self.reserved_bytes.store(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    fn exhausted(&self, bytes: usize) -> Error {
        let message = format!(
            "memory for deltas exceeded: {} more needed, {} of {} in use",
            format_bytes(bytes),
            format_bytes(self.used_bytes()),
            format_bytes(self.limit_bytes),
        );
        Error::new(ErrorKind::OutOfMemory, message)
            .hint("commit in smaller transactions, end transactions that stay open, or CHECKPOINT")
    }

    /// Frees what is reserved and not used, apart from a step.
    fn release(&self) {
        let spare =
            |it: &Budget| it.reserved_bytes.load(Ordering::Relaxed).saturating_sub(it.used_bytes());
        if spare(self) <= 2 * STEP_BYTES {
            return;
        }
        let mut reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = spare(self).saturating_sub(STEP_BYTES);
        reservation.shrink(excess);
        self.reserved_bytes.store(reservation.bytes(), Ordering::Relaxed);
    }
}

/// Bytes of a budget that one allocation holds. A clone holds as many again.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    /// Counts `bytes`, which [`Budget::ensure`] reserved.
    pub fn new(budget: &Arc<Budget>, bytes: usize) -> Charge {
        budget.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Charge { budget: Arc::clone(budget), bytes }
    }

    /// The bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Clone for Charge {
    fn clone(&self) -> Charge {
        Charge::new(&self.budget, self.bytes)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_reserved_and_released() {
        let pool = Pool::root("test", Some(4 << 20));
        let budget = Budget::new(&pool, 3 << 20);
        budget.ensure(2 << 20).unwrap();
        let charge = Charge::new(&budget, 2 << 20);
        assert!((2 << 20..3 << 20).contains(&pool.stats().bytes));
        let error = budget.ensure(2 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(error.to_string().contains("2.0 MiB of 3.0 MiB"), "{error}");
        budget.ensure(1 << 20).unwrap();
        let clone = charge.clone();
        assert_eq!(budget.used_bytes(), 4 << 20);
        drop((charge, clone));
        assert_eq!(budget.used_bytes(), 0);
        assert!(pool.stats().bytes <= STEP_BYTES);
        drop(budget);
        assert_eq!(pool.stats().bytes, 0);
    }

    #[test]
    fn a_pool_without_room_refuses_what_the_budget_allows() {
        let pool = Pool::root("test", Some(1 << 20));
        let budget = Budget::new(&pool, usize::MAX);
        assert!(budget.ensure(2 << 20).is_err());
        budget.ensure(900 << 10).unwrap();
    }
}
