//! The transport of a task some of whose peers are in its own process: pages stay in the process
//! where they can.
//!
//! ```text
//! producer   offer ──> hub of the process: lanes that its own tasks read
//!                 └──> link: lanes that tasks of other processes read
//! consumer   open  ──> hub, or link, by the process of the producer
//! ```

use crate::{
    InProcessTransport, LinkTransport, Message, Offer, PageStream, PageSupply, ProducerId,
    StreamId, TaskId, Transport, TransportProfile,
};
use std::{fmt, sync::Arc, task::Waker};
use volley_error::Result;

/// Says whether a task runs in this process.
pub type IsHere = Arc<dyn Fn(TaskId) -> bool + Send + Sync>;

/// One task's transport to tasks of its process and of others.
pub struct RoutedTransport {
    near: InProcessTransport,
    far: Arc<LinkTransport>,
    is_here: IsHere,
}

/// Keeps an output available to both kinds of readers.
struct RoutedOffer {
    _near: Box<dyn Offer>,
    _far: Box<dyn Offer>,
}

impl RoutedTransport {
    /// A transport that reaches the tasks for which `is_here` answers true by `near`, and the
    /// others by `far`.
    pub fn new(
        near: InProcessTransport,
        far: Arc<LinkTransport>,
        is_here: IsHere,
    ) -> RoutedTransport {
        RoutedTransport { near, far, is_here }
    }
}

impl Transport for RoutedTransport {
    fn profile(&self) -> &TransportProfile {
        self.far.profile()
    }

    fn offer(&self, from: ProducerId, pages: Arc<dyn PageSupply>) -> Result<Box<dyn Offer>> {
        // Each lane has one reader, which asks one of the two.
        let near = self.near.offer(from, Arc::clone(&pages))?;
        let far = self.far.offer(from, pages)?;
        Ok(Box::new(RoutedOffer { _near: near, _far: far }))
    }

    fn open(&self, stream: StreamId) -> Result<Box<dyn PageStream>> {
        match (self.is_here)(stream.producer.task) {
            true => self.near.open(stream),
            false => Transport::open(&*self.far, stream),
        }
    }

    fn post(&self, to: TaskId, message: Message) -> Result<()> {
        match (self.is_here)(to) {
            true => self.near.post(to, message),
            false => self.far.post(to, message),
        }
    }

    fn messages(&self, waker: &Waker) -> Vec<Message> {
        let mut messages = self.near.messages(waker);
        messages.extend(self.far.messages(waker));
        messages
    }
}

impl Offer for RoutedOffer {}

impl fmt::Debug for RoutedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutedTransport").field("far", &self.far).finish_non_exhaustive()
    }
}
