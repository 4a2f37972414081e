//! Reads a table: drivers take splits from one queue, each with a source of its own.

mod lower;

pub(crate) use lower::lower;

use crate::dynamic_filters::JoinFilter;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    task::Waker,
};
use volley_connector::{Scan, ScanMetrics, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_exec::{
    BlockedOn, Operator, OperatorContext, OperatorMetrics, SPLITS_DONE, SPLITS_TOTAL, Step,
    StepContext,
};
use volley_vector::Batch;

/// The splits of a scan that no driver has taken.
pub struct SplitQueue {
    scan: Box<dyn Scan>,
    /// What sources wait for.
    filters: Vec<Arc<JoinFilter>>,
    splits: Mutex<VecDeque<Split>>,
    total: usize,
}

/// The source of a pipeline that reads a table.
pub struct TableScan {
    queue: Arc<SplitQueue>,
    /// Made once the filters of joins are known.
    source: Option<Box<dyn Source>>,
    /// Whether the source has a split that it is not done with.
    reading: bool,
    /// What the scan skipped before it began; counted by the first driver.
    pruned: ScanMetrics,
    metrics: Arc<OperatorMetrics>,
}

impl SplitQueue {
    /// All splits of `scan`, which uses `filters`.
    pub(crate) fn new(scan: Box<dyn Scan>, filters: Vec<Arc<JoinFilter>>) -> Arc<SplitQueue> {
        let splits: VecDeque<Split> = scan.splits().into();
        let total = splits.len();
        Arc::new(SplitQueue { scan, filters, splits: Mutex::new(splits), total })
    }

    /// How many splits there were at the start.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The next split, and the one after it.
    fn next(&self) -> Option<(Split, Option<Split>)> {
        let mut splits = self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        Some((splits.pop_front()?, splits.front().cloned()))
    }
}

impl TableScan {
    /// A driver's reader of the queue's splits.
    pub fn new(queue: &Arc<SplitQueue>, cx: &OperatorContext) -> TableScan {
        let metrics = Arc::clone(&cx.metrics);
        let mut pruned = ScanMetrics::default();
        if cx.driver == 0 {
            pruned = queue.scan.pruned();
            metrics.add(SPLITS_TOTAL, queue.total as u64);
        }
        TableScan { queue: Arc::clone(queue), source: None, reading: false, pruned, metrics }
    }

    /// Shows what was read so far.
    fn record(&self) {
        let mut scan = self.source.as_ref().map(|it| it.metrics()).unwrap_or_default();
        scan += self.pruned;
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

    /// Makes the source, unless it has to wait for a filter.
    fn open(&mut self, waker: &Waker) -> Result<bool> {
        let is_known = |it: &Arc<JoinFilter>| it.known.wait(waker).is_some();
        if self.source.is_none() && self.queue.filters.iter().all(is_known) {
            self.source = Some(self.queue.scan.source()?);
        }
        Ok(self.source.is_some())
    }

    /// Reads on, with another split if need be.
    fn read(&mut self, waker: &Waker) -> Result<Step> {
        let Some(source) = &mut self.source else { return Ok(Step::Finished) };
        if !self.reading {
            let Some((split, following)) = self.queue.next() else { return Ok(Step::Finished) };
            let label = split.label.clone();
            source.start(split).map_err(|it| it.at("split", label))?;
            if let Some(split) = following {
                source.prepare(&split).map_err(|it| it.at("split", split.label.clone()))?;
            }
            self.reading = true;
        }
        Ok(match source.step(waker)? {
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
        if !self.open(cx.waker)? {
            return Ok(Step::Blocked(BlockedOn::Build));
        }
        self.read(cx.waker)
    }
}
