//! Appends distinct integers.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use volley_error::Result;
use volley_exec::Transform;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// The first identity that no driver has taken.
#[derive(Debug, Default)]
pub struct UniqueIdCounter(AtomicI64);

/// The identities that each task of a plan can give.
const IDS_PER_TASK: i64 = 1 << 40;

impl UniqueIdCounter {
    /// The identities of the task with this number.
    pub fn of_task(number: u32) -> UniqueIdCounter {
        UniqueIdCounter(AtomicI64::new(i64::from(number) * IDS_PER_TASK))
    }
}

/// Appends a BIGINT column: every batch takes as many identities from the shared counter as it has
/// rows.
pub struct UniqueId {
    counter: Arc<UniqueIdCounter>,
}

impl UniqueId {
    /// Takes identities from `counter`.
    pub fn new(counter: Arc<UniqueIdCounter>) -> UniqueId {
        UniqueId { counter }
    }
}

impl Transform for UniqueId {
    fn name(&self) -> &'static str {
        "unique id"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let rows = batch.rows();
        let first = self.counter.0.fetch_add(rows as i64, Ordering::Relaxed);
        let ids: Vec<i64> = (first..first + rows as i64).collect();
        let mut columns = batch.into_columns();
        columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
        Ok(Some(Batch::new(columns, rows)))
    }
}
