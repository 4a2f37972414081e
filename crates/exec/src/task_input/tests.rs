use super::*;
use volley_vector::Vector;

fn batch(values: std::ops::Range<i64>) -> Batch {
    let values: Vec<i64> = values.collect();
    let rows = values.len();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], rows)
}

fn queue(limit: Option<usize>) -> (Pool, TaskInput) {
    let pool = Pool::root("test", limit);
    let queue = Arc::new(InputQueue::new(vec![Type::BigInt], &pool));
    queue.open();
    (pool, TaskInput::new(queue))
}

fn taken(input: &TaskInput, rows_max: usize) -> Option<usize> {
    match input.0.next(rows_max, Waker::noop()) {
        Poll::Ready(batch) => batch.unwrap().map(|it| it.rows()),
        Poll::Pending => None,
    }
}

#[test]
fn large_batches_are_taken_in_parts_and_charged_until_the_last() {
    let (pool, input) = queue(None);
    input.push(batch(0..2500)).unwrap();
    let bytes = pool.stats().bytes;
    assert!(bytes >= 20_000, "{bytes}");
    for (rows, left) in [(1000, bytes), (1000, bytes), (500, 0)] {
        assert_eq!(taken(&input, 1000), Some(rows));
        assert_eq!(pool.stats().bytes, left);
    }
    assert_eq!(taken(&input, 1000), None);
}

#[test]
fn one_batch_of_any_size_passes() {
    let (_pool, input) = queue(Some(1 << 20));
    assert_eq!(input.poll_ready(Waker::noop()), Poll::Ready(InputState::Ready));
    input.push(batch(0..20_000)).unwrap();
    assert!(input.poll_ready(Waker::noop()).is_pending());
    assert_eq!(taken(&input, 1 << 20), Some(20_000));
    assert_eq!(input.poll_ready(Waker::noop()), Poll::Ready(InputState::Ready));
    // What the memory limit refuses is not taken.
    assert!(input.push(batch(0..1 << 20)).is_err());
    assert_eq!(taken(&input, 1), None);
}

#[test]
fn the_last_reader_closes_the_input() {
    let (pool, input) = queue(None);
    input.0.open();
    input.push(batch(0..9)).unwrap();
    input.0.close();
    assert_eq!(input.poll_ready(Waker::noop()), Poll::Ready(InputState::Ready));
    input.0.close();
    assert_eq!(input.poll_ready(Waker::noop()), Poll::Ready(InputState::Closed));
    assert_eq!(pool.stats().bytes, 0);
    input.push(batch(0..9)).unwrap();
    assert_eq!(pool.stats().bytes, 0);
}
