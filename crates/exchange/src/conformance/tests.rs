//! The in-process transport passes the suite; a canary that breaks a rule does not.

use super::*;
use crate::{
    Closed, Failure, InProcessHub, Message, Offer, PageStream, PageSupply, ProducerId, StreamId,
    Supply, TransportProfile,
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    task::{Poll, Waker},
};
use volley_error::{Error, Result};
use volley_vector::Buffer;

/// One process: nothing happens by itself.
struct InProcess(InProcessHub);

impl Fabric for InProcess {
    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        Arc::new(self.0.transport(task))
    }

    fn advance(&mut self) -> bool {
        false
    }

    fn kill(&mut self, task: TaskId) {
        self.0.lose(task);
    }

    fn open_edges(&self) -> usize {
        let (offers, waiting) = self.0.open();
        offers + waiting
    }
}

#[test]
fn the_in_process_transport_passes() {
    let found = transport(0..60, |_| InProcess(InProcessHub::default()));
    assert_eq!(found, Ok(()), "{}", found.clone().unwrap_err());
}

/// A rule that the canary breaks once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    SwapsPages,
    RepeatsPage,
    LosesPage,
    ChangesPage,
    EndsEarly,
    NeverEnds,
    RepliesNothing,
    SwallowsFailure,
    ChangesFailure,
    SwallowsClose,
    IgnoresLimit,
    NeverWakes,
    RepeatsMessage,
    LosesMessage,
    ChangesMessage,
}

const ALL: [Broken; 15] = [
    Broken::SwapsPages,
    Broken::RepeatsPage,
    Broken::LosesPage,
    Broken::ChangesPage,
    Broken::EndsEarly,
    Broken::NeverEnds,
    Broken::RepliesNothing,
    Broken::SwallowsFailure,
    Broken::ChangesFailure,
    Broken::SwallowsClose,
    Broken::IgnoresLimit,
    Broken::NeverWakes,
    Broken::RepeatsMessage,
    Broken::LosesMessage,
    Broken::ChangesMessage,
];

struct Canary {
    inner: InProcess,
    broken: Broken,
    has_sung: Arc<AtomicBool>,
}

struct CanaryTransport {
    inner: Arc<dyn Transport>,
    broken: Broken,
    has_sung: Arc<AtomicBool>,
}

struct CanaryStream {
    inner: Box<dyn PageStream>,
    broken: Broken,
    has_sung: Arc<AtomicBool>,
    is_stuck: bool,
    closes: bool,
}

impl Fabric for Canary {
    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        let inner = self.inner.transport(task);
        let has_sung = Arc::clone(&self.has_sung);
        Arc::new(CanaryTransport { inner, broken: self.broken, has_sung })
    }

    fn advance(&mut self) -> bool {
        self.inner.advance()
    }

    fn kill(&mut self, task: TaskId) {
        self.inner.kill(task);
    }

    fn open_edges(&self) -> usize {
        self.inner.open_edges()
    }
}

/// Whether `broken` is what the canary breaks, and it did not yet.
fn sings(broken: Broken, own: Broken, has_sung: &AtomicBool) -> bool {
    broken == own && !has_sung.swap(true, Ordering::Relaxed)
}

impl Transport for CanaryTransport {
    fn profile(&self) -> &TransportProfile {
        self.inner.profile()
    }

    fn offer(&self, from: ProducerId, pages: Arc<dyn PageSupply>) -> Result<Box<dyn Offer>> {
        self.inner.offer(from, pages)
    }

    fn open(&self, stream: StreamId) -> Result<Box<dyn PageStream>> {
        let (inner, has_sung) = (self.inner.open(stream)?, Arc::clone(&self.has_sung));
        let (broken, is_stuck) = (self.broken, false);
        Ok(Box::new(CanaryStream { inner, broken, has_sung, is_stuck, closes: true }))
    }

    fn post(&self, to: TaskId, mut message: Message) -> Result<()> {
        if sings(Broken::LosesMessage, self.broken, &self.has_sung) {
            return Ok(());
        }
        if sings(Broken::RepeatsMessage, self.broken, &self.has_sung) {
            self.inner.post(to, message.clone())?;
        }
        if !message.bytes.is_empty() && sings(Broken::ChangesMessage, self.broken, &self.has_sung) {
            message.bytes[0] ^= 1;
        }
        self.inner.post(to, message)
    }

    fn messages(&self, waker: &Waker) -> Vec<Message> {
        self.inner.messages(waker)
    }
}

impl CanaryStream {
    fn sings(&self, broken: Broken) -> bool {
        sings(broken, self.broken, &self.has_sung)
    }

    fn damage(&self, supply: &mut Supply) {
        let pages = supply.pages.len();
        if pages > 1 && self.sings(Broken::SwapsPages) {
            supply.pages.swap(0, 1);
        }
        if pages > 0 && self.sings(Broken::RepeatsPage) {
            supply.pages.insert(0, supply.pages[0].clone());
        }
        if pages > 0 && self.sings(Broken::LosesPage) {
            supply.pages.remove(0);
            supply.is_end |= supply.pages.is_empty();
        }
        if pages > 0 && self.sings(Broken::ChangesPage) {
            let crate::PageContent::Bytes(bytes) = &supply.pages[0].content else { return };
            let mut bytes = bytes.to_vec();
            bytes[40] ^= 4;
            supply.pages[0].content = crate::PageContent::Bytes(Buffer::from_vec(bytes));
        }
        if pages > 0 && !supply.is_end && self.sings(Broken::EndsEarly) {
            supply.is_end = true;
        }
        if supply.is_end && pages > 0 && self.sings(Broken::NeverEnds) {
            supply.is_end = false;
        }
        if !supply.is_end && self.sings(Broken::RepliesNothing) {
            supply.pages.clear();
        }
    }
}

impl PageStream for CanaryStream {
    fn request(&mut self, bytes_max: usize) {
        let is_breaking = self.broken == Broken::IgnoresLimit;
        self.inner.request(if is_breaking { usize::MAX } else { bytes_max });
    }

    fn poll(&mut self, waker: &Waker) -> Poll<Result<Supply, Failure>> {
        if self.is_stuck || self.sings(Broken::NeverWakes) {
            self.is_stuck = true;
            return Poll::Pending;
        }
        match self.inner.poll(waker) {
            Poll::Ready(Ok(mut supply)) => {
                let was_end = supply.is_end;
                self.damage(&mut supply);
                // After an end that was withheld, nothing comes.
                self.is_stuck = was_end && !supply.is_end;
                Poll::Ready(Ok(supply))
            }
            Poll::Ready(Err(_)) if self.sings(Broken::SwallowsFailure) => {
                Poll::Ready(Ok(Supply { is_end: true, ..Supply::default() }))
            }
            Poll::Ready(Err(_)) if self.sings(Broken::ChangesFailure) => {
                Poll::Ready(Err(Error::internal("it failed").into()))
            }
            other => other,
        }
    }

    fn close(&mut self, why: Closed) {
        if self.sings(Broken::SwallowsClose) {
            self.closes = false;
        }
        if self.closes {
            self.inner.close(why);
        }
    }
}

impl Drop for CanaryStream {
    fn drop(&mut self) {
        if !self.closes {
            // The inner stream would close itself.
            let idle = Box::new(Idle);
            std::mem::forget(std::mem::replace(&mut self.inner, idle));
        }
    }
}

struct Idle;

impl PageStream for Idle {
    fn request(&mut self, _: usize) {}

    fn poll(&mut self, _: &Waker) -> Poll<Result<Supply, Failure>> {
        Poll::Pending
    }

    fn close(&mut self, _: Closed) {}
}

#[test]
fn a_canary_that_breaks_a_rule_once_fails() {
    let canary = |broken| {
        transport(0..20, |_| Canary {
            inner: InProcess(InProcessHub::default()),
            broken,
            has_sung: Arc::default(),
        })
    };
    assert_eq!(canary(Broken::Nothing), Ok(()), "the canary itself passes");
    for broken in ALL {
        assert!(canary(broken).is_err(), "{broken:?} is not noticed");
    }
}
