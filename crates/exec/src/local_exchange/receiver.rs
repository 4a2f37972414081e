//! The source of the pipeline after an exchange.

use super::{Exchange, Received};
use crate::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_vector::Batch;

/// Takes batches from one queue of an exchange.
pub struct ExchangeReceiver {
    exchange: Arc<Exchange>,
    queue: usize,
}

impl ExchangeReceiver {
    /// The receiver of driver `cx.driver`.
    pub fn new(exchange: &Arc<Exchange>, cx: &OperatorContext) -> ExchangeReceiver {
        ExchangeReceiver { queue: exchange.queue_of(cx.driver), exchange: Arc::clone(exchange) }
    }
}

impl Drop for ExchangeReceiver {
    fn drop(&mut self) {
        self.exchange.receiver_gone(self.queue);
    }
}

impl Operator for ExchangeReceiver {
    fn name(&self) -> &'static str {
        "local exchange receiver"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.exchange.receive(self.queue, cx.waker) {
            Received::Batch(batch) => Step::Output(batch),
            Received::Wait => Step::Blocked(BlockedOn::Exchange),
            Received::End => Step::Finished,
        })
    }
}
