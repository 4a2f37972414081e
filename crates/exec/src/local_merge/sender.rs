//! The sink of a pipeline of sorted rows.

use super::{MergeQueue, Room};
use crate::{BlockedOn, Operator, Step, StepContext};
use std::sync::Arc;
use volley_error::Result;
use volley_vector::Batch;

/// Sends sorted rows to a queue.
pub struct MergeSender {
    queue: Arc<MergeQueue>,
    pending: Option<Batch>,
    input_done: bool,
}

impl MergeSender {
    /// Sends to a queue.
    pub fn new(queue: Arc<MergeQueue>) -> MergeSender {
        MergeSender { queue, pending: None, input_done: false }
    }
}

impl Operator for MergeSender {
    fn name(&self) -> &'static str {
        "local merge sender"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(batch) = self.pending.take() {
            match self.queue.room(cx.waker) {
                Room::Closed => return Ok(Step::Finished),
                Room::Full => {
                    self.pending = Some(batch);
                    return Ok(Step::Blocked(BlockedOn::Exchange));
                }
                Room::Free => self.queue.send(batch)?,
            }
        } else if self.queue.is_closed() {
            return Ok(Step::Finished);
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        self.queue.end();
        Ok(Step::Finished)
    }
}
