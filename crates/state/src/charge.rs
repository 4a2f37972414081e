//! Reserves kept batches in a pool, each buffer once.
//!
//! Batches share buffers: the pages of a Parquet dictionary are in every batch of a row group, and
//! slices share their parent's storage. Summing [`Batch::retained_bytes`] would count them
//! repeatedly. A [`BatchCharge`] reserves an allocation with its first holder and releases it with
//! the last one.

use crate::compact::own_batch;
use std::collections::HashMap;
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_vector::Batch;

/// A batch that is kept may keep so much with it that others hold, too,
const SHARED_BYTES_FREE: usize = 1 << 20;

/// or this fraction of the bytes that are not scarce yet.
const SPARE_SHARE: usize = 4;

/// The fraction of the memory limit that a queue between drivers may hold.
const QUEUE_SHARE: usize = 16;

/// How many bytes a queue may hold before senders wait: `most`, or less under a memory limit.
pub fn queue_bytes(pool: &Pool, most: usize) -> usize {
    most.min(pool.limit_bytes() / QUEUE_SHARE).max(1)
}

/// The bytes of a set of kept batches.
#[derive(Debug)]
pub struct BatchCharge {
    reservation: Reservation,
    /// By address: how often an allocation is held, and its bytes.
    held: HashMap<usize, Held, foldhash::fast::FixedState>,
}

#[derive(Debug)]
struct Held {
    count: u32,
    bytes: usize,
}

impl BatchCharge {
    /// Charges to `pool`.
    pub fn new(pool: &Pool) -> BatchCharge {
        BatchCharge { reservation: pool.reservation(), held: HashMap::default() }
    }

    /// The pool that counts the bytes.
    pub fn pool(&self) -> &Pool {
        self.reservation.pool()
    }

    /// The bytes charged.
    pub fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// Charges a batch without unloaded lazy columns.
    ///
    /// # Errors
    ///
    /// Out of memory; then the batch must not be kept.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let added = self.hold(batch);
        self.reservation.grow(added).inspect_err(|_| _ = self.forget(batch))
    }

    /// Charges a batch that is to be kept. Where there is little memory for all that it shares with
    /// others, which they may have charged too, a copy of its rows alone; then what is shared is
    /// never charged, which would leave others without.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn keep(&mut self, batch: Batch) -> Result<Batch> {
        let added = self.hold(&batch);
        let free = SHARED_BYTES_FREE.max(self.pool().spare_bytes() / SPARE_SHARE);
        if added <= free && self.reservation.grow(added).is_ok() {
            return Ok(batch);
        }
        self.forget(&batch);
        let own = own_batch(batch)?;
        self.add(&own)?;
        Ok(own)
    }

    /// Counts a batch among the holders of its allocations; the bytes that had none.
    fn hold(&mut self, batch: &Batch) -> usize {
        let mut added = 0;
        let held = &mut self.held;
        for_each_allocation(batch, &mut |address, bytes| {
            let entry = held.entry(address).or_insert(Held { count: 0, bytes });
            entry.count += 1;
            if entry.count == 1 {
                added += bytes;
            }
        });
        added
    }

    /// Releases the allocations that only `batch` holds.
    pub fn remove(&mut self, batch: &Batch) {
        let freed = self.forget(batch);
        self.reservation.shrink(freed);
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.held.clear();
        self.reservation.clear();
    }

    fn forget(&mut self, batch: &Batch) -> usize {
        let mut freed = 0;
        let held = &mut self.held;
        for_each_allocation(batch, &mut |address, _| {
            let Some(entry) = held.get_mut(&address) else { return };
            entry.count -= 1;
            if entry.count == 0 {
                freed += entry.bytes;
                held.remove(&address);
            }
        });
        freed
    }
}

/// Calls `f` with the address and size of every allocation behind `batch`; some may repeat.
fn for_each_allocation(batch: &Batch, f: &mut impl FnMut(usize, usize)) {
    batch.columns().iter().for_each(|it| it.for_each_allocation(f));
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Type;
    use volley_vector::Vector;

    #[test]
    fn a_kept_batch_is_copied_where_what_it_shares_is_too_much() {
        let numbers = Vector::native::<i64>(Type::BigInt, vec![7; 1 << 20], None);
        let batch = Batch::new(vec![numbers.slice(10, 3)], 3);
        let kept_with = |limit: Option<usize>| {
            let pool = Pool::root("test", limit);
            let mut charge = BatchCharge::new(&pool);
            let kept = charge.keep(batch.clone()).unwrap();
            let values = |it: &Batch| it.column(0).to_values().unwrap();
            assert_eq!(values(&kept), values(&batch));
            let bytes = charge.bytes();
            charge.remove(&kept);
            assert_eq!(pool.stats().bytes, 0);
            bytes
        };
        assert_eq!(kept_with(None), 8 << 20);
        assert_eq!(kept_with(Some(1 << 30)), 8 << 20);
        // Less than what is shared, and less than four times that.
        for limit in [1 << 20, 24 << 20] {
            assert!(kept_with(Some(limit)) < 1000);
        }
    }

    #[test]
    fn what_is_shared_and_not_kept_takes_no_memory_from_others() {
        let numbers = Vector::native::<i64>(Type::BigInt, vec![7; 1 << 20], None);
        let batch = Batch::new(vec![numbers.slice(10, 3)], 3);
        let pool = Pool::root("test", Some(24 << 20));
        let mut charge = BatchCharge::new(&pool);
        charge.keep(batch).unwrap();
        assert!(pool.stats().peak_bytes < 1 << 20, "{:?}", pool.stats());
    }
}
