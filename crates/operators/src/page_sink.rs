//! Page sinks: the end of a task whose rows go to other tasks.
//!
//! ```text
//! batches ── split by lane (exchange::PageSink) ── encode ──> OutputBuffer ──> readers
//!            one per driver and output                        one per task
//! ```
//!
//! All outputs of a task share one buffer, lanes one after the other: a lane with a waiting reader
//! never waits for lanes of other outputs.

mod sink;

use sink::{DriverSink, SinkOutput};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::{Error, Result};
use volley_exchange::{
    Failure, LaneSize, Offer, OutputBuffer, OutputBufferConfig, PageCodec, PageEncoder, PageSink,
    PageSizes, PageSupply, Partitioning, Producer, ProducerId, RangeBounds, Transport,
};
use volley_exec::{Operator, OperatorContext, SinkOperator, TaskOutput};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{RangeRouting, Routing};
use volley_types::Type;
use volley_vector::{Batch, Vector};
use volley_wire::PageFormat;

/// How rows cross from task to task.
#[derive(Clone)]
pub enum PageEncoding {
    /// As batches, within a process.
    Batches,
    /// As bytes of a format.
    Bytes(Arc<dyn PageFormat>),
}

/// One output of a task: all its rows, on their way to the tasks of another fragment.
#[derive(Clone, Debug)]
pub struct PageOutputEdge {
    /// Which of the reading tasks gets which rows.
    pub routing: Routing,
    /// The number of tasks that read.
    pub readers: usize,
}

/// What the output of a task is made of.
#[derive(Clone)]
pub struct PageOutputConfig {
    /// Where pages are offered.
    pub transport: Arc<dyn Transport>,
    /// Under which identity.
    pub producer: ProducerId,
    /// The outputs; their lanes follow each other.
    pub edges: Vec<PageOutputEdge>,
    /// How rows cross.
    pub encoding: PageEncoding,
    /// Decoded bytes of a full page.
    pub page_bytes: usize,
    /// Decoded bytes that the buffer holds before the task waits for readers.
    pub budget_bytes: usize,
    /// Where pages overflow to.
    pub spill: SpillSpace,
}

/// The output of a task: the pages for all tasks that read it.
pub struct PageOutput {
    config: PageOutputConfig,
    state: Mutex<Option<Opened>>,
}

struct Opened {
    buffer: Arc<OutputBuffer>,
    types: Arc<[Type]>,
    /// Of the drivers that have no sink yet.
    producers: Vec<Producer>,
    drivers: usize,
    /// Readers need it until the last page is read.
    _offer: Box<dyn Offer>,
}

impl PageOutputEdge {
    /// How many lanes it has: one if each task sends all its rows to one task.
    pub fn lanes(&self) -> usize {
        match self.routing {
            Routing::Gather | Routing::Merge(_) | Routing::Forward | Routing::Replicate => 1,
            Routing::Any | Routing::Hash(_) | Routing::Range(_) | Routing::Broadcast => {
                self.readers.max(1)
            }
        }
    }
}

impl PageOutput {
    /// An output that is not open yet.
    pub fn new(config: PageOutputConfig) -> PageOutput {
        PageOutput { config, state: Mutex::default() }
    }

    /// What each lane had so far, by output; empty before the task starts.
    pub fn statistics(&self) -> Vec<Vec<LaneSize>> {
        let Some(buffer) = self.lock().as_ref().map(|it| Arc::clone(&it.buffer)) else {
            return Vec::new();
        };
        let mut lanes = buffer.statistics().into_iter();
        self.config.edges.iter().map(|it| lanes.by_ref().take(it.lanes()).collect()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sinks of one driver, one per output.
    fn outputs(&self, opened: &Opened, pool: &Pool) -> Result<Vec<SinkOutput>> {
        let share =
            self.config.budget_bytes / (2 * opened.drivers * self.config.edges.len()).max(1);
        let sizes = PageSizes { page_bytes: self.config.page_bytes, sink_bytes: share.max(1) };
        let mut first_lane = 0;
        let mut outputs = Vec::with_capacity(self.config.edges.len());
        for edge in &self.config.edges {
            let (lanes, types) = (edge.lanes(), opened.types.to_vec());
            // Rows for all readers are split and encoded once.
            let (copies, split) = match edge.routing {
                Routing::Broadcast => (lanes, 1),
                _ => (1, lanes),
            };
            let partitioning = partitioning(&edge.routing, &types)?;
            let sink = PageSink::new(types, partitioning, split, sizes, pool);
            outputs.push(SinkOutput { sink, first_lane, copies, encoder: self.encoder(opened)? });
            first_lane += lanes;
        }
        Ok(outputs)
    }

    fn encoder(&self, opened: &Opened) -> Result<PageEncoder> {
        match &self.config.encoding {
            PageEncoding::Batches => Ok(PageEncoder::batches()),
            PageEncoding::Bytes(format) => {
                let (format, types) = (Arc::clone(format), Arc::clone(&opened.types));
                PageEncoder::bytes(&PageCodec { format, types })
            }
        }
    }
}

/// How a page sink splits rows of these types.
fn partitioning(routing: &Routing, types: &[Type]) -> Result<Partitioning> {
    Ok(match routing {
        Routing::Gather | Routing::Merge(_) | Routing::Forward | Routing::Broadcast => {
            Partitioning::Gather
        }
        Routing::Any => Partitioning::Any,
        Routing::Hash(keys) => Partitioning::Hash(keys.clone()),
        Routing::Range(range) => Partitioning::Range(Arc::new(range_bounds(range, types)?)),
        Routing::Replicate => return Err(Error::internal("rows that every task makes itself")),
    })
}

/// The bounds of ranges of rows of these types.
pub(crate) fn range_bounds(range: &RangeRouting, types: &[Type]) -> Result<RangeBounds> {
    let column = |(index, key): (usize, &volley_plan::SortKey)| {
        let data_type = types.get(key.column).cloned();
        let data_type = data_type.ok_or_else(|| Error::invalid_query("a key without a column"))?;
        let values = range.bounds.iter().map(|it| it.get(index).cloned());
        let values: Option<Vec<_>> = values.collect();
        let values = values.ok_or_else(|| Error::invalid_query("a bound without a value"))?;
        Ok(Vector::from_values(data_type, &values))
    };
    let columns = range.keys.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
    RangeBounds::new(range.keys.clone(), Batch::new(columns, range.bounds.len()))
}

impl TaskOutput for PageOutput {
    fn name(&self) -> &'static str {
        "page sink"
    }

    fn open(&self, types: &[Type], drivers: usize, pool: &Pool) -> Result<()> {
        let types: Arc<[Type]> = types.into();
        let config = OutputBufferConfig {
            lanes: self.config.edges.iter().map(PageOutputEdge::lanes).sum(),
            types: Arc::clone(&types),
            budget_bytes: self.config.budget_bytes,
            pool: pool.clone(),
            spill: Some(self.config.spill.clone()),
        };
        let (buffer, producers) = OutputBuffer::new(config, drivers);
        let supply = Arc::clone(&buffer) as Arc<dyn PageSupply>;
        let offer = self.config.transport.offer(self.config.producer, supply)?;
        *self.lock() = Some(Opened { buffer, types, producers, drivers, _offer: offer });
        Ok(())
    }

    fn sink(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let mut state = self.lock();
        let opened = state.as_mut().ok_or_else(|| Error::internal("an output that is not open"))?;
        let outputs = self.outputs(opened, &cx.pool)?;
        let producer = opened.producers.pop();
        let producer = producer.ok_or_else(|| Error::internal("more sinks than drivers"))?;
        let sink = DriverSink::new(outputs, producer, Arc::clone(&cx.metrics));
        Ok(Box::new(SinkOperator::new(sink)))
    }

    fn close(&self, outcome: Result<()>) {
        let Err(error) = outcome else { return };
        let buffer = self.lock().as_ref().map(|it| Arc::clone(&it.buffer));
        if let Some(buffer) = buffer {
            let task = self.config.producer.task;
            buffer.fail(Failure::new(error).through(task));
        }
    }
}
