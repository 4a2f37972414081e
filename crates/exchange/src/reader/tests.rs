//! Edges from page sinks to readers within a process.

use super::*;
use crate::{
    EdgeId, InProcessHub, Lane, OutputBuffer, OutputBufferConfig, PageEncoder, PageSink, PageSizes,
    Partitioning, Producer, ProducerId, Readiness, StreamId, TaskId, Transport,
};
use std::sync::Arc;
use volley_error::Error;
use volley_memory::spill::SpillSpace;
use volley_types::Type;
use volley_vector::random::Generator;
use volley_wire::NativeFormat;

const PRODUCERS: u32 = 3;
const LANES: usize = 4;

fn types() -> Vec<Type> {
    vec![Type::BigInt, Type::Varchar, Type::array(Type::Integer)]
}

fn codec() -> PageCodec {
    PageCodec { format: Arc::new(NativeFormat::Packed), types: types().into() }
}

fn output(pool: &Pool) -> (Arc<OutputBuffer>, Producer) {
    let config = OutputBufferConfig {
        lanes: LANES,
        types: types().into(),
        budget_bytes: 20_000,
        pool: pool.clone(),
        spill: Some(SpillSpace::new(std::env::temp_dir(), None)),
    };
    let (buffer, mut producers) = OutputBuffer::new(config, 1);
    (buffer, producers.pop().unwrap())
}

fn id(task: u32) -> ProducerId {
    ProducerId { task: TaskId(task), edge: EdgeId(1) }
}

fn reader(hub: &InProcessHub, lane: usize, pool: &Pool) -> ExchangeReader {
    let transport = hub.transport(TaskId(100));
    let stream = |task| StreamId { producer: id(task), lane: Lane(lane as u32) };
    let streams = (0..PRODUCERS).map(|it| transport.open(stream(it)).unwrap()).collect();
    ExchangeReader::new(streams, codec(), 10_000, pool)
}

/// The rows as text, sorted.
fn rows_of(batches: &[Batch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        let row = |row: usize| columns.iter().map(|it| it[row].clone()).collect::<Vec<_>>();
        rows.extend((0..batch.rows()).map(|it| format!("{:?}", row(it))));
    }
    rows.sort();
    rows
}

/// One producer: pushes the pages of its batches, as far as there is room.
struct Writer {
    pages: Vec<(usize, Page)>,
    producer: Option<Producer>,
}

impl Writer {
    fn new(batches: &[Batch], mut encoder: PageEncoder, producer: Producer, pool: &Pool) -> Writer {
        let sizes = PageSizes { page_bytes: 2000, sink_bytes: 20_000 };
        let mut sink = PageSink::new(types(), Partitioning::Hash(vec![0]), LANES, sizes, pool);
        let mut pages = Vec::new();
        for batch in batches {
            sink.push(batch.clone()).unwrap();
            if sink.is_full() {
                pages.extend(sink.flush().unwrap());
            }
        }
        pages.extend(sink.flush().unwrap());
        let encoded = pages.iter().map(|it| (it.lane, encoder.encode(it).unwrap()));
        let mut pages: Vec<_> = encoded.collect();
        pages.reverse();
        Writer { pages, producer: Some(producer) }
    }

    fn step(&mut self) {
        let Some(producer) = &self.producer else { return };
        let ready = producer.buffer().poll_ready(Waker::noop());
        let Poll::Ready(Ok(Readiness::Room)) = ready else { return };
        match self.pages.pop() {
            Some((lane, page)) => producer.push(lane, page).unwrap(),
            None => self.producer.take().unwrap().finish(),
        }
    }
}

#[test]
fn rows_of_many_producers_reach_the_lanes_of_their_keys() {
    for bytes in [false, true] {
        let (hub, pool) = (InProcessHub::default(), Pool::root("test", None));
        let (mut writers, mut offers, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for task in 0..PRODUCERS {
            let mut random = Generator::new(u64::from(task));
            let batches: Vec<Batch> = (0..8).map(|_| random.batch(&types(), 200)).collect();
            let (buffer, producer) = output(&pool);
            offers.push(hub.transport(TaskId(task)).offer(id(task), buffer).unwrap());
            let encoder = match bytes {
                true => PageEncoder::bytes(&codec()).unwrap(),
                false => PageEncoder::batches(),
            };
            writers.push(Writer::new(&batches, encoder, producer, &pool));
            all.extend(batches);
        }
        let mut readers: Vec<_> = (0..LANES).map(|it| reader(&hub, it, &pool)).collect();
        let mut found = vec![Vec::new(); LANES];
        let mut done = [false; LANES];
        while done.contains(&false) {
            writers.iter_mut().for_each(Writer::step);
            for (lane, reader) in readers.iter_mut().enumerate() {
                match reader.poll(Waker::noop()) {
                    Poll::Ready(Ok(Some((_, batch)))) => found[lane].push(batch),
                    Poll::Ready(Ok(None)) => done[lane] = true,
                    Poll::Ready(Err(failure)) => panic!("{failure}"),
                    Poll::Pending => {}
                }
            }
        }
        let statistics: Vec<_> = readers.iter().map(ExchangeReader::statistics).collect();
        assert_eq!(statistics.iter().map(|it| it.rows).sum::<u64>(), 3 * 8 * 200);
        // The budget, and one page that is larger than its share.
        assert!(
            statistics.iter().all(|it| it.queued_bytes_peak <= 10_000 + 4000),
            "{statistics:?}"
        );
        let found: Vec<Batch> = found.into_iter().flatten().collect();
        assert_eq!(rows_of(&found), rows_of(&all));
        drop((readers, writers, offers, found));
        assert_eq!((pool.stats().bytes, hub.open()), (0, (0, 0)));
    }
}

#[test]
fn the_cause_is_told_though_another_producer_was_lost_first() {
    let (hub, pool) = (InProcessHub::default(), Pool::root("test", None));
    let (buffers, _producers): (Vec<_>, Vec<_>) = (0..PRODUCERS).map(|_| output(&pool)).unzip();
    let offer = |task: u32| {
        let buffer = Arc::clone(&buffers[task as usize]);
        hub.transport(TaskId(task)).offer(id(task), buffer).unwrap()
    };
    let _offers: Vec<_> = (0..PRODUCERS).map(offer).collect();
    let mut reader = reader(&hub, 0, &pool);
    assert!(reader.poll(Waker::noop()).is_pending());
    hub.lose(TaskId(0));
    buffers[2].fail(Failure::new(Error::invalid_value("the cause")));
    for _ in 0..2 {
        let Poll::Ready(Err(failure)) = reader.poll(Waker::noop()) else { panic!() };
        assert_eq!(failure.error.message(), "the cause");
    }
    assert!(!buffers[1].is_needed(0), "other producers need not continue");
}

#[test]
fn closed_readers_end_their_lanes_only() {
    let (hub, pool) = (InProcessHub::default(), Pool::root("test", None));
    let (buffer, _producer) = output(&pool);
    let _offer = hub.transport(TaskId(0)).offer(id(0), buffer.clone()).unwrap();
    let mut reader = reader(&hub, 1, &pool);
    reader.close();
    assert_eq!(
        (0..LANES).map(|it| buffer.is_needed(it)).collect::<Vec<_>>(),
        [true, false, true, true]
    );
    assert!(matches!(reader.poll(Waker::noop()), Poll::Ready(Ok(None))));
}
