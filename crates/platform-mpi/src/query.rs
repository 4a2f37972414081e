//! One query, as one rank sees it.

use crate::{
    message::{Message, ScanId, frame_bytes},
    node::Node,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem::take,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use volley_connector::Split;
use volley_error::{Error, Result};
use volley_exchange::{
    Failure, InProcessHub, Link, LinkConfig, LinkTransport, RoutedTransport, TaskId, Transport,
    TransportProfile,
};
use volley_exec::SplitReceiver;
use volley_plan::PlanNodeId;
use volley_schedule::{
    FailureListener, FilterKeys, FilterListener, ProcessEnd, Processes, TaskNumbers,
};

/// Ticks after which a link would repeat a request: never, since MPI loses nothing.
const NEVER: u64 = 1 << 60;

/// Decoded bytes of a page: several are under way to each rank at once.
pub(crate) const PAGE_BYTES: usize = 256 << 10;

/// A frame from task to task.
type Sent = (TaskId, TaskId, Vec<u8>);

/// The queries of a rank.
#[derive(Default)]
pub(crate) struct Queries {
    running: BTreeMap<u64, Arc<Query>>,
    /// The largest number of a query that has begun here.
    begun: u64,
    /// Frames of queries that other ranks have begun before this one.
    early: HashMap<u64, Vec<Sent>>,
}

/// A query that runs.
pub(crate) struct Query {
    id: u64,
    node: Arc<Node>,
    own: Weak<Query>,
    tasks: TaskNumbers,
    /// Connects the tasks of this rank.
    hub: InProcessHub,
    /// Connects each of them with those of other ranks.
    links: Mutex<BTreeMap<TaskId, Arc<LinkTransport>>>,
    failures: Mutex<Failures>,
    filters: Mutex<Filters>,
    is_ending: AtomicBool,
    end: Mutex<End>,
    has_ended: Condvar,
}

#[derive(Default)]
struct Failures {
    listener: Option<Arc<FailureListener>>,
    /// Those that came before the listener.
    early: Vec<Failure>,
}

#[derive(Default)]
struct Filters {
    listener: Option<Arc<FilterListener>>,
    /// Those that came before the listener.
    early: Vec<(u32, usize, FilterKeys)>,
}

/// How the query ends in other ranks, for rank 0.
struct End {
    /// The ranks in which it may still run.
    left: BTreeSet<usize>,
    ends: Vec<ProcessEnd>,
}

/// Frames of one task to tasks of other ranks.
struct QueryLink {
    query: Weak<Query>,
    node: Arc<Node>,
    task: TaskId,
}

/// A scan of a task in another rank.
struct RemoteScan {
    node: Arc<Node>,
    query: u64,
    rank: usize,
    scan: ScanId,
    is_finished: AtomicBool,
}

impl Queries {
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Query>> {
        self.running.get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Query>> {
        self.running.values().cloned().collect()
    }

    /// The number of a query that begins in this rank.
    pub(crate) fn next(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.running.remove(&id);
    }

    /// The query of a frame; keeps the frame if the query will begin, drops it if it has ended.
    pub(crate) fn of_frame(&mut self, id: u64, sent: Sent) -> Option<(Arc<Query>, Sent)> {
        match self.running.get(&id) {
            Some(query) => Some((Arc::clone(query), sent)),
            None => {
                if id > self.begun {
                    self.early.entry(id).or_default().push(sent);
                }
                None
            }
        }
    }

    /// The links of all tasks of this rank.
    pub(crate) fn links(&self) -> Vec<Arc<LinkTransport>> {
        self.running.values().flat_map(|it| it.all_links()).collect()
    }
}

impl Query {
    /// Begins query `id` in this rank.
    pub(crate) fn begin(node: &Arc<Node>, id: u64, tasks: TaskNumbers) -> Arc<Query> {
        let left = node.others().collect();
        let query = Arc::new_cyclic(|own| Query {
            id,
            node: Arc::clone(node),
            own: own.clone(),
            tasks,
            hub: InProcessHub::default(),
            links: Mutex::default(),
            failures: Mutex::default(),
            filters: Mutex::default(),
            is_ending: AtomicBool::new(false),
            end: Mutex::new(End { left, ends: Vec::new() }),
            has_ended: Condvar::new(),
        });
        let mut queries = node.queries();
        queries.running.insert(id, Arc::clone(&query));
        queries.begun = queries.begun.max(id);
        let early = queries.early.remove(&id).unwrap_or_default();
        drop(queries);
        early.into_iter().for_each(|(from, to, frame)| query.link(to).receive(from, frame));
        query
    }

    /// The link of a task of this rank.
    pub(crate) fn link(&self, task: TaskId) -> Arc<LinkTransport> {
        let mut links = lock(&self.links);
        let link = links.entry(task).or_insert_with(|| {
            let (query, node) = (self.own.clone(), Arc::clone(&self.node));
            let mut config = LinkConfig::new(NEVER, u32::MAX);
            config.profile = TransportProfile {
                page_bytes: PAGE_BYTES,
                bytes_per_second: 5e9,
                round_trip_us: 20.0,
                ..config.profile
            };
            Arc::new(LinkTransport::new(task, Arc::new(QueryLink { query, node, task }), config))
        });
        Arc::clone(link)
    }

    fn all_links(&self) -> Vec<Arc<LinkTransport>> {
        lock(&self.links).values().cloned().collect()
    }

    /// Another rank has failed.
    pub(crate) fn failed(&self, failure: Failure) {
        let mut failures = lock(&self.failures);
        match failures.listener.clone() {
            None => failures.early.push(failure),
            Some(listener) => {
                // The listener may take any lock.
                drop(failures);
                listener(failure);
            }
        }
    }

    /// Another rank has sent keys of a join.
    pub(crate) fn filter(&self, filter: u32, task: usize, keys: FilterKeys) {
        let mut filters = lock(&self.filters);
        match filters.listener.clone() {
            None => filters.early.push((filter, task, keys)),
            Some(listener) => {
                // The listener may take any lock.
                drop(filters);
                listener(filter, task, keys);
            }
        }
    }

    /// Nothing of the query runs in `rank` any more.
    pub(crate) fn ended(&self, rank: usize, found: ProcessEnd) {
        let mut end = lock(&self.end);
        end.left.remove(&rank);
        end.ends.push(found);
        let is_last = end.left.is_empty();
        drop(end);
        if is_last {
            self.node.queries().remove(self.id);
            self.has_ended.notify_all();
        }
    }

    /// No other rank can be reached any more.
    pub(crate) fn lose(&self, error: &Error) {
        lock(&self.end).left.clear();
        self.has_ended.notify_all();
        self.failed(Failure::new(error.clone()));
    }

    fn rank_of(&self, task: TaskId) -> usize {
        self.tasks.number(task)
    }
}

impl Processes for Query {
    fn has_task(&self, number: usize) -> bool {
        number == self.node.rank
    }

    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        let (tasks, rank) = (self.tasks.clone(), self.node.rank);
        let is_here = Arc::new(move |task| tasks.number(task) == rank);
        Arc::new(RoutedTransport::new(self.hub.transport(task), self.link(task), is_here))
    }

    fn scan_of(&self, task: TaskId, scan: PlanNodeId) -> Result<Arc<dyn SplitReceiver>> {
        let rank = self.rank_of(task);
        if rank == self.node.rank || rank >= self.node.ranks {
            return Err(Error::internal("a scan that is in no other rank"));
        }
        let scan = ScanId { fragment: self.tasks.fragment(task) as u32, scan };
        let (node, query) = (Arc::clone(&self.node), self.id);
        Ok(Arc::new(RemoteScan { node, query, rank, scan, is_finished: AtomicBool::new(false) }))
    }

    fn on_failure(&self, listener: FailureListener) {
        let listener = Arc::new(listener);
        let mut failures = lock(&self.failures);
        failures.listener = Some(Arc::clone(&listener));
        let early = take(&mut failures.early);
        drop(failures);
        early.into_iter().for_each(|it| listener(it));
    }

    fn report(&self, failure: Failure) {
        match self.node.rank {
            0 => self.cancel(),
            rank => {
                let mut failure = failure;
                failure.error = failure.error.at("rank", rank);
                self.node.post(0, Message::Failed { failure }.to_bytes(self.id));
            }
        }
    }

    fn send_filter(&self, filter: u32, task: usize, keys: FilterKeys) {
        let message = Message::Filter { filter, task: task as u32, keys };
        match self.node.rank {
            0 => self.node.broadcast(self.id, &message),
            _ => self.node.post(0, message.to_bytes(self.id)),
        }
    }

    fn on_filter(&self, listener: FilterListener) {
        let listener = Arc::new(listener);
        let mut filters = lock(&self.filters);
        filters.listener = Some(Arc::clone(&listener));
        let early = take(&mut filters.early);
        drop(filters);
        early.into_iter().for_each(|(filter, task, keys)| listener(filter, task, keys));
    }

    fn cancel(&self) {
        if self.node.rank == 0 && !self.is_ending.swap(true, Ordering::AcqRel) {
            self.node.broadcast(self.id, &Message::End);
        }
    }

    fn end(&self) -> Vec<ProcessEnd> {
        if self.node.rank != 0 {
            return Vec::new();
        }
        self.cancel();
        let mut end = lock(&self.end);
        while !end.left.is_empty() && self.node.lost().is_none() {
            end = self.has_ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
        take(&mut end.ends)
    }
}

impl Link for QueryLink {
    fn send(&self, to: TaskId, frame: Vec<u8>) {
        let Some(query) = self.query.upgrade() else { return };
        self.node.post(query.rank_of(to), frame_bytes(query.id, self.task, to, frame));
    }

    fn wake(&self) {
        self.node.wake();
    }
}

impl SplitReceiver for RemoteScan {
    fn add(&self, splits: Vec<Split>) -> Result<()> {
        if self.is_finished.load(Ordering::Acquire) {
            return Err(Error::invalid_query("splits after the last one"));
        }
        let message = Message::Splits { scan: self.scan, splits };
        self.node.post(self.rank, message.to_bytes(self.query));
        Ok(())
    }

    fn finish(&self) {
        if !self.is_finished.swap(true, Ordering::AcqRel) {
            let message = Message::NoMoreSplits { scan: self.scan };
            self.node.post(self.rank, message.to_bytes(self.query));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
