//! The sink of a pipeline before an exchange.

use super::{Exchange, Partitioning, Room};
use crate::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use std::sync::Arc;
use volley_error::Result;
use volley_state::partition::{Partitioner, Purpose};
use volley_vector::Batch;

/// Sends batches to the queues of an exchange.
pub struct ExchangeSender {
    exchange: Arc<Exchange>,
    /// For hash partitioning.
    partitioner: Option<Partitioner>,
    pending: Option<Batch>,
    input_done: bool,
    finished: bool,
}

impl ExchangeSender {
    /// One driver's sender.
    pub fn new(exchange: &Arc<Exchange>, cx: &OperatorContext) -> ExchangeSender {
        let queues = exchange.lock().queues.len();
        let partitioner = match &exchange.partitioning {
            Partitioning::Hash(keys) => {
                let (keys, rows) = (keys.clone(), cx.task.batch_rows);
                Some(Partitioner::new(keys, queues, Purpose::Exchange, rows, &cx.pool))
            }
            Partitioning::Single | Partitioning::Any => None,
        };
        ExchangeSender {
            exchange: Arc::clone(exchange),
            partitioner,
            pending: None,
            input_done: false,
            finished: false,
        }
    }

    fn send(&mut self, batch: Batch) -> Result<()> {
        match &mut self.partitioner {
            None => self.exchange.send([(0, batch)]),
            Some(partitioner) => self.exchange.send(partitioner.split(&batch)?),
        }
    }

    /// Sends what the partitioner still holds, once.
    fn finish(&mut self) -> Result<()> {
        if let Some(partitioner) = &mut self.partitioner {
            self.exchange.send(partitioner.finish()?)?;
        }
        self.exchange.sender_finished();
        self.finished = true;
        Ok(())
    }
}

impl Operator for ExchangeSender {
    fn name(&self) -> &'static str {
        "local exchange sender"
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
            match self.exchange.room(cx.waker) {
                Room::Closed => return Ok(Step::Finished),
                Room::Full => {
                    self.pending = Some(batch);
                    return Ok(Step::Blocked(BlockedOn::Exchange));
                }
                Room::Free => self.send(batch)?,
            }
        } else if self.exchange.is_closed() {
            return Ok(Step::Finished);
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if !self.finished {
            self.finish()?;
        }
        Ok(Step::Finished)
    }
}
