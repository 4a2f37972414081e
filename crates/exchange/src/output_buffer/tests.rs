//! Flow control, overflow, failures.

use super::*;
use crate::{PageContent, TaskId};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
};
use volley_error::ErrorKind;
use volley_vector::{Batch, Vector};

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn waker() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    (Arc::clone(&count), Waker::from(count))
}

fn page(first: i64, rows: usize) -> Page {
    let values: Vec<i64> = (first..first + rows as i64).collect();
    let batch = Batch::new(vec![Vector::native(Type::BigInt, values, None)], rows);
    Page { content: PageContent::Batch(batch), rows, bytes: rows * 8 }
}

fn numbers(supply: &Supply) -> Vec<i64> {
    let numbers = |it: &Page| match &it.content {
        PageContent::Batch(batch) => {
            batch.column(0).flat_values().unwrap().native::<i64>().unwrap().to_vec()
        }
        PageContent::Bytes(_) => panic!("a batch became bytes"),
    };
    supply.pages.iter().flat_map(numbers).collect()
}

fn buffer(lanes: usize, budget_bytes: usize, pool: &Pool) -> (Arc<OutputBuffer>, Producer) {
    let spill = Some(SpillSpace::new(std::env::temp_dir(), None));
    let types = [Type::BigInt].into();
    let config = OutputBufferConfig { lanes, types, budget_bytes, pool: pool.clone(), spill };
    let (buffer, mut producers) = OutputBuffer::new(config, 1);
    (buffer, producers.pop().unwrap())
}

fn ready(found: Poll<Result<Supply, Failure>>) -> Supply {
    match found {
        Poll::Ready(supply) => supply.unwrap(),
        Poll::Pending => panic!("pending"),
    }
}

#[test]
fn requests_may_be_repeated_and_acknowledge_what_came_before() {
    let pool = Pool::root("test", None);
    let (buffer, producer) = buffer(1, 1 << 20, &pool);
    let (_, waker) = waker();
    (0..5).for_each(|it| producer.push(0, page(it * 10, 10)).unwrap());
    let first = ready(buffer.poll(Lane(0), 0, 160, &waker));
    assert_eq!((first.pages.len(), first.next_token, first.waiting.len()), (2, 2, 3));
    let again = ready(buffer.poll(Lane(0), 0, 160, &waker));
    assert_eq!(numbers(&again), numbers(&first));
    let sizes = ready(buffer.poll(Lane(0), 2, 0, &waker));
    assert_eq!((sizes.pages.len(), sizes.waiting, sizes.next_token), (0, vec![80; 3], 2));
    let rest = ready(buffer.poll(Lane(0), 2, usize::MAX, &waker));
    assert_eq!((numbers(&rest), rest.is_end), ((20..50).collect(), false));
    for token in [1, 6] {
        let Poll::Ready(Err(failure)) = buffer.poll(Lane(0), token, 9, &waker) else { panic!() };
        assert_eq!(failure.error.kind(), ErrorKind::Internal);
    }
    assert!(buffer.poll(Lane(0), 5, 9, &waker).is_pending());
    assert_eq!(pool.stats().bytes, 0);
    producer.finish();
    assert!(ready(buffer.poll(Lane(0), 5, 9, &waker)).is_end);
    assert_eq!(buffer.sizes().unwrap()[0].rows, 50);
}

#[test]
fn pages_that_no_reader_waits_for_are_spilled_and_come_back() {
    let pool = Pool::root("test", None);
    let (buffer, producer) = buffer(3, 1 << 20, &pool);
    let (_, waker) = waker();
    (0..4).for_each(|it| producer.push(it % 2, page(it as i64 * 10, 10)).unwrap());
    // The first page of lane 0 is on its way, and the reader of lane 2 waits.
    let sent = ready(buffer.poll(Lane(0), 0, 80, &waker));
    assert!(buffer.poll(Lane(2), 0, 80, &waker).is_pending());
    assert_eq!(buffer.spillable_bytes(), 240);
    buffer.spill().unwrap();
    assert_eq!((buffer.spillable_bytes(), buffer.lock().charge.bytes()), (0, 80));
    producer.push(1, page(90, 10)).unwrap();
    producer.finish();
    let overflow: u64 = buffer.statistics().iter().map(|it| it.overflow_bytes).sum();
    assert_eq!(overflow, 240);
    let rest = ready(buffer.poll(Lane(0), sent.next_token, usize::MAX, &waker));
    assert_eq!((numbers(&rest), rest.is_end), ((20..30).collect(), true));
    let (mut token, mut found) = (0, Vec::new());
    loop {
        let supply = ready(buffer.poll(Lane(1), token, usize::MAX, &waker));
        found.extend(numbers(&supply));
        token = supply.next_token;
        if supply.is_end {
            break;
        }
    }
    assert_eq!(found, (10..20).chain(30..40).chain(90..100).collect::<Vec<i64>>());
}

#[test]
fn a_full_buffer_waits_for_readers_and_overflows_for_a_waiting_one() {
    let pool = Pool::root("test", None);
    let (buffer, producer) = buffer(2, 800, &pool);
    let ((producer_woken, for_producer), (_, for_reader)) = (waker(), waker());
    for number in 0..10 {
        assert_eq!(
            buffer.poll_ready(&for_producer).map(Result::unwrap),
            Poll::Ready(Readiness::Room)
        );
        producer.push(0, page(number * 10, 10)).unwrap();
    }
    // Full, and no reader waits.
    assert!(buffer.poll_ready(&for_producer).is_pending());
    assert_eq!(producer_woken.0.load(Ordering::Relaxed), 0);
    // The reader of the other lane waits: the producer must continue.
    assert!(buffer.poll(Lane(1), 0, 100, &for_reader).is_pending());
    assert_eq!(producer_woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(buffer.poll_ready(&for_producer).map(Result::unwrap), Poll::Ready(Readiness::Room));
    assert_eq!(buffer.statistics()[0].overflow_bytes, 800);
    assert_eq!(pool.stats().bytes, 0);
    producer.push(1, page(7, 1)).unwrap();
    assert_eq!(numbers(&ready(buffer.poll(Lane(1), 0, 100, &for_reader))), [7]);
    // What is on disk comes back in order, before what came later.
    producer.push(0, page(100, 10)).unwrap();
    producer.finish();
    let (mut token, mut found) = (0, Vec::new());
    loop {
        let supply = ready(buffer.poll(Lane(0), token, 200, &for_reader));
        found.extend(numbers(&supply));
        token = supply.next_token;
        if supply.is_end {
            break;
        }
    }
    assert_eq!(found, (0..110).collect::<Vec<_>>());
}

#[test]
fn a_pool_at_its_limit_overflows_before_it_fails() {
    // Pools count in steps of 64 KiB; two of them are the limit.
    let pool = Pool::root("test", Some(128 << 10));
    let (buffer, producer) = buffer(2, 1 << 30, &pool);
    for number in 0..10 {
        producer.push(0, page(number, 4096)).unwrap();
    }
    assert!(buffer.statistics()[0].overflow_bytes > 0);
    assert!(pool.stats().peak_bytes <= 128 << 10);
    let failure = producer.push(0, page(0, 1 << 20)).unwrap_err();
    assert_eq!(failure.error.kind(), ErrorKind::OutOfMemory);
    let (_, waker) = waker();
    let Poll::Ready(Err(found)) = buffer.poll(Lane(1), 0, 1, &waker) else { panic!() };
    assert_eq!(found.error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn closed_lanes_free_their_pages_and_take_no_more() {
    let pool = Pool::root("test", None);
    let (buffer, producer) = buffer(2, 800, &pool);
    let (woken, waker) = waker();
    (0..10).for_each(|it| producer.push(0, page(it, 10)).unwrap());
    assert!(buffer.poll_ready(&waker).is_pending());
    buffer.close(Lane(0), Closed::NotNeeded);
    assert_eq!((woken.0.load(Ordering::Relaxed), pool.stats().bytes), (1, 0));
    assert_eq!((buffer.is_needed(0), buffer.is_needed(1)), (false, true));
    producer.push(0, page(1, 1)).unwrap();
    assert_eq!(pool.stats().bytes, 0);
    buffer.close(Lane(1), Closed::Done);
    let readiness = buffer.poll_ready(&waker).map(Result::unwrap);
    assert_eq!(readiness, Poll::Ready(Readiness::NotNeeded));
}

#[test]
fn failures_free_pages_wake_all_and_the_cause_wins() {
    let pool = Pool::root("test", None);
    let (buffer, producer) = buffer(2, 80, &pool);
    let ((woken, waker), (reader_woken, for_reader)) = (waker(), waker());
    producer.push(0, page(1, 100)).unwrap();
    assert!(buffer.poll_ready(&waker).is_pending());
    assert!(buffer.poll(Lane(1), 0, 1, &for_reader).is_pending());
    buffer.fail(Failure::peer_lost(TaskId(4)));
    assert!(woken.0.load(Ordering::Relaxed) + reader_woken.0.load(Ordering::Relaxed) >= 2);
    buffer.fail(Failure::new(Error::invalid_value("the cause")));
    assert_eq!(pool.stats().bytes, 0);
    let Poll::Ready(Err(found)) = buffer.poll(Lane(1), 0, 1, &for_reader) else { panic!() };
    assert_eq!(found.error.message(), "the cause");
    assert_eq!(producer.push(0, page(1, 1)).unwrap_err().error.message(), "the cause");
}

#[test]
fn cancellation_and_lost_drivers_fail_the_output() {
    let pool = Pool::root("test", None);
    let (_, waker) = waker();
    let (output, producer) = buffer(1, 80, &pool);
    let token = CancellationToken::new();
    let hook = output.cancel_with(&token);
    token.cancel();
    let Poll::Ready(Err(found)) = output.poll(Lane(0), 0, 1, &waker) else { panic!() };
    assert_eq!(found.error.kind(), ErrorKind::Cancelled);
    drop((hook, producer));
    let (output, producer) = buffer(1, 80, &pool);
    drop(producer);
    let Poll::Ready(Err(found)) = output.poll(Lane(0), 0, 1, &waker) else { panic!() };
    assert_eq!(found.rank, crate::Rank::Cancelled);
}
