//! One edge under a seeded schedule: producers that push, readers that pull, and what must come
//! out.

use super::Fabric;
use crate::{
    Closed, EdgeId, Failure, Lane, Offer, OutputBuffer, OutputBufferConfig, Page, PageCodec,
    PageContent, PageStream, Producer, ProducerId, Readiness, StreamId, TaskId,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Wake, Waker},
};
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::{Batch, Buffer, Vector};
use volley_wire::NativeFormat;

/// Steps without progress after which an edge hangs.
const IDLE_STEPS_MAX: usize = 2000;

/// Steps after which an edge hangs, though transports repeat requests.
const STEPS_MAX: usize = 1_000_000;

/// A waker that notes that it was woken. Drivers that were not woken do not run.
pub(super) struct Woken(AtomicBool);

impl Woken {
    pub(super) fn new() -> Arc<Woken> {
        Arc::new(Woken(AtomicBool::new(true)))
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// What a case does with an edge.
pub(super) struct Plan {
    pub(super) lanes: usize,
    /// Pages per lane.
    pub(super) pages: usize,
    /// Rows of a page.
    pub(super) rows: usize,
    /// Decoded bytes of the producer's memory.
    pub(super) budget_bytes: usize,
    /// Decoded bytes of a request at most.
    pub(super) request_bytes: usize,
    /// Readers that start after this number of steps; by lane, the last one counts for the others.
    pub(super) reader_delays: Vec<usize>,
    /// The reader of a lane closes after this number of pages.
    pub(super) closes: Vec<(usize, usize)>,
    /// The producer fails after this number of pages of all lanes.
    pub(super) fails_after: Option<usize>,
    /// The task of the producer is killed after this number of pages of all lanes.
    pub(super) killed_after: Option<usize>,
    /// Readers open their streams before the producer offers.
    pub(super) late_offer: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            lanes: 3,
            pages: 10,
            rows: 5,
            budget_bytes: 4000,
            request_bytes: 600,
            reader_delays: vec![0],
            closes: Vec::new(),
            fails_after: None,
            killed_after: None,
            late_offer: false,
        }
    }
}

/// How a lane ended.
#[derive(Debug, Default)]
pub(super) struct LaneEnd {
    /// The rows that came.
    pub(super) rows: Vec<i64>,
    /// Whether the end came.
    pub(super) is_whole: bool,
    pub(super) failure: Option<Failure>,
}

/// What happened.
pub(super) struct Outcome {
    pub(super) lanes: Vec<LaneEnd>,
    /// Decoded bytes that the buffer held at most.
    pub(super) peak_bytes: usize,
    /// Decoded bytes that were written to disk.
    pub(super) overflow_bytes: u64,
    /// What the producer's pool holds at the end.
    pub(super) left_bytes: usize,
    /// The lanes that the producer still makes pages for.
    pub(super) needed: Vec<usize>,
}

struct Reader {
    stream: Box<dyn PageStream>,
    woken: Arc<Woken>,
    delay: usize,
    pages: usize,
    has_request: bool,
    is_done: bool,
    close_after: Option<usize>,
    end: LaneEnd,
}

/// The pages that were not pushed: lane and number.
struct Writer {
    producer: Option<Producer>,
    woken: Arc<Woken>,
    left: Vec<(usize, usize)>,
    pushed: usize,
}

pub(super) fn codec() -> PageCodec {
    PageCodec { format: Arc::new(NativeFormat::Plain), types: [Type::BigInt].into() }
}

/// The rows of page `number` of `lane`.
pub(super) fn rows_of(lane: usize, number: usize, rows: usize) -> Vec<i64> {
    (0..rows).map(|it| ((lane * 1_000_000 + number) * 1000 + it) as i64).collect()
}

fn page(lane: usize, number: usize, rows: usize) -> Result<Page, String> {
    let values = rows_of(lane, number, rows);
    let batch = Batch::new(vec![Vector::native(Type::BigInt, values, None)], rows);
    let (codec, mut bytes) = (codec(), Vec::new());
    let writer = codec.format.writer(&codec.types);
    let written = writer.and_then(|mut it| it.write(&batch, &mut bytes));
    written.map_err(|it| it.to_string())?;
    Ok(Page { content: PageContent::Bytes(Buffer::from_vec(bytes)), rows, bytes: rows * 8 })
}

/// Runs an edge from task 0, whose lanes are read by tasks 1 and 2 in turn.
pub(super) fn run(fabric: &mut dyn Fabric, seed: u64, plan: &Plan) -> Result<Outcome, String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let pool = Pool::root("edge", None);
    let folder = std::env::temp_dir();
    let config = OutputBufferConfig {
        lanes: plan.lanes,
        types: codec().types,
        budget_bytes: plan.budget_bytes,
        pool: pool.clone(),
        spill: Some(SpillSpace::new(folder, None)),
    };
    let (buffer, mut producers) = OutputBuffer::new(config, 1);
    let id = ProducerId { task: TaskId(0), edge: EdgeId(seed as u32) };
    let offer = |fabric: &dyn Fabric| {
        let offered = fabric.transport(id.task).offer(id, buffer.clone());
        offered.map_err(|it| it.to_string())
    };
    let mut offered: Option<Box<dyn Offer>> = None;
    if !plan.late_offer {
        offered = Some(offer(fabric)?);
    }
    let mut readers = readers(fabric, id, plan)?;
    if offered.is_none() {
        fabric.advance();
        offered = Some(offer(fabric)?);
    }
    let mut writer = Writer {
        producer: producers.pop(),
        woken: Woken::new(),
        left: order(&mut random, plan),
        pushed: 0,
    };
    let (mut idle, mut step, mut killed) = (0, 0, false);
    while readers.iter().any(|it| !it.is_done) {
        step += 1;
        let mut progress = false;
        // The schedule: any participant may act.
        match random.usize(..plan.lanes + 2) {
            0 => progress |= write(&mut writer, &buffer, plan)?,
            1 => progress |= fabric.advance(),
            lane => {
                let reader = &mut readers[lane - 2];
                progress |= reader.delay <= step && read(reader, plan)?;
            }
        }
        if plan.killed_after.is_some_and(|it| writer.pushed >= it) && !killed {
            killed = true;
            progress = true;
            fabric.kill(id.task);
        }
        // A late reader is progress that is still to come.
        let waits = readers.iter().any(|it| !it.is_done && it.delay > step);
        idle = if progress || waits { 0 } else { idle + 1 };
        if idle > IDLE_STEPS_MAX * (plan.lanes + 2) || step > STEPS_MAX {
            return Err(format!("nothing happens after {step} steps: the edge hangs"));
        }
    }
    let overflow_bytes = buffer.statistics().iter().map(|it| it.overflow_bytes).sum();
    let lanes = readers.into_iter().map(|it| it.end).collect();
    // Closing reaches the producer while it is offered.
    while fabric.advance() {}
    let needed = (0..plan.lanes).filter(|it| buffer.is_needed(*it)).collect();
    drop((writer, offered));
    let stats = pool.stats();
    drop(buffer);
    let left_bytes = pool.stats().bytes;
    Ok(Outcome { lanes, peak_bytes: stats.peak_bytes, overflow_bytes, left_bytes, needed })
}

/// The pages of each lane in order, lanes mixed at random.
fn order(random: &mut fastrand::Rng, plan: &Plan) -> Vec<(usize, usize)> {
    let mut lanes: Vec<usize> =
        (0..plan.lanes).flat_map(|lane| std::iter::repeat_n(lane, plan.pages)).collect();
    random.shuffle(&mut lanes);
    let mut next = vec![0; plan.lanes];
    let number = |lane: usize| {
        next[lane] += 1;
        (lane, next[lane] - 1)
    };
    let mut order: Vec<(usize, usize)> = lanes.into_iter().map(number).collect();
    order.reverse();
    order
}

fn readers(fabric: &dyn Fabric, id: ProducerId, plan: &Plan) -> Result<Vec<Reader>, String> {
    let mut readers = Vec::new();
    for lane in 0..plan.lanes {
        let task = TaskId(1 + lane as u32 % 2);
        let stream = StreamId { producer: id, lane: Lane(lane as u32) };
        let stream = fabric.transport(task).open(stream).map_err(|it| it.to_string())?;
        let delay = plan.reader_delays.get(lane).or(plan.reader_delays.last());
        readers.push(Reader {
            stream,
            woken: Woken::new(),
            delay: delay.copied().unwrap_or(0),
            pages: 0,
            has_request: false,
            is_done: false,
            close_after: plan.closes.iter().find(|it| it.0 == lane).map(|it| it.1),
            end: LaneEnd::default(),
        });
    }
    Ok(readers)
}

/// Pushes a page, if there is room. Whether something happened.
fn write(writer: &mut Writer, buffer: &OutputBuffer, plan: &Plan) -> Result<bool, String> {
    if writer.producer.is_none() || !writer.woken.take() {
        return Ok(false);
    }
    let waker = Waker::from(Arc::clone(&writer.woken));
    match buffer.poll_ready(&waker) {
        Poll::Pending => return Ok(false),
        Poll::Ready(Ok(Readiness::Room)) => {}
        // Rows that no lane needs; or a failure, which readers get.
        Poll::Ready(Ok(Readiness::NotNeeded)) => writer.left.clear(),
        Poll::Ready(Err(_)) => {
            writer.producer = None;
            return Ok(true);
        }
    }
    writer.woken.0.store(true, Ordering::Release);
    if plan.fails_after == Some(writer.pushed) {
        buffer.fail(Failure::new(cause()));
    }
    match (writer.left.pop(), &writer.producer) {
        (Some((lane, number)), Some(producer)) => {
            writer.pushed += 1;
            let pushed = producer.push(lane, page(lane, number, plan.rows)?);
            if pushed.is_err() && plan.fails_after.is_none() {
                return Err("a push failed without a cause".to_owned());
            }
        }
        _ => writer.producer.take().into_iter().for_each(Producer::finish),
    }
    Ok(true)
}

/// The cause of failing producers.
pub(super) fn cause() -> volley_error::Error {
    volley_error::Error::invalid_value("division by zero").hint("use try()")
}

/// Requests and polls. Whether something happened.
fn read(reader: &mut Reader, plan: &Plan) -> Result<bool, String> {
    if reader.is_done || !reader.woken.take() {
        return Ok(false);
    }
    if reader.close_after.is_some_and(|it| reader.pages >= it) {
        reader.stream.close(Closed::NotNeeded);
        reader.is_done = true;
        return Ok(true);
    }
    if !std::mem::replace(&mut reader.has_request, true) {
        reader.stream.request(plan.request_bytes);
    }
    let waker = Waker::from(Arc::clone(&reader.woken));
    let supply = match reader.stream.poll(&waker) {
        Poll::Pending => return Ok(false),
        Poll::Ready(Ok(supply)) => supply,
        Poll::Ready(Err(failure)) => {
            reader.end.failure = Some(failure);
            reader.stream.close(Closed::Failed);
            reader.is_done = true;
            return Ok(true);
        }
    };
    reader.has_request = false;
    reader.woken.0.store(true, Ordering::Release);
    let bytes: usize = supply.pages.iter().map(|it| it.bytes).sum();
    if bytes > plan.request_bytes && supply.pages.len() > 1 {
        return Err(format!("{bytes} bytes where {} were asked for", plan.request_bytes));
    }
    if supply.pages.is_empty() && !supply.is_end {
        return Err("a reply without pages that is not the end".to_owned());
    }
    for page in &supply.pages {
        let batch = page.decode(&codec()).map_err(|it| format!("a page was changed: {it}"))?;
        let column = batch.column(0).flat_values().and_then(|it| it.native::<i64>());
        reader.end.rows.extend_from_slice(column.unwrap_or(&[]));
        reader.pages += 1;
    }
    if supply.is_end {
        reader.end.is_whole = true;
        reader.stream.close(Closed::Done);
        reader.is_done = true;
    }
    Ok(true)
}
