//! A network that loses, repeats, delays and damages frames by a seed: for tests of transports.
//!
//! Time is virtual: the clock moves to the next event. The same seed gives the same run.

use crate::{Link, LinkConfig, LinkTransport, TaskId, Transport, conformance::Fabric};
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Tasks of the network.
const TASKS: u32 = 3;

/// Ticks that a frame takes, and those of a delayed one.
const LATENCY: u64 = 10;
const DELAY: u64 = 400;

/// Ticks after which a request is repeated, and how often without an answer.
const RETRY_TICKS: u64 = 100;
const TRIES_MAX: u32 = 12;

/// How often frames go wrong, 0 to 1 each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// The frame does not arrive.
    pub loss: f64,
    /// It arrives late, after others.
    pub delay: f64,
    /// It arrives twice.
    pub duplicate: f64,
    /// Its end is missing.
    pub truncation: f64,
    /// A bit is another one.
    pub flipped_bit: f64,
}

/// How often each fault has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Frames that did not arrive.
    pub losses: u64,
    /// Frames that arrived late.
    pub delays: u64,
    /// Frames that arrived twice.
    pub duplicates: u64,
    /// Frames whose end was missing.
    pub truncations: u64,
    /// Frames with another bit.
    pub flipped_bits: u64,
    /// Tasks that ended without notice.
    pub dead_peers: u64,
}

/// Three tasks over a network with faults.
pub struct SimulatedFabric {
    network: Arc<Mutex<Network>>,
    nodes: Vec<Arc<LinkTransport>>,
}

struct Network {
    now: u64,
    /// Frames on their way, by the tick of arrival and their number.
    frames: BTreeMap<(u64, u64), (TaskId, TaskId, Vec<u8>)>,
    next: u64,
    random: fastrand::Rng,
    rates: FaultRates,
    counts: FaultCounts,
    dead: HashSet<TaskId>,
}

struct SimulatedLink {
    network: Arc<Mutex<Network>>,
    task: TaskId,
}

impl FaultRates {
    /// Each fault with the same rate.
    pub fn all(rate: f64) -> FaultRates {
        FaultRates { loss: rate, delay: rate, duplicate: rate, truncation: rate, flipped_bit: rate }
    }
}

impl FaultCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: FaultCounts) {
        self.losses += other.losses;
        self.delays += other.delays;
        self.duplicates += other.duplicates;
        self.truncations += other.truncations;
        self.flipped_bits += other.flipped_bits;
        self.dead_peers += other.dead_peers;
    }

    /// The count of the rarest fault.
    pub fn least(&self) -> u64 {
        let lost = self.losses.min(self.delays).min(self.duplicates);
        lost.min(self.truncations).min(self.flipped_bits).min(self.dead_peers)
    }
}

impl SimulatedFabric {
    /// A network with faults by `seed`.
    pub fn new(seed: u64, rates: FaultRates) -> SimulatedFabric {
        let network = Arc::new(Mutex::new(Network {
            now: 0,
            frames: BTreeMap::new(),
            next: 0,
            random: fastrand::Rng::with_seed(seed),
            rates,
            counts: FaultCounts::default(),
            dead: HashSet::new(),
        }));
        let node = |task| {
            let link = SimulatedLink { network: Arc::clone(&network), task: TaskId(task) };
            let config = LinkConfig::new(RETRY_TICKS, TRIES_MAX);
            Arc::new(LinkTransport::new(TaskId(task), Arc::new(link), config))
        };
        let nodes = (0..TASKS).map(node).collect();
        SimulatedFabric { network, nodes }
    }

    /// How often each fault has happened.
    pub fn counts(&self) -> FaultCounts {
        self.lock().counts
    }

    fn lock(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn living(&self) -> Vec<Arc<LinkTransport>> {
        let network = self.lock();
        let living = self.nodes.iter().zip(0..).filter(|it| !network.dead.contains(&TaskId(it.1)));
        living.map(|it| Arc::clone(it.0)).collect()
    }
}

impl Fabric for SimulatedFabric {
    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        let node: Arc<LinkTransport> = Arc::clone(&self.nodes[task.0 as usize]);
        node
    }

    fn advance(&mut self) -> bool {
        let mut network = self.lock();
        let arrived = network.frames.pop_first();
        if let Some(((tick, _), (from, to, frame))) = arrived {
            network.now = tick;
            let is_dead = network.dead.contains(&to);
            drop(network);
            if !is_dead {
                self.nodes[to.0 as usize].receive(from, frame);
            }
            for node in self.living() {
                node.advance(tick);
            }
            return true;
        }
        let now = network.now;
        drop(network);
        let living = self.living();
        let advance = |now: u64| living.iter().fold(false, |any, it| it.advance(now) | any);
        if advance(now) {
            return true;
        }
        let Some(next) = living.iter().filter_map(|it| it.next_retry()).min() else { return false };
        self.lock().now = next.max(now);
        advance(next.max(now));
        true
    }

    fn kill(&mut self, task: TaskId) {
        let mut network = self.lock();
        network.dead.insert(task);
        network.counts.dead_peers += 1;
        network.frames.retain(|_, it| it.0 != task && it.1 != task);
    }

    fn open_edges(&self) -> usize {
        self.living().iter().map(|it| it.open()).sum()
    }
}

impl Network {
    fn send(&mut self, from: TaskId, to: TaskId, mut frame: Vec<u8>) {
        let FaultRates { loss, delay, duplicate, truncation, flipped_bit } = self.rates;
        if self.dead.contains(&from) || self.dead.contains(&to) {
            return;
        }
        if self.random.f64() < loss {
            self.counts.losses += 1;
            return;
        }
        let copies = if self.random.f64() < duplicate { 2 } else { 1 };
        self.counts.duplicates += copies - 1;
        if self.random.f64() < truncation {
            self.counts.truncations += 1;
            frame.truncate(self.random.usize(..frame.len()));
        }
        if self.random.f64() < flipped_bit && !frame.is_empty() {
            self.counts.flipped_bits += 1;
            let bit = self.random.usize(..frame.len() * 8);
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        for _ in 0..copies {
            let mut arrival = self.now + LATENCY;
            if self.random.f64() < delay {
                self.counts.delays += 1;
                arrival += self.random.u64(..DELAY);
            }
            self.frames.insert((arrival, self.next), (from, to, frame.clone()));
            self.next += 1;
        }
    }
}

impl Link for SimulatedLink {
    fn send(&self, to: TaskId, frame: Vec<u8>) {
        let mut network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        network.send(self.task, to, frame);
    }

    fn wake(&self) {}
}
