//! The interface of transports: how pages get from the task that makes them to those that read
//! them.

use crate::{Failure, Page};
use std::{
    sync::Arc,
    task::{Poll, Waker},
};
use volley_error::Result;

/// A task: a fragment of a plan on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

/// An exchange of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(pub u32);

/// A task's output to an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProducerId {
    /// The producing task.
    pub task: TaskId,
    /// The edge.
    pub edge: EdgeId,
}

/// The number of a consumer of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u32);

/// One lane of one producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The producer.
    pub producer: ProducerId,
    /// The lane.
    pub lane: Lane,
}

/// What a transport is good at; planning and page sizes follow it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportProfile {
    /// Decoded bytes of a page that suit the link.
    pub page_bytes: usize,
    /// Whether pages cross as bytes, or as the batches that they are.
    pub content: ContentKind,
    /// Whether pages outlive the task that made them.
    pub delivery: Delivery,
    /// Bytes per second between two tasks.
    pub bytes_per_second: f64,
    /// Microseconds from a request to its reply.
    pub round_trip_us: f64,
}

/// What a transport carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Batches, and bytes as well.
    Batches,
    /// Bytes only.
    Bytes,
}

/// When pages of a lane can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// While the producer runs; they are lost with it.
    Pipelined,
    /// After the producer's end; they outlive it.
    Durable,
    /// After the producer's end, all of a lane at once in memory of the consumer.
    Window,
}

/// A way for pages to get from the task that makes them to the tasks that read them: one per task.
///
/// ```text
/// producer   offer(id, pages) ── the transport polls `pages` for each lane's requests
/// consumer   open(stream) ── request(bytes) ── poll ── request(bytes) ── poll ... close
/// ```
///
/// A transport must keep these rules, which [`crate::conformance`] checks: the pages of a lane come
/// in order, each exactly once, unchanged; the end comes after the last page; a failure of the
/// producer reaches each open stream as it is; the loss of a task is a failure of rank
/// [`crate::Rank::PeerLost`]; closing a stream reaches the producer; nothing blocks a thread.
pub trait Transport: Send + Sync {
    /// What the transport is good at.
    fn profile(&self) -> &TransportProfile;

    /// Makes the output of a producer of this task available, until the offer is dropped.
    ///
    /// # Errors
    ///
    /// Internal: the producer is offered already. What the transport reports.
    fn offer(&self, from: ProducerId, pages: Arc<dyn PageSupply>) -> Result<Box<dyn Offer>>;

    /// Opens a lane; its producer may offer it later.
    ///
    /// # Errors
    ///
    /// What the transport reports.
    fn open(&self, stream: StreamId) -> Result<Box<dyn PageStream>>;

    /// Sends a message to a task, once. It is lost with the task.
    ///
    /// # Errors
    ///
    /// What the transport reports.
    fn post(&self, to: TaskId, message: Message) -> Result<()>;

    /// The messages to this task that came since the last call; `waker` is woken for the next one.
    fn messages(&self, waker: &Waker) -> Vec<Message>;
}

/// A message between tasks: dynamic filters, failures, statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends it.
    pub from: TaskId,
    /// What it is about; the receiver knows.
    pub topic: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Keeps an output available; dropping it withdraws the output.
pub trait Offer: Send {}

/// What a producer has. Implemented by [`crate::OutputBuffer`].
pub trait PageSupply: Send + Sync {
    /// The pages of `lane` from page number `token` on, of at most `bytes_max` decoded bytes, but
    /// at least one. Acknowledges the pages before `token`, which are freed; a call with the same
    /// token may be repeated. With `bytes_max` 0 the answer has no pages, only the sizes of waiting
    /// ones. Pending: neither pages nor the end; `waker` is woken when there are.
    ///
    /// # Errors
    ///
    /// The failure of the producer. Internal: a token of pages that were freed or not sent yet.
    fn poll(
        &self,
        lane: Lane,
        token: u64,
        bytes_max: usize,
        waker: &Waker,
    ) -> Poll<Result<Supply, Failure>>;

    /// Ends a lane: its pages are freed, and further ones are dropped.
    fn close(&self, lane: Lane, why: Closed);

    /// The sizes of all lanes, once the input has ended.
    fn sizes(&self) -> Option<Vec<LaneSize>>;
}

/// The consumer's end of a lane.
pub trait PageStream: Send {
    /// Asks for pages of at most `bytes_max` decoded bytes; 0 asks for sizes only. A request
    /// follows the reply to the one before.
    fn request(&mut self, bytes_max: usize);

    /// The reply to the request, once. Pending: `waker` is woken when it is there.
    ///
    /// # Errors
    ///
    /// The failure of the producer or of the transport.
    fn poll(&mut self, waker: &Waker) -> Poll<Result<Supply, Failure>>;

    /// Ends the stream: no more pages are needed. Dropping a stream closes it.
    fn close(&mut self, why: Closed);
}

/// A reply: pages, and what is known of those after them.
#[derive(Clone, Debug, Default)]
pub struct Supply {
    /// Pages in order.
    pub pages: Vec<Page>,
    /// The number of the page after them: the token of the next request.
    pub next_token: u64,
    /// Decoded bytes of pages that wait after them; not necessarily all.
    pub waiting: Vec<u32>,
    /// Whether no page follows these.
    pub is_end: bool,
}

/// Why a lane is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// All pages were read.
    Done,
    /// The consumer needs no further rows.
    NotNeeded,
    /// The consumer failed.
    Failed,
}

/// What a lane had in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneSize {
    /// The number of pages.
    pub pages: u64,
    /// The number of rows.
    pub rows: u64,
    /// Decoded bytes.
    pub bytes: u64,
    /// Bytes of pages as they are sent.
    pub sent_bytes: u64,
    /// Decoded bytes that were written to disk meanwhile.
    pub overflow_bytes: u64,
}
