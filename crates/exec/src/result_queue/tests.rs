use super::*;
use crate::{Step, testing::Harness};
use volley_error::{Error, ErrorKind};
use volley_memory::spill::Fault;
use volley_state::spill::SPILLED_ROWS;
use volley_testkit::rows_of;
use volley_types::Value;
use volley_vector::Vector;

const BATCH_ROWS: usize = 1000;

/// A queue of one BIGINT column, its context and its pool.
fn queue(limit: Option<usize>) -> (ResultQueue, OperatorContext, Pool) {
    let cx = Harness::context(BATCH_ROWS);
    let pool = Pool::root("result", limit);
    (ResultQueue::new(vec![Type::BigInt], &pool, &cx.task).unwrap(), cx, pool)
}

fn batch(number: i64) -> Batch {
    let values: Vec<i64> =
        (0..BATCH_ROWS as i64).map(|it| number * BATCH_ROWS as i64 + it).collect();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], BATCH_ROWS)
}

fn sink(queue: &ResultQueue, cx: &OperatorContext) -> Box<dyn Operator> {
    ResultQueue::sink(queue.queue(), cx)
}

fn counter(cx: &OperatorContext, name: &str) -> u64 {
    cx.metrics.counts().named.iter().find(|it| it.0 == name).map_or(0, |it| it.1)
}

/// Takes what there is and checks that it begins with row `first`; the row after the last.
fn take_from(queue: &ResultQueue, first: i64) -> Result<i64> {
    let mut next = first;
    while let Some(batch) = queue.next(None).unwrap()? {
        for row in rows_of(&batch) {
            assert_eq!(row, [Value::BigInt(next)]);
            next += 1;
        }
    }
    Ok(next)
}

#[test]
fn spilled_batches_are_counted_and_read_in_their_order() {
    let (queue, cx, pool) = queue(None);
    let mut sink = sink(&queue, &cx);
    for number in 0..10 {
        queue.queue().push(0, batch(number)).unwrap();
        if [0, 3, 4, 7].contains(&number) {
            sink.as_spill().unwrap().spill().unwrap();
        }
    }
    assert!(pool.stats().bytes < 10 * 8 * BATCH_ROWS + (300 << 10), "{:?}", pool.stats());
    assert_eq!(counter(&cx, SPILLED_ROWS), 8000);
    queue.close(Ok(()));
    assert_eq!(take_from(&queue, 0).unwrap(), 10_000);
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}

#[test]
fn a_queue_with_many_runs_is_full() {
    let (queue, cx, _pool) = queue(None);
    let mut sink = Harness::boxed(sink(&queue, &cx)).spilling(Some(1));
    let mut batches = 0;
    while let Step::NeedInput = sink.step().unwrap() {
        sink.accept(batch(batches)).unwrap();
        batches += 1;
    }
    // The sink holds the last one.
    assert_eq!(batches, RUNS_MAX as i64 + 1);
    assert_eq!(sink.waker.count(), 0);
    assert!(queue.next(None).unwrap().unwrap().is_some());
    assert_eq!(sink.waker.count(), 1);
    assert!(matches!(sink.step().unwrap(), Step::NeedInput));
    queue.close(Ok(()));
    assert_eq!(take_from(&queue, BATCH_ROWS as i64).unwrap(), batches * BATCH_ROWS as i64);
}

#[test]
fn batches_that_cannot_be_written_stay() {
    let (queue, cx, pool) = queue(None);
    let mut sink = sink(&queue, &cx);
    (0..20).for_each(|it| _ = queue.queue().push(0, batch(it)).unwrap());
    cx.task.spill.inject(0, Fault::Error(std::io::ErrorKind::StorageFull));
    sink.as_spill().unwrap().spill().unwrap();
    queue.close(Ok(()));
    assert_eq!(take_from(&queue, 0).unwrap(), 20_000);
    assert_eq!((counter(&cx, SPILLED_ROWS), pool.stats().bytes), (0, 0));
}

#[test]
fn the_last_driver_stays_while_its_memory_may_be_asked_for() {
    let (queue, cx, pool) = queue(Some(64 << 20));
    let mut sink = Harness::boxed(sink(&queue, &cx));
    let values: Vec<i64> = (0..300_000).collect();
    let rows = values.len();
    queue
        .queue()
        .push(0, Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], rows))
        .unwrap();
    assert!(matches!(sink.step().unwrap(), Step::NeedInput));
    sink.finish_input().unwrap();
    assert!(matches!(sink.step().unwrap(), Step::Blocked(BlockedOn::Reader)));
    assert!(queue.next(None).unwrap().unwrap().is_some());
    assert_eq!((sink.waker.count(), pool.stats().bytes), (1, 0));
    assert!(matches!(sink.step().unwrap(), Step::Finished));
}

#[test]
fn an_error_of_the_task_hides_spilled_batches() {
    let (queue, cx, pool) = queue(None);
    (0..20).for_each(|it| _ = queue.queue().push(0, batch(it)).unwrap());
    sink(&queue, &cx).as_spill().unwrap().spill().unwrap();
    queue.close(Err(Error::cancelled()));
    assert_eq!(take_from(&queue, 0).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}
