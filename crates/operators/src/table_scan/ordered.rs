//! Tells the operators of a driver where in the order of the splits its rows are.

use std::sync::Arc;
use volley_connector::BatchIndex;
use volley_exec::{SourceOrder, Step};
use volley_vector::Batch;

/// Bits of an index for the chunk of a split; those above are for the split.
const CHUNK_BITS: u32 = 32;

/// The place of one driver's rows.
pub(super) struct Ordered {
    order: Arc<SourceOrder>,
    driver: usize,
    /// The number of the split that is read.
    split: u64,
    /// The index of the chunk that is read.
    index: BatchIndex,
    /// Whether something was output since then.
    has_output: bool,
    /// The first batch of the next chunk.
    next: Option<(BatchIndex, Batch)>,
}

impl Ordered {
    pub fn new(order: &Arc<SourceOrder>, driver: usize) -> Ordered {
        let (order, index) = (Arc::clone(order), BatchIndex::default());
        Ordered { order, driver, split: 0, index, has_output: false, next: None }
    }

    /// Another split, after the end of the one before.
    pub fn begin(&mut self, split: u64) {
        self.split = split;
        self.enter(BatchIndex(split << CHUNK_BITS));
    }

    /// The batch that had to wait for the end of the chunk before.
    pub fn next_batch(&mut self) -> Option<Batch> {
        let (index, batch) = self.next.take()?;
        self.enter(index);
        self.has_output = true;
        Some(batch)
    }

    /// What to answer for a step that worked on a chunk of the split.
    pub fn at_chunk(&mut self, chunk: u32, step: Step) -> Step {
        let index = BatchIndex((self.split << CHUNK_BITS) | u64::from(chunk));
        match step {
            Step::Output(batch) if self.has_output && index != self.index => {
                self.next = Some((index, batch));
                self.end()
            }
            Step::Output(batch) => {
                self.enter(index);
                self.has_output = true;
                Step::Output(batch)
            }
            // Others may wait for rows of chunks that turn out to have none.
            Step::Yield if index != self.index => {
                self.index = index;
                self.end()
            }
            other => other,
        }
    }

    /// The rows at this index were output.
    pub fn end(&mut self) -> Step {
        self.has_output = false;
        Step::EndOfSplit
    }

    fn enter(&mut self, index: BatchIndex) {
        self.index = index;
        self.order.enter(self.driver, index);
    }
}
