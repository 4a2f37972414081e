//! Charging kept batches to a pool, each buffer once.
//!
//! Batches share buffers: the pages behind a Parquet dictionary stand in every batch of a row
//! group, slices share their parent's storage. Summing [`Batch::retained_bytes`] would count them
//! again and again; a [`BatchCharge`] counts an allocation when its first holder comes and gives it
//! back when its last holder goes.

use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_vector::{Batch, Buffer, Encoding, Nested, Values, Vector};

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

    /// Charges a batch without unloaded lazy columns; answers the bytes that it adds.
    ///
    /// # Errors
    ///
    /// Out of memory; then the batch must not be kept.
    pub fn add(&mut self, batch: &Batch) -> Result<usize> {
        let mut added = 0;
        let held = &mut self.held;
        for_each_allocation(batch, &mut |address, bytes| {
            let entry = held.entry(address).or_insert(Held { count: 0, bytes });
            entry.count += 1;
            if entry.count == 1 {
                added += bytes;
            }
        });
        if let Err(error) = self.reservation.grow(added) {
            self.forget(batch);
            return Err(error);
        }
        Ok(added)
    }

    /// Gives back what nobody but `batch` holds.
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
    batch.columns().iter().for_each(|it| vector_allocations(it, f));
}

fn vector_allocations(vector: &Vector, f: &mut impl FnMut(usize, usize)) {
    if let Some(nulls) = vector.null_buffer() {
        allocation(nulls.buffer(), f);
    }
    match vector.encoding() {
        Encoding::Flat(values) => values_allocations(values, f),
        Encoding::Constant(base) => vector_allocations(base, f),
        Encoding::Dictionary { codes, base } => {
            allocation(codes.inner(), f);
            vector_allocations(base, f);
        }
        Encoding::RunLength { ends, base } => {
            allocation(ends.inner(), f);
            vector_allocations(base, f);
        }
        Encoding::Bias { deltas, .. } => allocation(deltas.buffer(), f),
        Encoding::Lazy(lazy) => {
            if let Some(loaded) = lazy.get() {
                vector_allocations(loaded, f);
            }
        }
    }
}

fn values_allocations(values: &Values, f: &mut impl FnMut(usize, usize)) {
    match values {
        Values::Null(_) => {}
        Values::Boolean(bits) => allocation(bits.inner(), f),
        Values::View(strings) => {
            allocation(strings.views.inner(), f);
            string_buffers(&strings.buffers, f);
        }
        Values::Array(nested) | Values::Map(nested) => nested_allocations(nested, f),
        Values::FixedArray(arrays) => vector_allocations(&arrays.elements, f),
        Values::Row { children, .. } => children.iter().for_each(|it| vector_allocations(it, f)),
        Values::Object(objects) => f(objects.address(), objects.retained_bytes()),
        _ => values.fixed_buffer().into_iter().for_each(|it| allocation(it, f)),
    }
}

fn nested_allocations(nested: &Nested, f: &mut impl FnMut(usize, usize)) {
    allocation(nested.offsets.inner(), f);
    allocation(nested.sizes.inner(), f);
    vector_allocations(&nested.elements, f);
}

fn string_buffers(buffers: &Arc<[Buffer]>, f: &mut impl FnMut(usize, usize)) {
    buffers.iter().for_each(|it| allocation(it, f));
}

fn allocation(buffer: &Buffer, f: &mut impl FnMut(usize, usize)) {
    if buffer.capacity() > 0 {
        f(buffer.data_ptr().as_ptr() as usize, buffer.capacity());
    }
}
