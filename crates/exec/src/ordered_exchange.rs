//! Moves batches to other drivers in the order of their sources.
//!
//! ```text
//! input 0: driver, driver ─┐ by input and index of the source                ┌─ receiver
//!                          ├── 0/3: batch batch │ 0/5: batch │ 1/0: batch ────┤
//! input 1: driver ─────────┘      ^ first: no driver works on an index before └─ receiver
//! ```
//!
//! Batches are taken up to the first index that a driver of the first unfinished input works on.
//! Behind it batches wait, and their drivers too when there are too many. The driver at the first
//! index waits for room only while there is a batch to take, so that there is always one that goes
//! on: a driver that has entered an index completes it without any other driver.
//!
//! Several receivers number the batches that they take, which is the order of their pipeline.

#[cfg(test)]
mod tests;

use crate::{
    BatchSink, BlockedOn, Operator, OperatorContext, SinkOperator, Step, StepContext,
    source_order::SourceOrder,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};
use volley_connector::BatchIndex;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_state::{
    Waiters,
    charge::{BatchCharge, queue_bytes},
    queue::Room,
};
use volley_vector::Batch;

/// Senders wait while more bytes than this are queued, or their share of the memory limit,
const BYTES_MAX: usize = 32 << 20;

/// or more batches than this for each sender.
const BATCHES_MAX_PER_SENDER: usize = 64;

/// The place of a batch: its input, and the index in the order of that.
type Place = (usize, BatchIndex);

/// Batches between the drivers of some pipelines and those of another one.
#[derive(Debug)]
pub(crate) struct OrderedQueue {
    /// The orders of the inputs, the first input's rows first.
    inputs: Vec<Arc<SourceOrder>>,
    bytes_max: usize,
    batches_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Those at one place come from one driver.
    batches: BTreeMap<Place, VecDeque<Batch>>,
    count: usize,
    charge: BatchCharge,
    /// How many batches were taken.
    taken: u64,
    /// No batch comes for a place before it any more; `None` when all senders have finished.
    first: Option<Place>,
    /// Whether receivers are left.
    is_open: bool,
    waiting_senders: Waiters,
    waiting_receivers: Waiters,
}

impl OrderedQueue {
    /// Of pipelines with these orders; reserves what is queued in `pool`.
    pub(crate) fn new(
        inputs: Vec<Arc<SourceOrder>>,
        senders: usize,
        pool: &Pool,
    ) -> Arc<OrderedQueue> {
        let state = State {
            batches: BTreeMap::new(),
            count: 0,
            charge: BatchCharge::new(pool),
            taken: 0,
            first: first_place(&inputs),
            is_open: true,
            waiting_senders: Waiters::default(),
            waiting_receivers: Waiters::default(),
        };
        Arc::new(OrderedQueue {
            inputs,
            bytes_max: queue_bytes(pool, BYTES_MAX),
            batches_max: BATCHES_MAX_PER_SENDER.saturating_mul(senders),
            state: Mutex::new(state),
        })
    }

    /// Whether the driver at `place` may push a batch; if not, `waker` is woken once it may.
    fn poll_room(&self, place: Place, waker: &Waker) -> Room {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        self.look_at_senders(&mut state, &mut woken);
        let room = if !state.is_open {
            Room::Closed
        } else if !self.is_full(&state) || (state.is_first(place) && !state.has_next()) {
            Room::Free
        } else {
            state.waiting_senders.add(waker);
            Room::Full
        };
        drop(state);
        woken.wake();
        room
    }

    fn push(&self, place: Place, batch: Batch) -> Result<Room> {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        if !state.is_open {
            return Ok(Room::Closed);
        }
        state.charge.add(&batch)?;
        state.batches.entry(place).or_default().push_back(batch);
        state.count += 1;
        self.look_at_senders(&mut state, &mut woken);
        if state.is_first(place) {
            woken.append(state.waiting_receivers.take());
        }
        drop(state);
        woken.wake();
        Ok(Room::Free)
    }

    /// A driver has entered another index, or has finished.
    fn progress(&self) {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        self.look_at_senders(&mut state, &mut woken);
        drop(state);
        woken.wake();
    }

    /// Finds the first place that senders work on; all that wait are woken if it has changed.
    fn look_at_senders(&self, state: &mut State, woken: &mut Waiters) {
        let first = first_place(&self.inputs);
        if first != state.first {
            state.first = first;
            woken.append(state.waiting_senders.take());
            woken.append(state.waiting_receivers.take());
        }
    }

    /// The next batch and its number; `None` at the end. Pending when `waker` will be woken.
    fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<(Batch, BatchIndex)>>> {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        self.look_at_senders(&mut state, &mut woken);
        let next = match state.take() {
            Some(batch) => {
                let number = BatchIndex(state.taken);
                state.taken += 1;
                if !self.is_full(&state) || !state.has_next() {
                    woken.append(state.waiting_senders.take());
                }
                Poll::Ready(Ok(Some((batch, number))))
            }
            None if state.first.is_none() => Poll::Ready(Ok(None)),
            None => {
                state.waiting_receivers.add(waker);
                Poll::Pending
            }
        };
        drop(state);
        woken.wake();
        next
    }

    /// The receivers are gone.
    fn close(&self) {
        let mut state = self.lock();
        state.is_open = false;
        let batches = std::mem::take(&mut state.batches);
        state.charge.clear();
        state.count = 0;
        let mut woken = state.waiting_senders.take();
        woken.append(state.waiting_receivers.take());
        drop(state);
        drop(batches);
        woken.wake();
    }

    fn is_open(&self) -> bool {
        self.lock().is_open
    }

    fn is_full(&self, state: &State) -> bool {
        state.count >= self.batches_max || state.charge.bytes() >= self.bytes_max
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_first(&self, place: Place) -> bool {
        self.first.is_none_or(|it| place <= it)
    }

    /// Whether there is a batch that no other one can come before.
    fn has_next(&self) -> bool {
        self.batches.first_key_value().is_some_and(|it| self.is_first(*it.0))
    }

    /// The next batch, if no batch can come before it any more.
    fn take(&mut self) -> Option<Batch> {
        let place = *self.batches.first_key_value()?.0;
        if !self.is_first(place) {
            return None;
        }
        let mut entry = self.batches.first_entry()?;
        let batch = entry.get_mut().pop_front();
        if entry.get().is_empty() {
            entry.remove();
        }
        let batch = batch?;
        self.count -= 1;
        self.charge.remove(&batch);
        Some(batch)
    }
}

/// The first place that a driver works on.
fn first_place(inputs: &[Arc<SourceOrder>]) -> Option<Place> {
    let mut inputs = inputs.iter().enumerate();
    inputs.find_map(|(input, order)| order.first().map(|it| (input, it)))
}

/// One driver's end of the queue.
struct OrderedSender {
    queue: Arc<OrderedQueue>,
    order: Arc<SourceOrder>,
    input: usize,
    driver: usize,
}

impl OrderedSender {
    fn place(&self) -> Place {
        (self.input, self.order.index(self.driver))
    }
}

impl BatchSink for OrderedSender {
    fn name(&self) -> &'static str {
        "ordered exchange sender"
    }

    fn poll_room(&mut self, waker: &Waker) -> Room {
        self.queue.poll_room(self.place(), waker)
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        self.queue.push(self.place(), batch)
    }

    fn end_split(&mut self) {
        let BatchIndex(index) = self.order.index(self.driver);
        self.order.enter(self.driver, BatchIndex(index.saturating_add(1)));
        self.queue.progress();
    }

    fn is_closed(&self) -> bool {
        !self.queue.is_open()
    }

    fn finish(&mut self) -> Result<()> {
        self.order.finish(self.driver);
        self.queue.progress();
        Ok(())
    }
}

/// What the receivers share: the queue is closed when the last one is dropped.
#[derive(Debug)]
struct Receivers(Arc<OrderedQueue>);

impl Drop for Receivers {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The source of one driver of the other pipeline.
struct OrderedReceiver {
    receivers: Arc<Receivers>,
    /// Of this pipeline; `None` for one driver.
    order: Option<Arc<SourceOrder>>,
    driver: usize,
    /// Whether a batch was output whose end was not told.
    in_split: bool,
}

impl Operator for OrderedReceiver {
    fn name(&self) -> &'static str {
        "ordered exchange receiver"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if std::mem::take(&mut self.in_split) {
            return Ok(Step::EndOfSplit);
        }
        Ok(match self.receivers.0.poll_next(cx.waker) {
            Poll::Ready(Ok(Some((batch, number)))) => {
                if let Some(order) = &self.order {
                    order.enter(self.driver, number);
                    self.in_split = true;
                }
                Step::Output(batch)
            }
            Poll::Ready(Ok(None)) => Step::Finished,
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => Step::Blocked(BlockedOn::Exchange),
        })
    }
}

/// Makes the operators of an exchange that keeps the order of its inputs.
pub(crate) struct OrderedExchange {
    queue: Arc<OrderedQueue>,
    receivers: Arc<Receivers>,
    /// The order of the receivers' pipeline; `None` for one driver.
    pub order: Option<Arc<SourceOrder>>,
}

impl OrderedExchange {
    /// From pipelines with these orders to `receivers` drivers.
    pub fn new(
        inputs: Vec<Arc<SourceOrder>>,
        senders: usize,
        receivers: usize,
        pool: &Pool,
    ) -> OrderedExchange {
        let queue = OrderedQueue::new(inputs, senders, pool);
        let order = (receivers > 1).then(|| SourceOrder::new(receivers));
        let receivers = Arc::new(Receivers(Arc::clone(&queue)));
        OrderedExchange { queue, receivers, order }
    }

    /// What makes the senders of an input.
    pub fn senders(
        &self,
        input: usize,
    ) -> impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static + use<> {
        let queue = Arc::clone(&self.queue);
        move |cx| {
            let order = queue.inputs.get(input).cloned();
            let order = order.ok_or_else(|| Error::internal("an input without an order"))?;
            let (queue, driver) = (Arc::clone(&queue), cx.driver);
            Ok(Box::new(SinkOperator::new(OrderedSender { queue, order, input, driver })))
        }
    }

    /// What makes the receivers.
    pub fn receivers(
        self,
    ) -> impl FnMut(&OperatorContext) -> Result<Box<dyn Operator>> + Send + 'static {
        move |cx| {
            Ok(Box::new(OrderedReceiver {
                receivers: Arc::clone(&self.receivers),
                order: self.order.clone(),
                driver: cx.driver,
                in_split: false,
            }))
        }
    }
}
