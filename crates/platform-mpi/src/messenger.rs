//! What carries messages between processes.

use std::sync::mpsc::{Receiver, Sender, channel};
use volley_error::{Error, ErrorKind, Result};

/// Carries messages between the processes of a job: between each two of them in order, without
/// loss. One thread has it and never waits in it.
pub trait Messenger {
    /// The number of this process.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn ranks(&self) -> usize;

    /// How many of them share this process's machine; at least one.
    fn ranks_of_machine(&self) -> usize;

    /// Begins to send a message to another process.
    ///
    /// # Errors
    ///
    /// I/O: the process is lost. Unsupported: a message that is too long.
    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<()>;

    /// A message that has arrived, and the process that sent it.
    ///
    /// # Errors
    ///
    /// I/O: a process is lost.
    fn receive(&mut self) -> Result<Option<(usize, Vec<u8>)>>;

    /// Whether messages are still being sent.
    ///
    /// # Errors
    ///
    /// I/O: a process is lost.
    fn is_sending(&mut self) -> Result<bool>;

    /// Leaves the job, when nothing is being sent.
    ///
    /// # Errors
    ///
    /// What the library reports.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Connects threads of one process, for tests.
pub struct Channels {
    rank: usize,
    senders: Vec<Sender<(usize, Vec<u8>)>>,
    receiver: Receiver<(usize, Vec<u8>)>,
}

impl Channels {
    /// One for each of `ranks` threads.
    pub fn connected(ranks: usize) -> Vec<Channels> {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
        let channels = receivers.into_iter().enumerate();
        channels
            .map(|(rank, receiver)| Channels { rank, senders: senders.clone(), receiver })
            .collect()
    }
}

impl Messenger for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.senders.len()
    }

    fn ranks_of_machine(&self) -> usize {
        self.senders.len()
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<()> {
        let sender = self.senders.get(to).ok_or_else(|| Error::internal("no such rank"))?;
        let sent = sender.send((self.rank, message));
        sent.map_err(|_| Error::new(ErrorKind::Io, format!("lost rank {to}")))
    }

    fn receive(&mut self) -> Result<Option<(usize, Vec<u8>)>> {
        Ok(self.receiver.try_recv().ok())
    }

    fn is_sending(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
