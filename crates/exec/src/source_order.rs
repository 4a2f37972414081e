//! The order of rows whose source several drivers read.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use volley_connector::BatchIndex;

/// Which part of the source each driver of a pipeline works on.
///
/// The source of the pipeline enters an index before it outputs the first batch of it. Every
/// operator of the pipeline outputs all rows of it before the source enters the next one
/// ([`Operator::end_split`](crate::Operator::end_split)). Therefore all operators of a driver may
/// ask what the index of their input is. Indexes of a driver ascend.
#[derive(Debug)]
pub struct SourceOrder(Vec<AtomicU64>);

/// A driver that has finished.
const FINISHED: u64 = u64::MAX;

impl SourceOrder {
    /// Of a pipeline with this number of drivers, which have entered no index.
    pub fn new(drivers: usize) -> Arc<SourceOrder> {
        Arc::new(SourceOrder(std::iter::repeat_with(AtomicU64::default).take(drivers).collect()))
    }

    /// The driver works on `index` from now on, and on nothing before it.
    pub fn enter(&self, driver: usize, index: BatchIndex) {
        if let Some(current) = self.0.get(driver) {
            current.fetch_max(index.0, Ordering::AcqRel);
        }
    }

    /// The driver works on nothing more.
    pub fn finish(&self, driver: usize) {
        self.enter(driver, BatchIndex(FINISHED));
    }

    /// The index of the rows that the driver works on.
    pub fn index(&self, driver: usize) -> BatchIndex {
        BatchIndex(self.0.get(driver).map_or(FINISHED, |it| it.load(Ordering::Acquire)))
    }

    /// No driver works on an index before this one; `None` when all have finished.
    pub fn first(&self) -> Option<BatchIndex> {
        let first = self.0.iter().map(|it| it.load(Ordering::Acquire)).min();
        first.filter(|it| *it != FINISHED).map(BatchIndex)
    }
}
