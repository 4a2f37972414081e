use super::{backlog::RUNS_MAX, *};
use crate::testing::Harness;
use std::thread;
use volley_error::ErrorKind;
use volley_memory::spill::Fault;
use volley_testkit::rows_of;
use volley_types::Value;
use volley_vector::Vector;

const BATCH_ROWS: usize = 1000;

/// A queue of one BIGINT column, its context and its pool.
fn queue(limit: Option<usize>) -> (ResultQueue, OperatorContext, Pool) {
    let cx = Harness::context(BATCH_ROWS);
    let pool = Pool::root("result", limit);
    (ResultQueue::new(vec![Type::BigInt], &pool, &cx.task), cx, pool)
}

fn batch(number: i64) -> Batch {
    let values: Vec<i64> =
        (0..BATCH_ROWS as i64).map(|it| number * BATCH_ROWS as i64 + it).collect();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], BATCH_ROWS)
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
fn what_is_written_comes_back_in_its_place() {
    let (queue, cx, pool) = queue(None);
    for number in 0..10 {
        queue.push(batch(number)).unwrap();
        if [0, 3, 4, 7].contains(&number) {
            queue.spill(&cx.metrics).unwrap();
        }
    }
    assert!(pool.stats().bytes < 10 * 8 * BATCH_ROWS + (300 << 10), "{:?}", pool.stats());
    assert!(cx.task.spill.stats().bytes > 0);
    assert_eq!(counter(&cx, SPILLED_ROWS), 8000);
    // Nothing to write, so no file.
    queue.spill(&cx.metrics).unwrap();
    queue.spill(&cx.metrics).unwrap();
    queue.close(Ok(()));
    assert_eq!(take_from(&queue, 0).unwrap(), 10_000);
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}

#[test]
fn readers_and_writers_at_once_keep_the_order() {
    let (queue, cx, pool) = queue(None);
    let waker = Waker::noop();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..3000 {
                while !queue.has_room(waker) {
                    thread::yield_now();
                }
                queue.push(batch(number)).unwrap();
            }
            queue.close(Ok(()));
        });
        let writer = scope.spawn(|| {
            while queue.lock().outcome.is_none() {
                queue.spill(&cx.metrics).unwrap();
            }
        });
        assert_eq!(take_from(&queue, 0).unwrap(), 3_000_000);
        writer.join().unwrap();
    });
    assert!(counter(&cx, SPILLED_RUNS) > 0);
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}

#[test]
fn the_queue_is_full_with_some_runs() {
    let (queue, cx, _pool) = queue(None);
    let mut batches = 0;
    while queue.has_room(Waker::noop()) {
        queue.push(batch(batches)).unwrap();
        queue.spill(&cx.metrics).unwrap();
        batches += 1;
    }
    // One more is being read.
    assert_eq!(batches, RUNS_MAX as i64 + 1);
    queue.close(Ok(()));
    assert_eq!(take_from(&queue, 0).unwrap(), batches * BATCH_ROWS as i64);
}

#[test]
fn what_cannot_be_written_stays() {
    for operation in 0..3 {
        let (queue, cx, pool) = queue(None);
        (0..20).for_each(|it| queue.push(batch(it)).unwrap());
        cx.task.spill.inject(operation, Fault::Error(std::io::ErrorKind::StorageFull));
        queue.spill(&cx.metrics).unwrap();
        assert_eq!((cx.task.spill.stats().bytes, queue.reclaimable_bytes()), (0, 0));
        queue.push(batch(20)).unwrap();
        queue.spill(&cx.metrics).unwrap();
        queue.close(Ok(()));
        assert_eq!(take_from(&queue, 0).unwrap(), 21_000);
        assert_eq!(counter(&cx, SPILLED_ROWS), 0);
        assert_eq!(pool.stats().bytes, 0);
    }
}

#[test]
fn a_run_that_is_damaged_is_an_error_that_stays() {
    let (queue, cx, pool) = queue(None);
    (0..20).for_each(|it| queue.push(batch(it)).unwrap());
    queue.spill(&cx.metrics).unwrap();
    queue.close(Ok(()));
    let next = cx.task.spill.operations() + 1;
    cx.task.spill.inject(next, Fault::Error(std::io::ErrorKind::UnexpectedEof));
    for _ in 0..2 {
        let error = take_from(&queue, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    }
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}

#[test]
fn an_error_of_the_task_hides_what_was_written() {
    let (queue, cx, pool) = queue(None);
    (0..20).for_each(|it| queue.push(batch(it)).unwrap());
    queue.spill(&cx.metrics).unwrap();
    queue.close(Err(Error::cancelled()));
    assert_eq!(take_from(&queue, 0).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!((pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
}
