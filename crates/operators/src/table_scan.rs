//! Reads a table: drivers take splits from one queue, each with a source of its own.

mod lower;
mod ordered;
mod queue;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use crate::dynamic_filters::JoinFilter;
use ordered::Ordered;
use queue::{SplitOrigin, SplitQueue, SplitShare, Taken};
use std::{
    sync::Arc,
    task::{Poll, Waker},
};
use volley_connector::{Source, SourceStep};
use volley_error::{Error, Result};
use volley_exec::{
    BlockedOn, Operator, OperatorContext, OperatorMetrics, SPLITS_DONE, SPLITS_TOTAL, SourceOrder,
    Step, StepContext,
};
use volley_vector::Batch;

/// The source of a pipeline that reads a table.
pub struct TableScan {
    queue: Arc<SplitQueue>,
    /// Made once the filters of joins are known.
    source: Option<Box<dyn Source>>,
    /// Of the split that the source is not done with.
    reading: Option<SplitShare>,
    scanned_bytes: u64,
    /// What rows are at, where that counts.
    ordered: Option<Ordered>,
    /// The first driver counts the splits and what listing them skipped.
    is_first: bool,
    metrics: Arc<OperatorMetrics>,
}

impl TableScan {
    /// A driver's reader of the queue's splits; `order` is that of the pipeline.
    pub fn new(
        queue: &Arc<SplitQueue>,
        order: Option<&Arc<SourceOrder>>,
        cx: &OperatorContext,
    ) -> TableScan {
        let metrics = Arc::clone(&cx.metrics);
        let is_first = cx.driver == 0;
        if is_first {
            metrics.set(SPLITS_TOTAL, queue.total());
            metrics.set_scan_size(queue.bytes());
        }
        let ordered = order.map(|it| Ordered::new(it, cx.driver));
        TableScan {
            queue: Arc::clone(queue),
            source: None,
            reading: None,
            scanned_bytes: 0,
            ordered,
            is_first,
            metrics,
        }
    }

    /// Shows what was read so far.
    fn record(&self) {
        let mut scan = self.source.as_ref().map(|it| it.metrics()).unwrap_or_default();
        if self.is_first {
            scan += self.queue.pruned();
            self.metrics.set(SPLITS_TOTAL, self.queue.total());
            self.metrics.set_scan_size(self.queue.bytes());
        }
        let counts = [
            ("bytes read", scan.bytes_read),
            ("rows read", scan.rows_read),
            ("groups read", scan.groups_read),
            ("groups skipped", scan.groups_skipped),
            ("pages read", scan.pages_read),
            ("pages skipped", scan.pages_skipped),
            ("pages pruned", scan.pages_pruned),
            ("rows pruned", scan.rows_pruned),
            ("rows dropped by joins", scan.rows_dropped_by_joins),
            ("rows dropped by bounds", scan.rows_dropped_by_bounds),
        ];
        counts.into_iter().for_each(|(name, value)| self.metrics.set(name, value));
    }

    /// Shows that this share of the split is read.
    fn advance(&mut self, share: f64) {
        self.scanned_bytes += self.reading.as_ref().map_or(0, |it| it.advance(share));
        self.metrics.set_scanned(self.scanned_bytes);
    }

    /// Makes the source, unless it has to wait for a filter.
    fn open(&mut self, waker: &Waker) -> Result<bool> {
        let is_known = |it: &Arc<JoinFilter>| it.known.wait(waker).is_some();
        if self.source.is_none() && self.queue.filters().iter().all(is_known) {
            self.source = Some(self.queue.source()?);
        }
        Ok(self.source.is_some())
    }

    /// Reads on, with another split if need be.
    fn read(&mut self, waker: &Waker) -> Result<Step> {
        let Some(source) = &mut self.source else { return Ok(Step::Finished) };
        if self.reading.is_none() {
            let Taken { split, share, number, following } = match self.queue.next(waker) {
                Poll::Ready(Ok(Some(taken))) => taken,
                Poll::Ready(Ok(None)) => return Ok(Step::Finished),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(Step::Blocked(BlockedOn::Splits)),
            };
            let label = split.label.clone();
            source.start(split).map_err(|it| it.at("split", label))?;
            if let Some(split) = following {
                source.prepare(&split).map_err(|it| it.at("split", split.label.clone()))?;
            }
            self.reading = Some(share);
            if let Some(ordered) = &mut self.ordered {
                ordered.begin(number);
            }
        }
        let step = match source.step(waker)? {
            SourceStep::Batch(batch) => Step::Output(batch),
            SourceStep::Blocked => Step::Blocked(BlockedOn::Io),
            SourceStep::Progress => Step::Yield,
            SourceStep::NeedSplit => {
                self.advance(1.0);
                self.reading = None;
                self.metrics.add(SPLITS_DONE, 1);
                self.record();
                return Ok(self.ordered.as_mut().map_or(Step::Yield, Ordered::end));
            }
        };
        let (share, chunk) = (source.split_share(), source.chunk());
        self.advance(share);
        Ok(match &mut self.ordered {
            Some(ordered) => ordered.at_chunk(chunk, step),
            None => step,
        })
    }
}

impl Drop for TableScan {
    fn drop(&mut self) {
        self.record();
        if let Some(source) = &self.source {
            self.metrics.set_filters(source.filters());
        }
    }
}

impl Operator for TableScan {
    fn name(&self) -> &'static str {
        "table scan"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(batch) = self.ordered.as_mut().and_then(Ordered::next_batch) {
            return Ok(Step::Output(batch));
        }
        if !self.open(cx.waker)? {
            return Ok(Step::Blocked(BlockedOn::Build));
        }
        self.read(cx.waker)
    }
}
