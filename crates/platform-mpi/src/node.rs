//! One rank's end of all messages: a thread that sends and receives.
//!
//! ```text
//! any thread   post ──> outbox ── unpark ──> the thread: Messenger::send
//!              a supply has pages ── wake ──> LinkTransport::advance
//! the thread   Messenger::receive ──> frame: LinkTransport::receive
//!                                 └─> control message: the query, or the events of `serve`
//! ```
//!
//! The thread polls while there is something to do, then sleeps for longer and longer, up to
//! [`SLEEP_MAX`]: MPI cannot wake a thread for a message.

use crate::{
    message::Message,
    messenger::Messenger,
    query::{Queries, Query},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    thread::{self, Thread},
    time::Duration,
};
use volley_error::{Error, Result};
use volley_exchange::Failure;

/// Polls without work before the thread sleeps.
const IDLE_POLLS: u32 = 200;

/// The first and the longest sleep. The longest is what a message that comes after a pause waits.
const SLEEP_MIN: Duration = Duration::from_micros(20);
const SLEEP_MAX: Duration = Duration::from_micros(500);

/// What one rank shares among its threads.
pub(crate) struct Node {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) ranks_of_machine: usize,
    outbox: Mutex<Vec<(usize, Vec<u8>)>>,
    /// Whether a supply that was polled has pages.
    is_woken: AtomicBool,
    is_closing: AtomicBool,
    thread: OnceLock<Thread>,
    queries: Mutex<Queries>,
    /// Where control messages go that `serve` handles.
    events: Mutex<Option<Sender<(u64, Message)>>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What the other ranks said of themselves, by rank.
    ready: Vec<Option<Option<Failure>>>,
    /// Why nothing is sent and received any more.
    lost: Option<Error>,
}

impl Node {
    pub(crate) fn new(messenger: &dyn Messenger, events: Sender<(u64, Message)>) -> Arc<Node> {
        let ready = vec![None; messenger.ranks()];
        Arc::new(Node {
            rank: messenger.rank(),
            ranks: messenger.ranks(),
            ranks_of_machine: messenger.ranks_of_machine().max(1),
            outbox: Mutex::default(),
            is_woken: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            thread: OnceLock::new(),
            queries: Mutex::default(),
            events: Mutex::new(Some(events)),
            state: Mutex::new(State { ready, lost: None }),
            changed: Condvar::new(),
        })
    }

    /// The other ranks.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let own = self.rank;
        (0..self.ranks).filter(move |it| *it != own)
    }

    pub(crate) fn queries(&self) -> MutexGuard<'_, Queries> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the bytes of a message.
    pub(crate) fn post(&self, to: usize, message: Vec<u8>) {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).push((to, message));
        self.unpark();
    }

    /// Sends a message of `query` to all others.
    pub(crate) fn broadcast(&self, query: u64, message: &Message) {
        self.others().for_each(|it| self.post(it, message.to_bytes(query)));
    }

    /// Asks for the next call of [`volley_exchange::LinkTransport::advance`].
    pub(crate) fn wake(&self) {
        self.is_woken.store(true, Ordering::Release);
        self.unpark();
    }

    fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Waits until all other ranks can run queries.
    ///
    /// # Errors
    ///
    /// What the first rank reports that cannot; I/O: a rank is lost.
    pub(crate) fn wait_ready(&self) -> Result<()> {
        let mut state = self.state();
        loop {
            for rank in self.others() {
                if let Some(Some(Some(failure))) = state.ready.get(rank) {
                    return Err(failure.error.clone().at("rank", rank));
                }
            }
            if let Some(error) = &state.lost {
                return Err(error.clone());
            }
            if self.others().all(|it| state.ready.get(it).is_some_and(Option::is_some)) {
                return Ok(());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Why nothing is sent and received any more.
    pub(crate) fn lost(&self) -> Option<Error> {
        self.state().lost.clone()
    }

    /// Lets the thread send what is in the outbox and end.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
        self.unpark();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends and receives until the node is closed.
    pub(crate) fn run(self: &Arc<Node>, mut messenger: Box<dyn Messenger>) {
        let _ = self.thread.set(thread::current());
        let looped = catch_unwind(AssertUnwindSafe(|| self.send_and_receive(&mut *messenger)));
        let looped = looped.unwrap_or_else(|_| Err(Error::internal("the thread of MPI panicked")));
        if let Err(error) = looped.and_then(|()| messenger.finish()) {
            self.lose(error);
        }
        // `serve` ends.
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn send_and_receive(self: &Arc<Node>, messenger: &mut dyn Messenger) -> Result<()> {
        let (mut idle, mut sleep) = (0, SLEEP_MIN);
        loop {
            // Before the outbox is emptied: what is posted before the node is closed is sent.
            let is_closing = self.is_closing.load(Ordering::Acquire);
            let mut is_active = self.send_posted(messenger)?;
            while let Some((from, message)) = messenger.receive()? {
                is_active = true;
                self.receive(from, message)?;
            }
            if self.is_woken.swap(false, Ordering::AcqRel) {
                // Not under the lock: tasks are woken.
                let links = self.queries().links();
                is_active |= links.iter().fold(false, |any, link| link.advance(0) | any);
            }
            let is_sending = messenger.is_sending()?;
            if is_closing && !is_active && !is_sending {
                return Ok(());
            }
            if is_active {
                (idle, sleep) = (0, SLEEP_MIN);
                continue;
            }
            idle += 1;
            if idle < IDLE_POLLS || is_sending {
                thread::yield_now();
            } else {
                thread::park_timeout(sleep);
                sleep = (sleep * 2).min(SLEEP_MAX);
            }
        }
    }

    fn send_posted(&self, messenger: &mut dyn Messenger) -> Result<bool> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = std::mem::take(&mut *outbox);
        drop(outbox);
        let is_active = !messages.is_empty();
        messages.into_iter().try_for_each(|(to, message)| messenger.send(to, message))?;
        Ok(is_active)
    }

    fn receive(self: &Arc<Node>, from: usize, message: Vec<u8>) -> Result<()> {
        let (id, message) = Message::from_bytes(message)?;
        match message {
            Message::Frame { from, to, frame } => {
                // Not under the lock: tasks are woken.
                let query = self.queries().of_frame(id, (from, to, frame));
                if let Some((query, (from, to, frame))) = query {
                    query.link(to).receive(from, frame);
                }
            }
            Message::Start { ref tasks, .. } => {
                Query::begin(self, id, tasks.clone());
                self.event(id, message);
            }
            Message::Ended { end } => {
                let query = self.queries().get(id);
                if let Some(query) = query {
                    query.ended(from, end);
                }
            }
            Message::Failed { failure } => {
                let query = self.queries().get(id);
                query.into_iter().for_each(|it| it.failed(failure.clone()));
            }
            Message::Filter { filter, task, keys } => {
                // Not under the lock: drivers are woken.
                let query = self.queries().get(id);
                query.into_iter().for_each(|it| it.filter(filter, task as usize, keys.clone()));
            }
            Message::Ready { failure } => {
                if let Some(ready) = self.state().ready.get_mut(from) {
                    *ready = Some(failure);
                }
                self.changed.notify_all();
            }
            Message::Splits { .. }
            | Message::NoMoreSplits { .. }
            | Message::End
            | Message::Leave => self.event(id, message),
        }
        Ok(())
    }

    fn event(&self, query: u64, message: Message) {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(events) = &*events {
            // Without `serve`, as in rank 0, there is none to get them.
            let _ = events.send((query, message));
        }
    }

    /// Ends all queries: nothing is sent and received any more.
    fn lose(&self, error: Error) {
        self.state().lost = Some(error.clone());
        self.changed.notify_all();
        let queries = self.queries().all();
        queries.into_iter().for_each(|it| it.lose(&error));
    }
}
