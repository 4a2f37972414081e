//! The consumer's half: streams, and what must be sent until it is answered.

use super::{LinkConfig, Outgoing};
use crate::{Closed, Failure, Message, StreamId, Supply, TaskId, frame::Frame};
use std::{
    collections::{HashMap, hash_map::Entry},
    task::{Poll, Waker},
};
use volley_error::{Error, Result};

#[derive(Default)]
pub(super) struct Client {
    streams: HashMap<StreamId, Stream>,
    /// Closes without an answer.
    closing: HashMap<StreamId, (Closed, Unanswered)>,
    /// Messages without an answer, by receiver and number.
    messages: HashMap<(TaskId, u64), (Message, Unanswered)>,
    /// The number of the next message to each task.
    next_number: HashMap<TaskId, u64>,
}

#[derive(Default)]
struct Stream {
    /// The number of the next page.
    token: u64,
    request: Option<(u64, Unanswered)>,
    reply: Option<Result<Supply, Failure>>,
    waker: Option<Waker>,
}

/// What was sent and not answered.
#[derive(Clone, Copy)]
struct Unanswered {
    /// The tick of the last try or sign of life.
    since: u64,
    /// Tries without a sign of life.
    tries: u32,
}

impl Unanswered {
    fn new(now: u64) -> Unanswered {
        Unanswered { since: now, tries: 1 }
    }

    /// Counts a try if it is time for one; `None` if it is not, false after the last one.
    fn retry(&mut self, now: u64, config: &LinkConfig) -> Option<bool> {
        if now < self.since + config.retry_ticks {
            return None;
        }
        self.since = now;
        self.tries += 1;
        Some(self.tries <= config.tries_max)
    }
}

impl Client {
    pub(super) fn open_stream(&mut self, id: StreamId) -> Result<()> {
        match self.streams.entry(id) {
            Entry::Occupied(_) => Err(Error::internal(format!("{id:?} is open already"))),
            Entry::Vacant(entry) => {
                entry.insert(Stream::default());
                Ok(())
            }
        }
    }

    pub(super) fn open(&self) -> usize {
        self.streams.len() + self.closing.len() + self.messages.len()
    }

    /// Begins a request; the frame to send.
    pub(super) fn request(&mut self, id: StreamId, bytes_max: u64, now: u64) -> Option<Frame> {
        let stream = self.streams.get_mut(&id)?;
        // After a failure, the failure is the reply to every request.
        if matches!(stream.reply, Some(Err(_))) {
            return None;
        }
        stream.request = Some((bytes_max, Unanswered::new(now)));
        Some(Frame::Request { stream: id, token: stream.token, bytes_max })
    }

    pub(super) fn poll(&mut self, id: StreamId, waker: &Waker) -> Poll<Result<Supply, Failure>> {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Poll::Ready(Err(Error::internal("a poll of a closed stream").into()));
        };
        match stream.reply.take() {
            Some(Ok(supply)) => Poll::Ready(Ok(supply)),
            Some(Err(failure)) => {
                stream.reply = Some(Err(failure.clone()));
                Poll::Ready(Err(failure))
            }
            None => {
                stream.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// Ends a stream; the frame to send.
    pub(super) fn close(&mut self, id: StreamId, why: Closed, now: u64) -> Frame {
        self.streams.remove(&id);
        self.closing.insert(id, (why, Unanswered::new(now)));
        Frame::Close { stream: id, why }
    }

    /// Begins to send a message; the frame to send.
    pub(super) fn post(&mut self, to: TaskId, message: Message, now: u64) -> Frame {
        let next = self.next_number.entry(to).or_default();
        let number = *next;
        *next += 1;
        self.messages.insert((to, number), (message.clone(), Unanswered::new(now)));
        Frame::Message { number, message }
    }

    /// Takes an answer; the waker to wake. Answers that are late or repeated are dropped.
    pub(super) fn answer(&mut self, from: TaskId, frame: Frame, now: u64) -> Option<Waker> {
        match frame {
            Frame::Working { stream, token } => {
                let stream = self.streams.get_mut(&stream)?;
                if let Some((_, unanswered)) = &mut stream.request
                    && stream.token == token
                {
                    *unanswered = Unanswered { since: now, tries: 0 };
                }
                None
            }
            Frame::Reply { stream, token, supply } => {
                let stream = self.streams.get_mut(&stream)?;
                let (bytes_max, _) = stream.request?;
                // Of a request for sizes, or for pages, that was answered before.
                let is_other = (bytes_max == 0) != supply.pages.is_empty() && !supply.is_end;
                let follows = supply.next_token == token + supply.pages.len() as u64;
                if token != stream.token || is_other || !follows {
                    return None;
                }
                stream.request = None;
                stream.token = supply.next_token;
                stream.reply = Some(Ok(supply));
                stream.waker.take()
            }
            Frame::Failure { stream, failure, .. } => {
                let stream = self.streams.get_mut(&stream)?;
                stream.request.take()?;
                stream.reply = Some(Err(failure));
                stream.waker.take()
            }
            Frame::ClosedLane { stream } => {
                self.closing.remove(&stream);
                None
            }
            Frame::Received { number } => {
                self.messages.remove(&(from, number));
                None
            }
            _ => None,
        }
    }

    /// What to send again, and whom to wake because a task is lost.
    pub(super) fn retry(&mut self, now: u64, config: &LinkConfig) -> (Vec<Outgoing>, Vec<Waker>) {
        let (mut frames, mut wakers) = (Vec::new(), Vec::new());
        for (id, stream) in &mut self.streams {
            let Some((bytes_max, unanswered)) = &mut stream.request else { continue };
            let bytes_max = *bytes_max;
            match unanswered.retry(now, config) {
                None => {}
                Some(true) => {
                    let frame = Frame::Request { stream: *id, token: stream.token, bytes_max };
                    frames.push((id.producer.task, frame));
                }
                Some(false) => {
                    stream.request = None;
                    stream.reply = Some(Err(Failure::peer_lost(id.producer.task)));
                    wakers.extend(stream.waker.take());
                }
            }
        }
        self.closing.retain(|id, (why, unanswered)| match unanswered.retry(now, config) {
            None => true,
            Some(true) => {
                frames.push((id.producer.task, Frame::Close { stream: *id, why: *why }));
                true
            }
            Some(false) => false,
        });
        self.messages.retain(|(to, number), (message, unanswered)| {
            match unanswered.retry(now, config) {
                None => true,
                Some(true) => {
                    let (number, message) = (*number, message.clone());
                    frames.push((*to, Frame::Message { number, message }));
                    true
                }
                Some(false) => false,
            }
        });
        (frames, wakers)
    }

    pub(super) fn next_retry(&self, config: &LinkConfig) -> Option<u64> {
        let requests = self.streams.values().filter_map(|it| it.request.map(|it| it.1));
        let closing = self.closing.values().map(|it| it.1);
        let messages = self.messages.values().map(|it| it.1);
        let all = requests.chain(closing).chain(messages);
        all.map(|it| it.since + config.retry_ticks).min()
    }
}
