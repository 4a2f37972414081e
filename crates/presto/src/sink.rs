//! The end of the last pipeline of a task: batches become pages in the output buffers.
//!
//! ```text
//! batch ── RowPartitioner ──> partition per row ── PageSink ──> batches by partition ──> pages
//! ```
//!
//! Small batches are collected until there is a page. Where all rows go to one partition, large
//! batches are written as they are.

use crate::{
    buffer::{OutputBuffers, OutputPage, Pushed},
    partition::{OutputPartitioning, RowPartitioner},
    session_time::SessionTime,
    table_write::{WriteColumns, WrittenTable},
};
use std::{collections::VecDeque, sync::Arc};
use volley_error::Result;
use volley_exchange::{LaneBatch, PageSink, PageSizes, Partitioning};
use volley_exec::{BlockedOn, Operator, OperatorContext, Step, StepContext, TaskOutput};
use volley_memory::Pool;
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::{
    flat_bytes,
    presto_page::{PrestoPageOptions, write_page},
};

/// A batch of at least this number of rows is a page of its own, where rows are not partitioned.
const PAGE_ROWS_MIN: usize = 2048;

/// The most rows of such a page.
const PAGE_ROWS_MAX: usize = 8192;

/// Decoded bytes of a full page, and of all rows that a driver collects.
const SIZES: PageSizes = PageSizes { page_bytes: 1 << 20, sink_bytes: 16 << 20 };

/// Called with the outcome when a task has ended.
pub(crate) type OnEnd = Box<dyn Fn(Result<()>) + Send + Sync>;

/// The output of a task.
pub(crate) struct PageOutput {
    pub buffers: Arc<OutputBuffers>,
    pub format: PrestoPageOptions,
    /// The types of the columns.
    pub types: Vec<Type>,
    pub partitioning: OutputPartitioning,
    /// The number of partitions; 1 where all buffers get all rows, or any.
    pub partitions: usize,
    /// What was written, if the rows are counts of written rows.
    pub written: Option<WrittenRows>,
    /// How rows for the coordinator are converted.
    pub time: SessionTime,
    pub on_end: OnEnd,
}

/// The table that a task writes, and where its output has the columns of the TableWriter node.
#[derive(Clone)]
pub(crate) struct WrittenRows {
    pub table: Arc<WrittenTable>,
    pub columns: WriteColumns,
}

impl TaskOutput for PageOutput {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn open(&self, _types: &[Type], _drivers: usize, _pool: &Pool) -> Result<()> {
        Ok(())
    }

    fn sink(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let partitioner = self.partitioning.partitioner(self.partitions)?;
        let lanes = partitioner.partitions();
        let rows = PageSink::new(self.types.clone(), Partitioning::Given, lanes, SIZES, &cx.pool);
        Ok(Box::new(PageWriter {
            buffers: Arc::clone(&self.buffers),
            format: self.format,
            partitioner,
            rows,
            written: self.written.clone(),
            time: self.time.clone(),
            batch: None,
            ready: VecDeque::new(),
            page: None,
            state: SinkState::Open,
        }))
    }

    fn close(&self, outcome: Result<()>) {
        (self.on_end)(outcome);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SinkState {
    Open,
    InputDone,
    Unwanted,
}

/// Writes pages of one driver.
struct PageWriter {
    buffers: Arc<OutputBuffers>,
    format: PrestoPageOptions,
    partitioner: RowPartitioner,
    /// Rows that are collected.
    rows: PageSink,
    written: Option<WrittenRows>,
    time: SessionTime,
    batch: Option<Batch>,
    /// Rows of pages that are not written yet.
    ready: VecDeque<LaneBatch>,
    /// A page that waits for room.
    page: Option<OutputPage>,
    state: SinkState,
}

impl Operator for PageWriter {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if self.state == SinkState::Open {
            self.batch = Some(match &self.written {
                Some(written) => written.table.report(&input.loaded()?, written.columns)?,
                None => input,
            });
        }
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        if self.state == SinkState::Open {
            self.state = SinkState::InputDone;
        }
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.page.is_none() {
            self.page = self.next_page()?;
        }
        let Some(page) = self.page.take() else {
            return Ok(match self.state {
                SinkState::Open => Step::NeedInput,
                SinkState::InputDone | SinkState::Unwanted => Step::Finished,
            });
        };
        Ok(match self.buffers.push(page, cx.waker)? {
            Pushed::Accepted => Step::Yield,
            Pushed::Full(page) => {
                self.page = Some(page);
                Step::Blocked(BlockedOn::Reader)
            }
            Pushed::Unwanted => {
                self.state = SinkState::Unwanted;
                self.batch = None;
                self.ready.clear();
                Step::Finished
            }
        })
    }
}

impl PageWriter {
    /// The next page, if enough rows are collected or no more will come.
    fn next_page(&mut self) -> Result<Option<OutputPage>> {
        if self.ready.is_empty() {
            if let Some(batch) = self.batch.take() {
                self.collect(self.time.batch_to_presto(batch.loaded()?)?)?;
            }
            let is_done = self.state == SinkState::InputDone;
            if self.ready.is_empty() && (is_done || self.rows.is_full()) {
                self.ready = self.rows.flush()?.into();
            }
        }
        let Some(LaneBatch { lane, batch, .. }) = self.ready.pop_front() else { return Ok(None) };
        let mut bytes = Vec::new();
        write_page(&batch, &self.format, &mut bytes)?;
        let rows = batch.rows() as u64;
        Ok(Some(OutputPage { partition: lane, rows, bytes: bytes.into() }))
    }

    fn collect(&mut self, batch: Batch) -> Result<()> {
        // Rows in `rows` come first: the order of rows is kept.
        if self.partitioner.partitions() == 1 && batch.rows() >= PAGE_ROWS_MIN {
            self.ready = self.rows.flush()?.into();
            let row_bytes = (flat_bytes(&batch)? / batch.rows()).max(1);
            let page_rows = (SIZES.page_bytes / row_bytes).clamp(1, PAGE_ROWS_MAX);
            for first in (0..batch.rows()).step_by(page_rows) {
                let rows = page_rows.min(batch.rows() - first);
                let batch = batch.slice(first, rows);
                self.ready.push_back(LaneBatch { lane: 0, batch, bytes: 0 });
            }
            return Ok(());
        }
        let partitioned = self.partitioner.partition(batch)?;
        self.rows.push_to(partitioned.batch, &partitioned.partitions)
    }
}
