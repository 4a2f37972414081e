//! The processes of a job.

use crate::{
    message::{Message, ScanId},
    messenger::Messenger,
    node::Node,
    query::{PAGE_BYTES, Query},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
};
use volley_error::{Error, Result};
use volley_exchange::{EdgeId, Failure};
use volley_schedule::{PartialQuery, Platform, ProcessEnd, Processes, TaskNumbers};

/// Starts the tasks of a query, whose spec another process has sent, in this one.
pub type StartFragments<'a> = &'a dyn Fn(&[u8], Arc<dyn Processes>) -> Result<PartialQuery>;

/// A process of a job, and what connects it with the others. Dropping it leaves the job.
///
/// ```text
/// rank 0       join ── wait_ready ── queries on it as a Platform ── leave
/// other ranks  join ── ready ── serve, until rank 0 leaves
/// ```
pub struct World {
    node: Arc<Node>,
    events: Mutex<Receiver<(u64, Message)>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl World {
    /// Joins the job on a thread of its own, which makes all calls of the messenger.
    ///
    /// # Errors
    ///
    /// What `join` reports; the thread cannot be started.
    pub fn join(
        join: impl FnOnce() -> Result<Box<dyn Messenger>> + Send + 'static,
    ) -> Result<World> {
        let (joined, node) = channel();
        let (sender, events) = channel();
        let run = move || match join() {
            Ok(messenger) => {
                let node = Node::new(&*messenger, sender);
                if joined.send(Ok(Arc::clone(&node))).is_ok() {
                    node.run(messenger);
                }
            }
            Err(error) => drop(joined.send(Err(error))),
        };
        let spawned = thread::Builder::new().name("volley-mpi".to_owned()).spawn(run);
        let thread = spawned.map_err(|it| Error::io("thread of MPI", it))?;
        let node = node.recv().map_err(|_| Error::internal("the thread of MPI ended"))??;
        Ok(World { node, events: Mutex::new(events), thread: Mutex::new(Some(thread)) })
    }

    /// The number of this process.
    pub fn rank(&self) -> usize {
        self.node.rank
    }

    /// How many processes of the job share this one's machine.
    pub fn ranks_of_machine(&self) -> usize {
        self.node.ranks_of_machine
    }

    /// Tells rank 0 that this rank can run queries, or why it cannot.
    pub fn ready(&self, state: Result<()>) {
        let failure = state.err().map(Failure::new);
        self.node.post(0, Message::Ready { failure }.to_bytes(0));
    }

    /// Waits, in rank 0, until all other ranks can run queries.
    ///
    /// # Errors
    ///
    /// What the first rank reports that cannot; I/O: a rank is lost.
    pub fn wait_ready(&self) -> Result<()> {
        self.node.wait_ready()
    }

    /// Runs, in a rank but 0, the tasks that rank 0 asks for, until it leaves the job.
    ///
    /// # Errors
    ///
    /// I/O: a rank is lost.
    pub fn serve(&self, start: StartFragments<'_>) -> Result<()> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut served = Served { node: &self.node, running: HashMap::new() };
        for (query, message) in &*events {
            match message {
                Message::Leave => return Ok(()),
                message => served.handle(query, message, start),
            }
        }
        Err(self.node.lost().unwrap_or_else(|| Error::internal("the thread of MPI ended")))
    }

    /// Leaves the job; rank 0 lets all others leave it. Further queries fail.
    pub fn leave(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return };
        if self.node.rank == 0 {
            self.node.broadcast(0, &Message::Leave);
        }
        self.node.close();
        // The thread catches panics.
        let _ = thread.join();
    }
}

impl Platform for World {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn processes(&self) -> usize {
        self.node.ranks
    }

    fn page_bytes(&self) -> usize {
        PAGE_BYTES
    }

    fn begin(&self, spec: Vec<u8>, tasks: TaskNumbers) -> Result<Arc<dyn Processes>> {
        if let Some(error) = self.node.lost() {
            return Err(error);
        }
        let id = self.node.queries().next();
        let query = Query::begin(&self.node, id, tasks.clone());
        self.node.broadcast(id, &Message::Start { tasks, spec });
        Ok(query)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What runs in a rank for rank 0.
struct Served<'a> {
    node: &'a Arc<Node>,
    /// The queries; those that did not start, with the reason.
    running: HashMap<u64, std::result::Result<PartialQuery, Failure>>,
}

impl Served<'_> {
    fn handle(&mut self, query: u64, message: Message, start: StartFragments<'_>) {
        match message {
            Message::Start { spec, .. } => {
                let Some(processes) = self.node.queries().get(query) else { return };
                let started = start(&spec, Arc::clone(&processes) as _).map_err(|error| {
                    let failure = Failure::new(error);
                    processes.report(failure.clone());
                    failure
                });
                self.running.insert(query, started);
            }
            Message::Splits { scan: ScanId { fragment, scan }, splits } => {
                self.on(query, |it| it.add_splits(EdgeId(fragment), scan, splits));
            }
            Message::NoMoreSplits { scan: ScanId { fragment, scan } } => {
                self.on(query, |it| it.no_more_splits(EdgeId(fragment), scan));
            }
            Message::End => {
                let end = match self.running.remove(&query) {
                    Some(Ok(running)) => running.end(),
                    Some(Err(failure)) => {
                        ProcessEnd { failure: Some(failure), ..ProcessEnd::default() }
                    }
                    None => ProcessEnd::default(),
                };
                self.node.queries().remove(query);
                self.node.post(0, Message::Ended { end }.to_bytes(query));
            }
            _ => {}
        }
    }

    fn on(&self, query: u64, act: impl FnOnce(&PartialQuery) -> Result<()>) {
        if let Some(Ok(running)) = self.running.get(&query)
            && let Err(error) = act(running)
        {
            running.fail(error);
        }
    }
}
