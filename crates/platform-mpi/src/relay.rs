//! The conformance suite of transports over a real messenger.
//!
//! ```text
//! rank 0         the suite: tasks 0, 1 and 2; a frame from task to task ──> another rank
//! other ranks    echo: send each message back to rank 0
//! ```
//!
//! The suite drives all tasks from one thread, so that a seed gives the same schedule again; each
//! frame crosses the messenger twice, through another process.

use crate::messenger::Messenger;
use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    thread,
};
use volley_error::Result;
use volley_exchange::{Link, LinkConfig, LinkTransport, TaskId, Transport, conformance::Fabric};

/// The number of tasks of the suite.
const TASKS: u32 = 3;

/// Ticks after which a request is repeated, and tries without an answer. Ticks pass only while no
/// frame is under way.
const RETRY_TICKS: u64 = 100;
const TRIES_MAX: u32 = 12;

/// A frame on its way: sender, receiver, bytes.
type Sent = (TaskId, TaskId, Vec<u8>);

/// A messenger that the fabrics of one suite use one after the other.
pub struct Relay {
    messenger: Box<dyn Messenger>,
    /// The number of the fabric that was made last.
    run: u64,
}

/// Three tasks whose frames go through other processes.
pub struct RelayFabric {
    relay: Rc<RefCell<Relay>>,
    run: u64,
    outbox: Arc<Mutex<Vec<Sent>>>,
    nodes: Vec<Arc<LinkTransport>>,
    dead: Vec<TaskId>,
    now: u64,
    /// Frames of this fabric under way.
    under_way: usize,
}

struct RelayLink {
    task: TaskId,
    outbox: Arc<Mutex<Vec<Sent>>>,
}

/// Sends each message back to rank 0, until an empty one comes.
///
/// # Errors
///
/// As [`Messenger::receive`].
pub fn echo(messenger: &mut dyn Messenger) -> Result<()> {
    loop {
        match messenger.receive()? {
            Some((_, message)) if message.is_empty() => break,
            Some((from, message)) => messenger.send(from, message)?,
            None => thread::yield_now(),
        }
        messenger.is_sending()?;
    }
    while messenger.is_sending()? {
        thread::yield_now();
    }
    Ok(())
}

impl Relay {
    /// A relay over the messenger of rank 0 of at least two ranks.
    pub fn new(messenger: Box<dyn Messenger>) -> Rc<RefCell<Relay>> {
        Rc::new(RefCell::new(Relay { messenger, run: 0 }))
    }

    /// Ends `echo` in the other ranks.
    ///
    /// # Errors
    ///
    /// As [`Messenger::send`].
    pub fn finish(&mut self) -> Result<()> {
        for rank in 1..self.messenger.ranks() {
            self.messenger.send(rank, Vec::new())?;
        }
        while self.messenger.is_sending()? {
            thread::yield_now();
        }
        Ok(())
    }

    /// Leaves the job.
    ///
    /// # Errors
    ///
    /// As [`Messenger::finish`].
    pub fn leave(self) -> Result<()> {
        self.messenger.finish()
    }
}

impl RelayFabric {
    /// A fabric; frames of those before are dropped when they come.
    pub fn new(relay: &Rc<RefCell<Relay>>) -> RelayFabric {
        let mut state = relay.borrow_mut();
        state.run += 1;
        let run = state.run;
        drop(state);
        let outbox: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let node = |task| {
            let link = RelayLink { task: TaskId(task), outbox: Arc::clone(&outbox) };
            let config = LinkConfig::new(RETRY_TICKS, TRIES_MAX);
            Arc::new(LinkTransport::new(TaskId(task), Arc::new(link), config))
        };
        let nodes = (0..TASKS).map(node).collect();
        let relay = Rc::clone(relay);
        let dead = Vec::new();
        RelayFabric { relay, run, outbox, nodes, dead, now: 0, under_way: 0 }
    }

    fn living(&self) -> Vec<Arc<LinkTransport>> {
        let living = self.nodes.iter().zip(0..).filter(|it| !self.dead.contains(&TaskId(it.1)));
        living.map(|it| Arc::clone(it.0)).collect()
    }

    /// Sends what was posted, through the other ranks in turn of the receivers.
    fn send(&mut self) -> Result<()> {
        let posted = std::mem::take(&mut *lock(&self.outbox));
        let mut relay = self.relay.borrow_mut();
        let others = relay.messenger.ranks().saturating_sub(1).max(1);
        for (from, to, mut bytes) in posted {
            if self.dead.contains(&from) || self.dead.contains(&to) {
                continue;
            }
            bytes.extend_from_slice(&self.run.to_le_bytes());
            bytes.extend_from_slice(&from.0.to_le_bytes());
            bytes.extend_from_slice(&to.0.to_le_bytes());
            relay.messenger.send(1 + to.0 as usize % others, bytes)?;
            self.under_way += 1;
        }
        Ok(())
    }

    /// Waits for a frame that is under way; whether one of this fabric came.
    fn receive(&mut self) -> Result<bool> {
        while self.under_way > 0 {
            let mut relay = self.relay.borrow_mut();
            relay.messenger.is_sending()?;
            let Some((_, mut bytes)) = relay.messenger.receive()? else {
                drop(relay);
                thread::yield_now();
                continue;
            };
            drop(relay);
            let end = bytes.len().saturating_sub(16);
            let (run, from, to) = trailer(bytes.get(end..).unwrap_or_default());
            if run != self.run {
                continue;
            }
            self.under_way -= 1;
            bytes.truncate(end);
            if let Some(node) = self.nodes.get(to.0 as usize)
                && !self.dead.contains(&to)
                && !self.dead.contains(&from)
            {
                node.receive(from, bytes);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step(&mut self) -> Result<bool> {
        self.send()?;
        if self.receive()? {
            return Ok(true);
        }
        let living = self.living();
        let advance = |now: u64| living.iter().fold(false, |any, it| it.advance(now) | any);
        if advance(self.now) {
            return Ok(true);
        }
        // Nothing is under way: what was not answered is lost.
        let Some(next) = living.iter().filter_map(|it| it.next_retry()).min() else {
            return Ok(false);
        };
        self.now = self.now.max(next);
        advance(self.now);
        Ok(true)
    }
}

fn trailer(bytes: &[u8]) -> (u64, TaskId, TaskId) {
    let run = bytes.first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
    let task = |at: usize| {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
        TaskId(bytes.map_or(u32::MAX, |it| u32::from_le_bytes(*it)))
    };
    (run, task(8), task(12))
}

impl Fabric for RelayFabric {
    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        let node: Arc<LinkTransport> = Arc::clone(&self.nodes[task.0 as usize]);
        node
    }

    fn advance(&mut self) -> bool {
        // After an error nothing arrives any more: the case reports that the edge hangs.
        self.step().unwrap_or(false)
    }

    fn kill(&mut self, task: TaskId) {
        self.dead.push(task);
    }

    fn open_edges(&self) -> usize {
        self.living().iter().map(|it| it.open()).sum()
    }
}

impl Link for RelayLink {
    fn send(&self, to: TaskId, frame: Vec<u8>) {
        lock(&self.outbox).push((self.task, to, frame));
    }

    fn wake(&self) {}
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messenger::Channels;
    use volley_exchange::conformance::transport;

    #[test]
    fn the_suite_passes_through_other_threads() {
        let mut channels = Channels::connected(3);
        let mut echoes = Vec::new();
        while channels.len() > 1 {
            let mut messenger = channels.pop().unwrap();
            echoes.push(thread::spawn(move || echo(&mut messenger)));
        }
        let relay = Relay::new(Box::new(channels.pop().unwrap()));
        let found = transport(0..3, |_| RelayFabric::new(&relay));
        assert_eq!(found, Ok(()), "{}", found.clone().unwrap_err());
        relay.borrow_mut().finish().unwrap();
        for echo in echoes {
            echo.join().unwrap().unwrap();
        }
    }
}
