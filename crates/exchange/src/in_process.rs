//! The transport between tasks of one process: streams poll the supply of the producer.
//!
//! Pages cross as they are: as batches, or as bytes if the producer encodes them.

use crate::{
    Closed, ContentKind, Delivery, Failure, Message, Offer, PageStream, PageSupply, ProducerId,
    StreamId, Supply, TaskId, Transport, TransportProfile,
};
use std::{
    collections::{HashMap, HashSet},
    mem::take,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};
use volley_error::{Error, Result};

/// Tasks of one process that exchange pages. Clones are the same hub.
#[derive(Clone, Debug, Default)]
pub struct InProcessHub(Arc<Mutex<Hub>>);

/// One task's transport within a process.
#[derive(Debug)]
pub struct InProcessTransport {
    hub: InProcessHub,
    task: TaskId,
    profile: TransportProfile,
}

#[derive(Default)]
struct Hub {
    offers: HashMap<ProducerId, Arc<dyn PageSupply>>,
    /// Lanes that were closed before their producer's offer.
    closed: HashMap<StreamId, Closed>,
    /// Streams that wait for an offer.
    waiting: HashMap<StreamId, Waker>,
    lost: HashSet<TaskId>,
    messages: HashMap<TaskId, (Vec<Message>, Option<Waker>)>,
}

struct InProcessOffer {
    hub: InProcessHub,
    id: ProducerId,
}

struct InProcessStream {
    hub: InProcessHub,
    id: StreamId,
    token: u64,
    /// Of the request under way.
    bytes_max: Option<usize>,
    is_closed: bool,
}

impl InProcessHub {
    /// The transport of a task.
    pub fn transport(&self, task: TaskId) -> InProcessTransport {
        let profile = TransportProfile {
            page_bytes: 1 << 20,
            content: ContentKind::Batches,
            delivery: Delivery::Pipelined,
            // A batch is passed by reference.
            bytes_per_second: f64::INFINITY,
            round_trip_us: 1.0,
        };
        InProcessTransport { hub: self.clone(), task, profile }
    }

    /// Treats a task as lost: its offers are gone, and its streams fail.
    pub fn lose(&self, task: TaskId) {
        let mut hub = self.lock();
        hub.lost.insert(task);
        hub.offers.retain(|it, _| it.task != task);
        hub.messages.remove(&task);
        let wakers: Vec<Waker> = take(&mut hub.waiting).into_values().collect();
        drop(hub);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The number of offers, and of streams that wait for one: 0 and 0 once all edges are closed.
    pub fn open(&self) -> (usize, usize) {
        let hub = self.lock();
        (hub.offers.len(), hub.waiting.len())
    }

    fn lock(&self) -> MutexGuard<'_, Hub> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for InProcessTransport {
    fn profile(&self) -> &TransportProfile {
        &self.profile
    }

    fn offer(&self, from: ProducerId, pages: Arc<dyn PageSupply>) -> Result<Box<dyn Offer>> {
        let mut hub = self.hub.lock();
        if hub.offers.contains_key(&from) {
            return Err(Error::internal(format!("{from:?} is offered already")));
        }
        hub.offers.insert(from, Arc::clone(&pages));
        let (mut wakers, mut closed) = (Vec::new(), Vec::new());
        hub.waiting.retain(|id, waker| {
            let is_other = id.producer != from;
            if !is_other {
                wakers.push(waker.clone());
            }
            is_other
        });
        hub.closed.retain(|id, why| {
            let is_other = id.producer != from;
            if !is_other {
                closed.push((id.lane, *why));
            }
            is_other
        });
        drop(hub);
        closed.into_iter().for_each(|(lane, why)| pages.close(lane, why));
        wakers.into_iter().for_each(Waker::wake);
        Ok(Box::new(InProcessOffer { hub: self.hub.clone(), id: from }))
    }

    fn open(&self, id: StreamId) -> Result<Box<dyn PageStream>> {
        let hub = self.hub.clone();
        Ok(Box::new(InProcessStream { hub, id, token: 0, bytes_max: None, is_closed: false }))
    }

    fn post(&self, to: TaskId, message: Message) -> Result<()> {
        let mut hub = self.hub.lock();
        if hub.lost.contains(&to) {
            return Ok(());
        }
        let (messages, waker) = hub.messages.entry(to).or_default();
        messages.push(message);
        let waker = waker.take();
        drop(hub);
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    fn messages(&self, waker: &Waker) -> Vec<Message> {
        let mut hub = self.hub.lock();
        let (messages, waiting) = hub.messages.entry(self.task).or_default();
        *waiting = Some(waker.clone());
        take(messages)
    }
}

impl Offer for InProcessOffer {}

impl Drop for InProcessOffer {
    fn drop(&mut self) {
        self.hub.lock().offers.remove(&self.id);
    }
}

impl PageStream for InProcessStream {
    fn request(&mut self, bytes_max: usize) {
        self.bytes_max = Some(bytes_max);
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Result<Supply, Failure>> {
        let Some(bytes_max) = self.bytes_max else {
            return Poll::Ready(Err(Error::internal("a poll without a request").into()));
        };
        let mut hub = self.hub.lock();
        if hub.lost.contains(&self.id.producer.task) {
            return Poll::Ready(Err(Failure::peer_lost(self.id.producer.task)));
        }
        let Some(supply) = hub.offers.get(&self.id.producer).cloned() else {
            hub.waiting.insert(self.id, waker.clone());
            return Poll::Pending;
        };
        drop(hub);
        let reply = supply.poll(self.id.lane, self.token, bytes_max, waker);
        match &reply {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(supply)) => self.token = supply.next_token,
            Poll::Ready(Err(_)) => {}
        }
        self.bytes_max = None;
        reply
    }

    fn close(&mut self, why: Closed) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let mut hub = self.hub.lock();
        hub.waiting.remove(&self.id);
        let supply = hub.offers.get(&self.id.producer).cloned();
        if supply.is_none() && why != Closed::Done {
            hub.closed.insert(self.id, why);
        }
        drop(hub);
        if let Some(supply) = supply {
            supply.close(self.id.lane, why);
        }
    }
}

impl Drop for InProcessStream {
    fn drop(&mut self) {
        self.close(Closed::NotNeeded);
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut output = f.debug_struct("Hub");
        output.field("offers", &self.offers.keys()).field("lost", &self.lost).finish()
    }
}
