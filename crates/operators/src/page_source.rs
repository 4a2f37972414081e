//! Page sources: the rows that the tasks of another fragment send.
//!
//! ```text
//! any order   streams of all senders ── ExchangeReader ── queue shared by drivers ──> batches
//! merge       stream per sender ── ExchangeReader each ── RunMerge, one driver ──> batches
//! ```

mod lower;
mod merge;
mod queue;

pub(crate) use lower::lower;

use merge::PageMerge;
use queue::{PageQueue, PageReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::{Error, Result};
use volley_exchange::{ExchangeReader, PageCodec, StreamId, Transport};
use volley_exec::{Operator, OperatorContext, TaskSource};
use volley_memory::Pool;
use volley_plan::PageSourceNode;
use volley_types::{SortKey, Type};
use volley_wire::PageFormat;

/// What a page source of a task is made of.
#[derive(Clone)]
pub struct PageInputConfig {
    /// What opens streams.
    pub transport: Arc<dyn Transport>,
    /// The lanes for this task, of all tasks that send.
    pub streams: Vec<StreamId>,
    /// The format of pages that are bytes.
    pub format: Arc<dyn PageFormat>,
    /// Decoded bytes that are queued or asked for.
    pub budget_bytes: usize,
}

/// The rows that other tasks send to a page source of a task.
pub struct PageInput {
    config: PageInputConfig,
    state: Mutex<Option<Opened>>,
}

enum Opened {
    /// Rows in any order.
    Queue(Arc<PageQueue>),
    /// One reader per sender, until the driver takes them.
    Merge { readers: Vec<ExchangeReader>, types: Vec<Type>, keys: Vec<SortKey> },
}

impl PageInput {
    /// An input that is not open yet.
    pub fn new(config: PageInputConfig) -> PageInput {
        PageInput { config, state: Mutex::default() }
    }

    fn reader(
        &self,
        streams: &[StreamId],
        types: &[Type],
        budget_bytes: usize,
        pool: &Pool,
    ) -> Result<ExchangeReader> {
        let codec = PageCodec { format: Arc::clone(&self.config.format), types: types.into() };
        let streams = streams.iter().map(|it| self.config.transport.open(*it));
        let streams = streams.collect::<Result<Vec<_>>>()?;
        Ok(ExchangeReader::new(streams, codec, budget_bytes, pool))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskSource for PageInput {
    fn name(&self) -> &'static str {
        "page source"
    }

    fn open(&self, node: &PageSourceNode, drivers: usize, pool: &Pool) -> Result<usize> {
        let types: Vec<Type> = node.schema.types().cloned().collect();
        let PageInputConfig { streams, budget_bytes, .. } = &self.config;
        let (opened, drivers) = match node.merge.is_empty() {
            true => {
                let reader = self.reader(streams, &types, *budget_bytes, pool)?;
                (Opened::Queue(PageQueue::new(reader)), drivers.max(1))
            }
            false => {
                let share = (budget_bytes / streams.len().max(1)).max(1);
                let reader = |stream: &StreamId| self.reader(&[*stream], &types, share, pool);
                let readers = streams.iter().map(reader).collect::<Result<_>>()?;
                let keys = node.merge.clone();
                (Opened::Merge { readers, types, keys }, 1)
            }
        };
        *self.lock() = Some(opened);
        Ok(drivers)
    }

    fn source(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let mut state = self.lock();
        let rows_max = cx.task.batch_rows.max(1);
        match state.as_mut() {
            Some(Opened::Queue(queue)) => Ok(Box::new(PageReader::new(queue, rows_max))),
            Some(Opened::Merge { readers, types, keys }) => {
                Ok(Box::new(PageMerge::new(std::mem::take(readers), types, keys, rows_max)))
            }
            None => Err(Error::internal("a page source that is not open")),
        }
    }
}
