//! A transport over links that carry frames, such as messages of MPI or of a socket.
//!
//! ```text
//! consumer   request(token) ──────────────> producer polls its supply
//!            <───────────── working            pending: the producer answers later
//!            <───────────── reply(token)       pages, or the failure
//!            repeats the request after a time without an answer
//!            close ─────────────────────────> closes the lane
//!            <───────────── closed lane
//! ```
//!
//! A link may lose, repeat, delay, reorder or damage frames: frames carry a checksum, requests and
//! closes are repeated until they are answered, and tokens tell which reply is new. A task that
//! does not answer [`LinkConfig::tries_max`] times is lost. Time is counted in ticks by the caller
//! of [`LinkTransport::receive`] and [`LinkTransport::advance`]; nothing here waits.

mod client;
mod server;
#[cfg(test)]
mod tests;

use crate::{
    Closed, ContentKind, Delivery, Failure, Message, Offer, PageStream, PageSupply, ProducerId,
    StreamId, Supply, TaskId, Transport, TransportProfile, frame::Frame,
};
use client::Client;
use server::Server;
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Wake, Waker},
};
use volley_error::Result;

/// Carries frames to other tasks; any of them may get lost.
pub trait Link: Send + Sync {
    /// Sends the bytes of a frame.
    fn send(&self, to: TaskId, frame: Vec<u8>);

    /// Asks for a call of [`LinkTransport::advance`]: a page can be sent that was waited for.
    fn wake(&self);
}

/// How long a transport waits for answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Ticks after which a request is repeated.
    pub retry_ticks: u64,
    /// Requests without any answer, after which a task is lost.
    pub tries_max: u32,
    /// What the link is good at. Its content is bytes.
    pub profile: TransportProfile,
}

/// One task's transport over a link.
pub struct LinkTransport(Arc<Node>);

struct Node {
    task: TaskId,
    link: Arc<dyn Link>,
    config: LinkConfig,
    state: Mutex<State>,
    /// Set when a supply that was polled has pages.
    woken: Arc<Woken>,
}

#[derive(Default)]
struct State {
    now: u64,
    client: Client,
    server: Server,
}

struct Woken {
    is_set: AtomicBool,
    link: Arc<dyn Link>,
}

/// A frame to send.
type Outgoing = (TaskId, Frame);

impl LinkConfig {
    /// A pipelined link of bytes that waits `retry_ticks`, `tries_max` times.
    pub fn new(retry_ticks: u64, tries_max: u32) -> LinkConfig {
        let profile = TransportProfile {
            page_bytes: 1 << 20,
            content: ContentKind::Bytes,
            delivery: Delivery::Pipelined,
            bytes_per_second: 1e9,
            round_trip_us: 50.0,
        };
        LinkConfig { retry_ticks, tries_max, profile }
    }
}

impl LinkTransport {
    /// The transport of `task` over `link`.
    pub fn new(task: TaskId, link: Arc<dyn Link>, config: LinkConfig) -> LinkTransport {
        let woken = Woken { is_set: AtomicBool::new(false), link: Arc::clone(&link) };
        let woken = Arc::new(woken);
        LinkTransport(Arc::new(Node { task, link, config, state: Mutex::default(), woken }))
    }

    /// Takes a frame that has arrived from a task. Damaged frames are dropped: they are sent again.
    pub fn receive(&self, from: TaskId, frame: Vec<u8>) {
        let Ok(frame) = Frame::from_bytes(frame) else { return };
        let node = &self.0;
        match frame {
            Frame::Request { stream, token, bytes_max } => {
                node.lock().server.request(from, stream, token, bytes_max);
                node.serve(Some(stream));
            }
            Frame::Close { stream, why } => {
                let supply = node.lock().server.close(stream, why);
                if let Some(supply) = supply {
                    supply.close(stream.lane, why);
                }
                node.send((from, Frame::ClosedLane { stream }));
            }
            Frame::Message { number, message } => {
                let waker = node.lock().server.message(from, number, message);
                node.send((from, Frame::Received { number }));
                waker.into_iter().for_each(Waker::wake);
            }
            answer => {
                let mut state = node.lock();
                let now = state.now;
                let waker = state.client.answer(from, answer, now);
                drop(state);
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }

    /// Sets the time, answers requests whose pages have come, and repeats what was not answered.
    /// Whether anything was sent or has failed.
    pub fn advance(&self, now: u64) -> bool {
        let node = &self.0;
        let mut is_active = node.woken.is_set.swap(false, Ordering::AcqRel) && node.serve(None);
        let mut state = node.lock();
        state.now = state.now.max(now);
        let now = state.now;
        let (frames, wakers) = state.client.retry(now, &node.config);
        drop(state);
        is_active |= !frames.is_empty() || !wakers.is_empty();
        frames.into_iter().for_each(|it| node.send(it));
        wakers.into_iter().for_each(Waker::wake);
        is_active
    }

    /// The tick at which something will be repeated, if nothing comes before.
    pub fn next_retry(&self) -> Option<u64> {
        self.0.lock().client.next_retry(&self.0.config)
    }

    /// Offers, streams and requests that are open.
    pub fn open(&self) -> usize {
        let state = self.0.lock();
        state.client.open() + state.server.open()
    }
}

impl Node {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, (to, frame): Outgoing) {
        let bytes = frame.to_bytes().or_else(|error| match frame {
            // A page that cannot be sent is the producer's failure.
            Frame::Reply { stream, token, .. } => {
                Frame::Failure { stream, token, failure: Failure::new(error) }.to_bytes()
            }
            _ => Err(error),
        });
        if let Ok(bytes) = bytes {
            self.link.send(to, bytes);
        }
    }

    /// Polls supplies for the requests that wait, those of one stream or all. Whether one was
    /// answered.
    fn serve(&self, stream: Option<StreamId>) -> bool {
        let requests = self.lock().server.waiting(stream);
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut is_active = false;
        for (stream, request, supply) in requests {
            let bytes_max = usize::try_from(request.bytes_max).unwrap_or(usize::MAX);
            let polled = match &supply {
                Some(supply) => supply.poll(stream.lane, request.token, bytes_max, &waker),
                None => Poll::Pending,
            };
            let token = request.token;
            let frame = match polled {
                Poll::Ready(Ok(supply)) => Frame::Reply { stream, token, supply },
                Poll::Ready(Err(failure)) => {
                    let failure = failure.through(self.task);
                    Frame::Failure { stream, token, failure }
                }
                Poll::Pending if request.is_new => Frame::Working { stream, token },
                Poll::Pending => continue,
            };
            if !matches!(frame, Frame::Working { .. }) {
                self.lock().server.answered(stream, token);
            }
            is_active = true;
            self.send((request.from, frame));
        }
        is_active
    }
}

impl Transport for LinkTransport {
    fn profile(&self) -> &TransportProfile {
        &self.0.config.profile
    }

    fn offer(&self, from: ProducerId, pages: Arc<dyn PageSupply>) -> Result<Box<dyn Offer>> {
        let closed = self.0.lock().server.offer(from, Arc::clone(&pages))?;
        closed.into_iter().for_each(|(lane, why)| pages.close(lane, why));
        // Requests that came before are answered by the next `advance`.
        self.0.woken.is_set.store(true, Ordering::Release);
        self.0.link.wake();
        Ok(Box::new(LinkOffer { node: Arc::clone(&self.0), id: from }))
    }

    fn open(&self, stream: StreamId) -> Result<Box<dyn PageStream>> {
        self.0.lock().client.open_stream(stream)?;
        Ok(Box::new(LinkStream { node: Arc::clone(&self.0), id: stream, is_closed: false }))
    }

    fn post(&self, to: TaskId, message: Message) -> Result<()> {
        let mut state = self.0.lock();
        let now = state.now;
        let frame = state.client.post(to, message, now);
        drop(state);
        self.0.send((to, frame));
        Ok(())
    }

    fn messages(&self, waker: &Waker) -> Vec<Message> {
        self.0.lock().server.messages(waker)
    }
}

struct LinkOffer {
    node: Arc<Node>,
    id: ProducerId,
}

impl Offer for LinkOffer {}

impl Drop for LinkOffer {
    fn drop(&mut self) {
        self.node.lock().server.withdraw(self.id);
    }
}

struct LinkStream {
    node: Arc<Node>,
    id: StreamId,
    is_closed: bool,
}

impl PageStream for LinkStream {
    fn request(&mut self, bytes_max: usize) {
        let mut state = self.node.lock();
        let now = state.now;
        let frame = state.client.request(self.id, bytes_max as u64, now);
        drop(state);
        frame.into_iter().for_each(|it| self.node.send((self.id.producer.task, it)));
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Result<Supply, Failure>> {
        self.node.lock().client.poll(self.id, waker)
    }

    fn close(&mut self, why: Closed) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let mut state = self.node.lock();
        let now = state.now;
        let frame = state.client.close(self.id, why, now);
        drop(state);
        self.node.send((self.id.producer.task, frame));
    }
}

impl Drop for LinkStream {
    fn drop(&mut self) {
        self.close(Closed::NotNeeded);
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.is_set.store(true, Ordering::Release);
        self.link.wake();
    }
}

impl fmt::Debug for LinkTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("LinkTransport");
        output.field("task", &self.0.task).field("open", &self.open()).finish()
    }
}
