//! The end of the last pipeline of a task: batches become pages in the output buffers.

use crate::buffer::{OutputBuffers, Pushed};
use bytes::Bytes;
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{BlockedOn, Operator, OperatorContext, Step, StepContext, TaskOutput};
use volley_memory::Pool;
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::presto_page::{PrestoPageOptions, write_page};

/// The most rows of a page.
const PAGE_ROWS: usize = 8192;

/// Called with the outcome when a task has ended.
pub(crate) type OnEnd = Box<dyn Fn(Result<()>) + Send + Sync>;

/// The output of a task.
pub(crate) struct PageOutput {
    pub buffers: Arc<OutputBuffers>,
    pub format: PrestoPageOptions,
    pub on_end: OnEnd,
}

impl TaskOutput for PageOutput {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn open(&self, _types: &[Type], _drivers: usize, _pool: &Pool) -> Result<()> {
        Ok(())
    }

    fn sink(&self, _cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let (buffers, format) = (Arc::clone(&self.buffers), self.format);
        Ok(Box::new(PageSink { buffers, format, batch: None, page: None, state: SinkState::Open }))
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
struct PageSink {
    buffers: Arc<OutputBuffers>,
    format: PrestoPageOptions,
    /// Rows that are not written yet.
    batch: Option<Batch>,
    /// A page that waits for room, and its rows.
    page: Option<(Bytes, u64)>,
    state: SinkState,
}

impl Operator for PageSink {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if self.state == SinkState::Open {
            self.batch = Some(input);
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
        let Some((page, rows)) = self.page.take() else {
            return Ok(match self.state {
                SinkState::Open => Step::NeedInput,
                SinkState::InputDone | SinkState::Unwanted => Step::Finished,
            });
        };
        Ok(match self.buffers.push(page, rows, cx.waker) {
            Pushed::Accepted => Step::Yield,
            Pushed::Full(page) => {
                self.page = Some((page, rows));
                Step::Blocked(BlockedOn::Reader)
            }
            Pushed::Unwanted => {
                self.state = SinkState::Unwanted;
                self.batch = None;
                Step::Finished
            }
        })
    }
}

impl PageSink {
    /// The next rows as a page.
    fn next_page(&mut self) -> Result<Option<(Bytes, u64)>> {
        let Some(batch) = self.batch.take() else { return Ok(None) };
        let rows = batch.rows().min(PAGE_ROWS);
        let first = match rows == batch.rows() {
            true => batch,
            false => {
                self.batch = Some(batch.slice(rows, batch.rows() - rows));
                batch.slice(0, rows)
            }
        };
        let mut page = Vec::new();
        write_page(&first, &self.format, &mut page)?;
        Ok(Some((page.into(), rows as u64)))
    }
}
