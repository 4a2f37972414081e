//! Reads a table: drivers take splits from one queue, each with a source of its own.

use crate::{BlockedOn, Operator, OperatorContext, OperatorMetrics, Step, StepContext};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::{Scan, ScanMetrics, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_vector::Batch;

/// The counter of splits that were read to their end.
pub(crate) const SPLITS_DONE: &str = "splits";

/// The counter of all splits of a scan.
pub(crate) const SPLITS_TOTAL: &str = "splits in all";

/// The splits of a scan that no driver has taken.
pub struct SplitQueue {
    scan: Box<dyn Scan>,
    splits: Mutex<VecDeque<Split>>,
    total: usize,
}

/// The source of a pipeline that reads a table.
pub struct TableScan {
    queue: Arc<SplitQueue>,
    source: Box<dyn Source>,
    /// Whether the source has a split that it is not done with.
    reading: bool,
    /// What the scan skipped before it began; counted by the first driver.
    pruned: ScanMetrics,
    metrics: Arc<OperatorMetrics>,
}

impl SplitQueue {
    /// All splits of `scan`.
    pub fn new(scan: Box<dyn Scan>) -> Arc<SplitQueue> {
        let splits: VecDeque<Split> = scan.splits().into();
        let total = splits.len();
        Arc::new(SplitQueue { scan, splits: Mutex::new(splits), total })
    }

    /// How many splits there were at the start.
    pub fn total(&self) -> usize {
        self.total
    }

    fn next(&self) -> Option<Split> {
        self.splits.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl TableScan {
    /// A driver's reader of the queue's splits.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(queue: &Arc<SplitQueue>, cx: &OperatorContext) -> Result<TableScan> {
        let metrics = Arc::clone(&cx.metrics);
        let mut pruned = ScanMetrics::default();
        if cx.driver == 0 {
            pruned = queue.scan.pruned();
            metrics.add(SPLITS_TOTAL, queue.total as u64);
        }
        let source = queue.scan.source()?;
        Ok(TableScan { queue: Arc::clone(queue), source, reading: false, pruned, metrics })
    }

    /// Shows what was read so far.
    fn record(&self) {
        let mut scan = self.source.metrics();
        scan += self.pruned;
        let counts = [
            ("bytes read", scan.bytes_read),
            ("rows read", scan.rows_read),
            ("groups read", scan.groups_read),
            ("groups skipped", scan.groups_skipped),
            ("pages read", scan.pages_read),
            ("pages skipped", scan.pages_skipped),
        ];
        counts.into_iter().for_each(|(name, value)| self.metrics.set(name, value));
    }

    /// Takes another split; false when there is none left.
    fn start(&mut self) -> Result<bool> {
        let Some(split) = self.queue.next() else { return Ok(false) };
        let label = split.label.clone();
        self.source.start(split).map_err(|it| it.at("split", label))?;
        self.reading = true;
        Ok(true)
    }
}

impl Drop for TableScan {
    fn drop(&mut self) {
        self.record();
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
        if !self.reading && !self.start()? {
            return Ok(Step::Finished);
        }
        Ok(match self.source.step(cx.waker)? {
            SourceStep::Batch(batch) => Step::Output(batch),
            SourceStep::Blocked => Step::Blocked(BlockedOn::Io),
            SourceStep::Progress => Step::Yield,
            SourceStep::NeedSplit => {
                self.reading = false;
                self.metrics.add(SPLITS_DONE, 1);
                self.record();
                Step::Yield
            }
        })
    }
}
