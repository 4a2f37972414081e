//! Pages that the drivers of a task read together.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Wake, Waker},
};
use volley_error::{Error, Result};
use volley_exchange::ExchangeReader;
use volley_exec::{BlockedOn, Operator, Step, StepContext};
use volley_state::barrier::Waiters;
use volley_vector::Batch;

/// The pages of an exchange for one task.
pub(super) struct PageQueue {
    state: Mutex<State>,
    /// Drivers that wait for a page. Locked after the state, or alone: a stream may wake while it
    /// is polled.
    waiters: Arc<Mutex<Waiters>>,
    /// Wakes all of them: streams keep one waker.
    waker: Waker,
}

struct State {
    reader: ExchangeReader,
    /// A page that was returned in part: the page, and the number of rows that were returned.
    begun: Option<(Batch, usize)>,
    /// Drivers that read.
    drivers: usize,
}

struct WakeAll(Arc<Mutex<Waiters>>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        let waiters = lock(&self.0).take();
        waiters.wake();
    }
}

impl PageQueue {
    pub(super) fn new(reader: ExchangeReader) -> Arc<PageQueue> {
        let waiters = Arc::new(Mutex::default());
        let waker = Waker::from(Arc::new(WakeAll(Arc::clone(&waiters))));
        let state = Mutex::new(State { reader, begun: None, drivers: 0 });
        Arc::new(PageQueue { state, waiters, waker })
    }

    /// The next rows, at most `rows_max`; `None` at the end. Pending: `waker` is woken when there
    /// may be rows.
    fn next(&self, rows_max: usize, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        let mut state = lock(&self.state);
        let (batch, start) = match state.begun.take() {
            Some(begun) => begun,
            None => {
                // Before the streams are polled: they may wake at any time from then on.
                lock(&self.waiters).add(waker);
                match state.reader.poll(&self.waker) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(Some((_, batch)))) => (batch, 0),
                    Poll::Ready(ended) => {
                        drop(state);
                        self.waker.wake_by_ref();
                        return Poll::Ready(ended.map(|_| None).map_err(|it| it.error));
                    }
                }
            }
        };
        let rows = rows_max.min(batch.rows() - start);
        let taken = match rows == batch.rows() {
            true => batch.clone(),
            false => batch.slice(start, rows),
        };
        if start + rows < batch.rows() {
            state.begun = Some((batch, start + rows));
        }
        drop(state);
        // Others may find further rows.
        self.waker.wake_by_ref();
        Poll::Ready(Ok(Some(taken)))
    }

    fn close_driver(&self) {
        let mut state = lock(&self.state);
        state.drivers = state.drivers.saturating_sub(1);
        if state.drivers == 0 {
            state.begun = None;
            state.reader.close();
        }
        drop(state);
        // This driver may have been the one that was woken for a page.
        self.waker.wake_by_ref();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The source of a driver that reads pages in any order.
pub(super) struct PageReader {
    queue: Arc<PageQueue>,
    rows_max: usize,
}

impl PageReader {
    pub(super) fn new(queue: &Arc<PageQueue>, rows_max: usize) -> PageReader {
        lock(&queue.state).drivers += 1;
        PageReader { queue: Arc::clone(queue), rows_max }
    }
}

impl Operator for PageReader {
    fn name(&self) -> &'static str {
        "page source"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.queue.next(self.rows_max, cx.waker) {
            Poll::Ready(next) => next?.map_or(Step::Finished, Step::Output),
            Poll::Pending => Step::Blocked(BlockedOn::Exchange),
        })
    }
}

impl Drop for PageReader {
    fn drop(&mut self) {
        self.queue.close_driver();
    }
}
