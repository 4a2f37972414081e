//! The end of one driver.

use std::{
    sync::Arc,
    task::{Poll, Waker},
};
use volley_error::Result;
use volley_exchange::{PageEncoder, PageSink, Producer, Readiness};
use volley_exec::{BatchSink, OperatorMetrics, Spill};
use volley_state::queue::Room;
use volley_vector::Batch;

/// One driver's end of one output.
pub(super) struct SinkOutput {
    pub sink: PageSink,
    pub encoder: PageEncoder,
    /// Its first lane in the task's buffer.
    pub first_lane: usize,
    /// How many lanes get each page.
    pub copies: usize,
}

/// Splits a driver's batches by lane and pushes them as pages.
pub(super) struct DriverSink {
    outputs: Vec<SinkOutput>,
    /// `None` once the driver has ended its pages.
    producer: Option<Producer>,
    metrics: Arc<OperatorMetrics>,
}

impl DriverSink {
    pub(super) fn new(
        outputs: Vec<SinkOutput>,
        producer: Producer,
        metrics: Arc<OperatorMetrics>,
    ) -> DriverSink {
        DriverSink { outputs, producer: Some(producer), metrics }
    }

    fn end(&mut self) {
        if let Some(producer) = self.producer.take() {
            producer.finish();
        }
    }
}

impl SinkOutput {
    /// Pushes the buffered rows.
    fn flush(&mut self, producer: &Producer, metrics: &OperatorMetrics) -> Result<()> {
        let (mut pages, mut bytes) = (0, 0);
        for rows in self.sink.flush()? {
            let first = self.first_lane + rows.lane;
            let lanes = first..first + self.copies;
            if !lanes.clone().any(|it| producer.buffer().is_needed(it)) {
                continue;
            }
            let page = self.encoder.encode(&rows)?;
            for lane in lanes {
                pages += 1;
                bytes += page.sent_bytes() as u64;
                producer.push(lane, page.clone()).map_err(|it| it.error)?;
            }
        }
        metrics.add("pages sent", pages);
        metrics.add("bytes sent", bytes);
        Ok(())
    }
}

impl BatchSink for DriverSink {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn poll_room(&mut self, waker: &Waker) -> Room {
        let Some(producer) = &self.producer else { return Room::Closed };
        match producer.buffer().poll_ready(waker) {
            Poll::Pending => Room::Full,
            Poll::Ready(Ok(Readiness::NotNeeded)) => {
                self.end();
                Room::Closed
            }
            // A failure is reported by the push that follows.
            Poll::Ready(Ok(Readiness::Room) | Err(_)) => Room::Free,
        }
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        let Some(producer) = &self.producer else { return Ok(Room::Closed) };
        for output in &mut self.outputs {
            output.sink.push(batch.clone())?;
            if output.sink.is_full() {
                output.flush(producer, &self.metrics)?;
            }
        }
        Ok(Room::Free)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(producer) = &self.producer {
            self.outputs.iter_mut().try_for_each(|it| it.flush(producer, &self.metrics))?;
        }
        self.end();
        Ok(())
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

/// Pages that no reader waits for go to disk. All drivers of a task share them.
impl Spill for DriverSink {
    fn reclaimable_bytes(&self) -> usize {
        self.producer.as_ref().map_or(0, |it| it.buffer().spillable_bytes())
    }

    fn spill(&mut self) -> Result<()> {
        match &self.producer {
            Some(producer) => producer.buffer().spill().map_err(|it| it.error),
            None => Ok(()),
        }
    }
}
