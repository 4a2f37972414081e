use super::*;
use volley_types::{Type, Value};
use volley_vector::Vector;

/// A batch of one number that says where it is in the source.
fn numbered(input: usize, split: u64, part: u64) -> Batch {
    let number = (input as i64) * 1_000_000 + (split as i64) * 1000 + part as i64;
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![number], None)], 1)
}

fn number(batch: &Batch) -> i64 {
    match batch.column(0).value(0).unwrap() {
        Value::BigInt(number) => number,
        other => panic!("{other:?}"),
    }
}

/// Numbers that depend on a seed alone.
struct Choices(u64);

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

/// A driver that takes splits from a list, and pushes the batches of each.
struct Driver {
    sender: OrderedSender,
    /// The split that it reads, and how many batches of it are pushed.
    current: Option<(u64, u64)>,
    is_finished: bool,
}

impl Driver {
    /// One step; whether it could do anything.
    fn step(&mut self, splits: &mut VecDeque<u64>, batches_of: impl Fn(u64) -> u64) -> bool {
        if self.is_finished {
            return false;
        }
        let Some((split, pushed)) = self.current else {
            match splits.pop_front() {
                Some(split) => {
                    self.sender.order.enter(self.sender.driver, BatchIndex(split));
                    self.current = Some((split, 0));
                }
                None => {
                    self.sender.finish().unwrap();
                    self.is_finished = true;
                }
            }
            return true;
        };
        if pushed == batches_of(split) {
            self.sender.end_split();
            self.current = None;
            return true;
        }
        match self.sender.poll_room(Waker::noop()) {
            Room::Free => {
                self.sender.push(numbered(self.sender.input, split, pushed)).unwrap();
                self.current = Some((split, pushed + 1));
                true
            }
            Room::Full => false,
            other => panic!("{other:?}"),
        }
    }
}

/// Runs drivers of some inputs and a receiver in an order that the seed decides; what is received.
fn run(drivers: &[usize], splits: u64, bound: usize, seed: u64) -> Vec<i64> {
    let pool = Pool::root("test", None);
    let mut choices = Choices(seed);
    let orders: Vec<_> = drivers.iter().map(|it| SourceOrder::new(*it)).collect();
    let mut queue = OrderedQueue::new(orders.clone(), 1, &pool);
    Arc::get_mut(&mut queue).unwrap().batches_max = bound;
    let batches_of = |split: u64| (split * 7 + seed) % 4;
    let mut lists: Vec<VecDeque<u64>> = drivers.iter().map(|_| (0..splits).collect()).collect();
    let mut all = Vec::new();
    for (input, order) in orders.iter().enumerate() {
        for driver in 0..drivers[input] {
            let (queue, order) = (Arc::clone(&queue), Arc::clone(order));
            let sender = OrderedSender { queue, order, input, driver };
            all.push(Driver { sender, current: None, is_finished: false });
        }
    }
    let mut received = Vec::new();
    let mut idle = 0;
    loop {
        let actor = choices.below(all.len() + 1);
        let worked = match all.get_mut(actor) {
            Some(driver) => {
                let input = driver.sender.input;
                driver.step(&mut lists[input], batches_of)
            }
            None => match queue.poll_next(Waker::noop()) {
                Poll::Ready(Ok(Some((batch, at)))) => {
                    assert_eq!(at, BatchIndex(received.len() as u64));
                    received.push(number(&batch));
                    true
                }
                Poll::Ready(Ok(None)) => break,
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => false,
            },
        };
        idle = if worked { 0 } else { idle + 1 };
        assert!(idle < 10_000, "no actor goes on");
    }
    assert_eq!(pool.stats().bytes, 0, "batches are left");
    let mut expected = Vec::new();
    for input in 0..drivers.len() {
        for split in 0..splits {
            let parts = 0..batches_of(split);
            expected.extend(parts.map(|part| number(&numbered(input, split, part))));
        }
    }
    assert_eq!(received, expected, "{drivers:?} {splits} {bound} {seed}");
    received
}

#[test]
fn batches_are_received_in_the_order_of_the_source_under_any_schedule() {
    for seed in 0..200 {
        for bound in [1, 3, 1000] {
            run(&[4], 20, bound, seed);
            run(&[1], 5, bound, seed);
            run(&[3, 1, 2], 7, bound, seed);
        }
    }
    assert!(run(&[2, 2], 0, 1, 0).is_empty());
}

#[test]
fn a_driver_that_is_not_the_first_waits_when_the_queue_is_full() {
    let pool = Pool::root("test", None);
    let order = SourceOrder::new(2);
    let mut queue = OrderedQueue::new(vec![Arc::clone(&order)], 2, &pool);
    Arc::get_mut(&mut queue).unwrap().batches_max = 2;
    let sender = |driver| {
        let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
        OrderedSender { queue, order, input: 0, driver }
    };
    let (mut first, mut second) = (sender(0), sender(1));
    order.enter(1, BatchIndex(5));
    for part in 0..2 {
        assert_eq!(second.poll_room(Waker::noop()), Room::Free);
        second.push(numbered(0, 5, part)).unwrap();
    }
    assert_eq!(second.poll_room(Waker::noop()), Room::Full);
    assert!(queue.poll_next(Waker::noop()).is_pending(), "driver 0 may have earlier rows");
    for part in 0..5 {
        assert_eq!(first.poll_room(Waker::noop()), Room::Free);
        first.push(numbered(0, 0, part)).unwrap();
        assert_eq!(first.poll_room(Waker::noop()), Room::Full, "there is a batch to take");
        assert!(matches!(queue.poll_next(Waker::noop()), Poll::Ready(Ok(Some(_)))));
    }
    first.end_split();
    assert_eq!(second.poll_room(Waker::noop()), Room::Full, "driver 0 may take split 1");
    first.finish().unwrap();
    assert_eq!(second.poll_room(Waker::noop()), Room::Full, "its batches can be taken");
    for _ in 0..2 {
        assert!(matches!(queue.poll_next(Waker::noop()), Poll::Ready(Ok(Some(_)))));
    }
    assert_eq!(second.poll_room(Waker::noop()), Room::Free);
    second.finish().unwrap();
    assert!(matches!(queue.poll_next(Waker::noop()), Poll::Ready(Ok(None))));
}

#[test]
fn senders_end_when_the_receivers_are_gone() {
    let pool = Pool::root("test", None);
    let order = SourceOrder::new(1);
    let exchange = OrderedExchange::new(vec![Arc::clone(&order)], 1, 1, &pool);
    let queue = Arc::clone(&exchange.queue);
    let mut sender = OrderedSender { queue, order, input: 0, driver: 0 };
    sender.push(numbered(0, 0, 0)).unwrap();
    drop(exchange.receivers());
    assert!(sender.is_closed());
    assert_eq!(sender.poll_room(Waker::noop()), Room::Closed);
    assert_eq!(sender.push(numbered(0, 0, 1)).unwrap(), Room::Closed);
    assert_eq!(pool.stats().bytes, 0);
}
