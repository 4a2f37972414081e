use super::*;
use std::{
    sync::Arc,
    task::{Poll, Wake},
    thread,
    time::{Duration, Instant},
};
use volley_error::ErrorKind;
use volley_memory::spill::{Fault, SpillSpace};
use volley_testkit::rows_of;
use volley_types::{Type, Value};
use volley_vector::{Vector, random::opaque_type};

const BATCH_ROWS: usize = 1000;

/// Counts how often it was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Wakes>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn waker() -> (Arc<Wakes>, Waker) {
    let wakes = Arc::new(Wakes::default());
    (Arc::clone(&wakes), Waker::from(wakes))
}

/// A queue that spills, with its pool and its space.
struct Fixture {
    queue: Arc<BatchQueue>,
    pool: Pool,
    space: SpillSpace,
}

fn config(lanes: usize, batches: usize) -> QueueConfig {
    QueueConfig {
        lanes,
        producers: 1,
        bound: QueueBound { batches, bytes: usize::MAX },
        wake: WakeProducers::Few,
        spill: None,
    }
}

fn spilling(run_bytes: usize, reader_memory: ReaderMemory) -> Fixture {
    let (pool, space) = (Pool::root("queue", None), SpillSpace::new(std::env::temp_dir(), None));
    let spill = QueueSpill {
        space: space.clone(),
        types: vec![Type::BigInt],
        batch_rows: BATCH_ROWS,
        run_bytes,
        runs_max: 16,
        reader_memory,
    };
    let config = QueueConfig { spill: Some(spill), ..config(1, 64) };
    Fixture { queue: Arc::new(BatchQueue::new(config, &pool)), pool, space }
}

impl Fixture {
    fn reader(&self) -> QueueReader {
        QueueReader::new(&self.queue, 0).unwrap()
    }

    fn check_nothing_left(&self) {
        assert_eq!((self.pool.stats().bytes, self.space.stats().bytes), (0, 0));
    }
}

fn batch(number: i64) -> Batch {
    let first = number * BATCH_ROWS as i64;
    let values: Vec<i64> = (first..first + BATCH_ROWS as i64).collect();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], BATCH_ROWS)
}

/// Takes what there is and checks that it begins with row `first`; the row after the last.
fn read_from(reader: &QueueReader, first: i64) -> Result<i64> {
    let mut next = first;
    while let Some(batch) = reader.wait_next(None).unwrap()? {
        for row in rows_of(&batch) {
            assert_eq!(row, [Value::BigInt(next)]);
            next += 1;
        }
    }
    Ok(next)
}

fn poll(reader: &QueueReader) -> Option<i64> {
    match reader.poll_next(Waker::noop()) {
        Poll::Ready(batch) => rows_of(&batch.unwrap()?)[0][0].as_i128().map(|it| it as i64),
        Poll::Pending => None,
    }
}

#[test]
fn spilled_batches_keep_their_order() {
    for memory in [ReaderMemory::Ahead, ReaderMemory::WhenRead] {
        for run_bytes in [1, 20_000, usize::MAX] {
            let fixture = spilling(run_bytes, memory);
            let reader = fixture.reader();
            for number in 0..10 {
                fixture.queue.push(0, batch(number)).unwrap();
                if [0, 3, 4, 7].contains(&number) {
                    fixture.queue.spill().unwrap();
                }
            }
            assert!(fixture.space.stats().bytes > 0);
            assert_eq!(fixture.queue.pushed_rows(), 10_000);
            // Nothing to write but the last two batches, and then nothing.
            assert_eq!(fixture.queue.spill().unwrap().rows, 2000);
            assert_eq!(fixture.queue.spill().unwrap(), crate::spill::Spilled::default());
            fixture.queue.producer_finished();
            assert_eq!(read_from(&reader, 0).unwrap(), 10_000);
            fixture.check_nothing_left();
        }
    }
}

#[test]
fn memory_for_reading_is_reserved_ahead_if_asked() {
    for (memory, is_reserved) in [(ReaderMemory::Ahead, true), (ReaderMemory::WhenRead, false)] {
        let fixture = spilling(usize::MAX, memory);
        let _reader = fixture.reader();
        fixture.queue.push(0, batch(0)).unwrap();
        fixture.queue.spill().unwrap();
        assert_eq!(fixture.pool.stats().bytes > 0, is_reserved);
    }
}

#[test]
fn readers_and_spills_at_once_keep_the_order() {
    let fixture = spilling(usize::MAX, ReaderMemory::Ahead);
    let reader = fixture.reader();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..2000 {
                while fixture.queue.poll_ready(Waker::noop()) != Room::Free {
                    thread::yield_now();
                }
                fixture.queue.push(0, batch(number)).unwrap();
            }
            fixture.queue.close(Ok(()));
        });
        let spiller = scope.spawn(|| {
            while !fixture.queue.poll_finished(0, Waker::noop()) {
                fixture.queue.spill().unwrap();
            }
        });
        assert_eq!(read_from(&reader, 0).unwrap(), 2_000_000);
        spiller.join().unwrap();
    });
    fixture.check_nothing_left();
}

#[test]
fn every_reader_of_a_lane_gets_every_batch() {
    for run_bytes in [1, 30_000, usize::MAX] {
        let fixture = spilling(run_bytes, ReaderMemory::WhenRead);
        let (first, second) = (fixture.reader(), fixture.reader());
        (0..6).for_each(|it| _ = fixture.queue.push(0, batch(it)).unwrap());
        assert_eq!((poll(&first), poll(&first)), (Some(0), Some(1000)));
        assert_eq!(poll(&second), Some(0));
        fixture.queue.spill().unwrap();
        assert_eq!(poll(&second), Some(1000));
        // A reader that begins late, while another one keeps all batches.
        let error = QueueReader::new(&fixture.queue, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        fixture.queue.push(0, batch(6)).unwrap();
        fixture.queue.producer_finished();
        assert_eq!(read_from(&first, 2000).unwrap(), 7000);
        drop(first);
        assert_eq!(read_from(&second, 2000).unwrap(), 7000);
        fixture.check_nothing_left();
    }
}

#[test]
fn a_reader_may_begin_while_another_one_keeps_all_batches() {
    let fixture = spilling(usize::MAX, ReaderMemory::WhenRead);
    let keeper = fixture.reader();
    (0..3).for_each(|it| _ = fixture.queue.push(0, batch(it)).unwrap());
    fixture.queue.producer_finished();
    fixture.queue.spill().unwrap();
    for _ in 0..3 {
        assert_eq!(read_from(&fixture.reader(), 0).unwrap(), 3000);
    }
    drop(keeper);
    fixture.check_nothing_left();
}

#[test]
fn a_full_queue_wakes_a_few_producers_for_one_batch() {
    let pool = Pool::root("queue", None);
    let (queue, readers) = BatchQueue::with_readers(config(1, 2), &pool);
    assert_eq!(queue.push(0, batch(0)).unwrap(), Room::Free);
    assert_eq!(queue.push(0, batch(1)).unwrap(), Room::Full);
    let wakers: Vec<_> = (0..5).map(|_| waker()).collect();
    for (_, waker) in &wakers {
        assert_eq!(queue.poll_ready(waker), Room::Full);
        assert_eq!(queue.poll_ready(waker), Room::Full, "a waker waits once");
    }
    assert_eq!(poll(&readers[0]), Some(0));
    let woken: Vec<usize> = wakers.iter().map(|it| it.0.count()).collect();
    assert_eq!(woken, [1, 1, 0, 0, 0]);
    drop(readers);
    let woken: Vec<usize> = wakers.iter().map(|it| it.0.count()).collect();
    assert_eq!(woken, [1; 5]);
    assert_eq!(queue.poll_ready(&wakers[0].1), Room::Closed);
    assert_eq!(queue.push(0, batch(2)).unwrap(), Room::Closed);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn a_lane_with_a_waiting_reader_takes_batches_while_the_queue_is_full() {
    let pool = Pool::root("queue", None);
    let (queue, readers) = BatchQueue::with_readers(config(2, 1), &pool);
    queue.push(0, batch(0)).unwrap();
    let ((wakes, producer), (reader_wakes, reader)) = (waker(), waker());
    assert_eq!(queue.poll_lane_ready(1, &producer), Room::Full);
    assert!(readers[1].poll_next(&reader).is_pending());
    assert_eq!(wakes.count(), 1, "the reader waits, so there is room");
    assert_eq!(queue.poll_ready(Waker::noop()), Room::Full);
    assert_eq!(queue.poll_lane_ready(0, Waker::noop()), Room::Full);
    assert_eq!(queue.poll_lane_ready(1, &producer), Room::Free);
    queue.push(1, batch(1)).unwrap();
    assert_eq!(reader_wakes.count(), 1);
    assert_eq!(queue.poll_lane_ready(1, &producer), Room::Full);
    assert_eq!(poll(&readers[1]), Some(1000));
}

#[test]
fn a_closed_lane_drops_its_batches() {
    let pool = Pool::root("queue", None);
    let (queue, mut readers) = BatchQueue::with_readers(config(2, 64), &pool);
    (0..20).for_each(|it| _ = queue.push_all([(0, batch(it)), (1, batch(it))]).unwrap());
    let bytes = pool.stats().bytes;
    drop(readers.remove(0));
    assert!(pool.stats().bytes < bytes * 2 / 3, "{} of {bytes}", pool.stats().bytes);
    queue.push_all([(0, batch(20)), (1, batch(20))]).unwrap();
    queue.producer_finished();
    assert_eq!(read_from(&readers[0], 0).unwrap(), 21_000);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn an_error_hides_batches_and_stays() {
    let fixture = spilling(usize::MAX, ReaderMemory::Ahead);
    let reader = fixture.reader();
    (0..20).for_each(|it| _ = fixture.queue.push(0, batch(it)).unwrap());
    fixture.queue.spill().unwrap();
    let (wakes, waker) = waker();
    assert!(!fixture.queue.poll_finished(0, &waker));
    fixture.queue.close(Err(Error::cancelled()));
    assert_eq!(wakes.count(), 1);
    assert_eq!(fixture.queue.push(0, batch(20)).unwrap(), Room::Ended);
    fixture.queue.close(Ok(()));
    for _ in 0..2 {
        assert_eq!(read_from(&reader, 0).unwrap_err().kind(), ErrorKind::Cancelled);
    }
    fixture.check_nothing_left();
}

#[test]
fn batches_that_cannot_be_written_stay() {
    for operation in 0..3 {
        let fixture = spilling(usize::MAX, ReaderMemory::Ahead);
        let reader = fixture.reader();
        (0..20).for_each(|it| _ = fixture.queue.push(0, batch(it)).unwrap());
        fixture.space.inject(operation, Fault::Error(std::io::ErrorKind::StorageFull));
        fixture.queue.spill().unwrap_err();
        assert_eq!((fixture.space.stats().bytes, fixture.queue.reclaimable_bytes()), (0, 0));
        fixture.queue.push(0, batch(20)).unwrap();
        assert_eq!(fixture.queue.spill().unwrap(), crate::spill::Spilled::default());
        fixture.queue.close(Ok(()));
        assert_eq!(read_from(&reader, 0).unwrap(), 21_000);
        fixture.check_nothing_left();
    }
}

#[test]
fn a_damaged_run_is_an_error_that_stays() {
    let fixture = spilling(usize::MAX, ReaderMemory::Ahead);
    let reader = fixture.reader();
    (0..20).for_each(|it| _ = fixture.queue.push(0, batch(it)).unwrap());
    fixture.queue.spill().unwrap();
    fixture.queue.close(Ok(()));
    let next = fixture.space.operations() + 1;
    fixture.space.inject(next, Fault::Error(std::io::ErrorKind::UnexpectedEof));
    for _ in 0..2 {
        let error = read_from(&reader, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    }
    fixture.check_nothing_left();
}

#[test]
fn types_without_a_form_on_disk_are_not_spilled() {
    let pool = Pool::root("queue", None);
    let mut fixture = spilling(usize::MAX, ReaderMemory::Ahead);
    assert!(fixture.queue.spills());
    let spill = QueueSpill {
        space: fixture.space.clone(),
        types: vec![Type::Opaque(opaque_type())],
        batch_rows: 1,
        run_bytes: 1,
        runs_max: 1,
        reader_memory: ReaderMemory::Ahead,
    };
    fixture.queue =
        Arc::new(BatchQueue::new(QueueConfig { spill: Some(spill), ..config(1, 1) }, &pool));
    assert!(!fixture.queue.spills());
    fixture.queue.push(0, batch(0)).unwrap();
    assert_eq!(fixture.queue.spill().unwrap(), crate::spill::Spilled::default());
}

#[test]
fn those_who_wait_for_a_spill_are_woken_by_it() {
    let fixture = spilling(usize::MAX, ReaderMemory::Ahead);
    let reader = fixture.reader();
    let (wakes, waker) = waker();
    assert!(!fixture.queue.poll_reclaimable(&waker));
    // More than the least that is worth a file, without a limit: 2^57 bytes are 1/64 of it.
    let limited = Pool::root("limited", Some(64 << 20));
    drop(reader);
    let spill = QueueSpill {
        space: fixture.space.clone(),
        types: vec![Type::BigInt],
        batch_rows: BATCH_ROWS,
        run_bytes: usize::MAX,
        runs_max: 16,
        reader_memory: ReaderMemory::Ahead,
    };
    let queue = BatchQueue::new(QueueConfig { spill: Some(spill), ..config(1, 1 << 20) }, &limited);
    let queue = Arc::new(queue);
    let _reader = QueueReader::new(&queue, 0).unwrap();
    (0..140).for_each(|it| _ = queue.push(0, batch(it)).unwrap());
    assert!(queue.reclaimable_bytes() >= 140 * 8 * BATCH_ROWS);
    assert!(queue.poll_reclaimable(&waker));
    assert_eq!(wakes.count(), 0);
    queue.spill().unwrap();
    assert_eq!((wakes.count(), queue.reclaimable_bytes()), (1, 0));
}

#[test]
fn forgotten_wakers_are_dropped_and_not_called() {
    let pool = Pool::root("queue", None);
    let (queue, readers) = BatchQueue::with_readers(config(1, 1), &pool);
    let ((wakes, producer), (reader_wakes, reader)) = (waker(), waker());
    assert!(readers[0].poll_next(&reader).is_pending());
    queue.push(0, batch(0)).unwrap();
    assert_eq!(queue.poll_ready(&producer), Room::Full);
    drop(producer);
    queue.forget();
    assert_eq!((wakes.count(), reader_wakes.count()), (0, 1));
    assert_eq!((Arc::strong_count(&wakes), pool.stats().bytes), (1, 0));
}

#[test]
fn a_thread_waits_until_its_deadline() {
    let pool = Pool::root("queue", None);
    let (queue, readers) = BatchQueue::with_readers(config(1, 1), &pool);
    let now = Instant::now();
    assert!(readers[0].wait_next(Some(now)).is_none());
    let passed = readers[0].wait_next(Some(now + Duration::from_millis(1)));
    assert!(passed.is_none() && now.elapsed() >= Duration::from_millis(1));
    thread::scope(|scope| {
        let reader = scope.spawn(|| readers[0].wait_next(None).unwrap().unwrap().is_some());
        queue.push(0, batch(0)).unwrap();
        assert!(reader.join().unwrap());
    });
}

#[test]
fn those_who_wait_for_producers_are_woken_when_enough_have_finished() {
    let pool = Pool::root("queue", None);
    let (queue, _readers) = BatchQueue::with_readers(config(1, 1), &pool);
    queue.add_producers(2);
    let (wakes, waker) = waker();
    assert!(!queue.poll_finished(1, &waker));
    queue.producer_finished();
    assert_eq!(wakes.count(), 1);
    assert!(!queue.poll_finished(1, &waker));
    queue.producer_finished();
    assert_eq!(wakes.count(), 2);
    assert!(queue.poll_finished(1, &waker) && !queue.poll_finished(0, &waker));
    queue.producer_finished();
    assert!(queue.poll_finished(0, &waker));
}
