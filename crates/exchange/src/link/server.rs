//! The producer's half: offers, requests that wait for pages, messages that came.

use crate::{Closed, Lane, Message, PageSupply, ProducerId, StreamId, TaskId};
use std::{
    collections::{BTreeSet, HashMap},
    mem::take,
    sync::Arc,
    task::Waker,
};
use volley_error::{Error, Result};

#[derive(Default)]
pub(super) struct Server {
    offers: HashMap<ProducerId, Arc<dyn PageSupply>>,
    lanes: HashMap<StreamId, LaneState>,
    messages: Vec<Message>,
    received: HashMap<TaskId, Received>,
    waker: Option<Waker>,
}

/// What is known of a lane's consumer.
#[derive(Default)]
struct LaneState {
    /// The largest token that was asked for: requests with a smaller one are late.
    token: u64,
    request: Option<Request>,
    closed: Option<Closed>,
}

/// A request that was not answered.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) from: TaskId,
    pub(super) token: u64,
    pub(super) bytes_max: u64,
    /// Whether it was not polled before.
    pub(super) is_new: bool,
}

/// The numbers of messages that came from a task.
#[derive(Default)]
struct Received {
    /// All below have come.
    below: u64,
    others: BTreeSet<u64>,
}

impl Server {
    /// Adds an offer; the lanes that were closed before.
    pub(super) fn offer(
        &mut self,
        id: ProducerId,
        supply: Arc<dyn PageSupply>,
    ) -> Result<Vec<(Lane, Closed)>> {
        if self.offers.contains_key(&id) {
            return Err(Error::internal(format!("{id:?} is offered already")));
        }
        self.offers.insert(id, supply);
        let of_offer = self.lanes.iter().filter(|it| it.0.producer == id);
        Ok(of_offer.filter_map(|(id, it)| Some((id.lane, it.closed?))).collect())
    }

    pub(super) fn withdraw(&mut self, id: ProducerId) {
        self.offers.remove(&id);
        self.lanes.retain(|it, lane| it.producer != id || lane.closed.is_some());
    }

    pub(super) fn open(&self) -> usize {
        let requests = self.lanes.values().filter(|it| it.request.is_some()).count();
        self.offers.len() + requests
    }

    /// Notes a request, unless it is late.
    pub(super) fn request(&mut self, from: TaskId, stream: StreamId, token: u64, bytes_max: u64) {
        let lane = self.lanes.entry(stream).or_default();
        if token < lane.token || lane.closed.is_some() {
            return;
        }
        lane.token = token;
        lane.request = Some(Request { from, token, bytes_max, is_new: true });
    }

    /// Ends a lane; the supply to close. A close that is repeated closes nothing.
    pub(super) fn close(&mut self, stream: StreamId, why: Closed) -> Option<Arc<dyn PageSupply>> {
        let lane = self.lanes.entry(stream).or_default();
        lane.request = None;
        if lane.closed.replace(why).is_some() {
            return None;
        }
        self.offers.get(&stream.producer).cloned()
    }

    /// The requests without an answer, of one stream or all, and what answers them.
    pub(super) fn waiting(
        &mut self,
        stream: Option<StreamId>,
    ) -> Vec<(StreamId, Request, Option<Arc<dyn PageSupply>>)> {
        let Server { offers, lanes, .. } = self;
        let of_stream = lanes.iter_mut().filter(|it| stream.is_none_or(|stream| *it.0 == stream));
        let waiting = of_stream.filter_map(|(id, lane)| {
            let request = lane.request.as_mut()?;
            let found = *request;
            request.is_new = false;
            Some((*id, found, offers.get(&id.producer).cloned()))
        });
        waiting.collect()
    }

    /// The request with `token` was answered.
    pub(super) fn answered(&mut self, stream: StreamId, token: u64) {
        if let Some(lane) = self.lanes.get_mut(&stream)
            && lane.request.is_some_and(|it| it.token == token)
        {
            lane.request = None;
        }
    }

    /// Keeps a message, unless it came before; the waker to wake.
    pub(super) fn message(&mut self, from: TaskId, number: u64, message: Message) -> Option<Waker> {
        if !self.received.entry(from).or_default().is_new(number) {
            return None;
        }
        self.messages.push(message);
        self.waker.take()
    }

    pub(super) fn messages(&mut self, waker: &Waker) -> Vec<Message> {
        self.waker = Some(waker.clone());
        take(&mut self.messages)
    }
}

impl Received {
    /// Notes a number; whether it is new.
    fn is_new(&mut self, number: u64) -> bool {
        if number < self.below || !self.others.insert(number) {
            return false;
        }
        while self.others.remove(&self.below) {
            self.below += 1;
        }
        true
    }
}
