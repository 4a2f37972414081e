//! The clients: threads that run random statements.

use crate::statements::Statement;
use fastrand::Rng;
use foldhash::fast::FixedState;
use std::{
    hash::BuildHasher,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use volley::{Error, ErrorKind, Result, ResultStream, Session};

/// The longest time after which a query is cancelled.
const CANCEL_MILLIS_MAX: u64 = 3000;

/// One of this number of clients reads slowly.
const SLOW_READERS: u32 = 10;

/// What all clients did.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub right: usize,
    pub cancelled: usize,
    /// Did not get memory.
    pub refused: usize,
    /// From the cancel to its end, of each cancelled query, and which it was.
    pub latencies: Vec<(Duration, String)>,
    pub problems: Vec<String>,
}

pub struct Clients {
    cancelled_share: f64,
    stopped: AtomicBool,
    working: AtomicUsize,
    counts: Mutex<Counts>,
    /// Signalled at a problem.
    failed: Condvar,
    /// What each client runs, since when.
    current: Vec<Mutex<Option<(String, Instant)>>>,
}

impl Clients {
    pub fn new(clients: usize, cancelled_share: f64) -> Clients {
        Clients {
            cancelled_share,
            stopped: AtomicBool::new(false),
            working: AtomicUsize::new(clients),
            counts: Mutex::default(),
            failed: Condvar::new(),
            current: (0..clients).map(|_| Mutex::default()).collect(),
        }
    }

    /// Runs random statements until it is stopped.
    pub fn work(&self, client: usize, session: &Session, statements: &[Statement], seed: u64) {
        let mut random = Rng::with_seed(seed);
        while !self.stopped.load(Ordering::Acquire) {
            let statement = &statements[random.usize(..statements.len())];
            *lock(&self.current[client]) = Some((statement.name.clone(), Instant::now()));
            self.run(session, statement, &mut random);
            *lock(&self.current[client]) = None;
        }
        self.working.fetch_sub(1, Ordering::AcqRel);
    }

    fn run(&self, session: &Session, statement: &Statement, random: &mut Rng) {
        let delay = (random.f64() < self.cancelled_share)
            .then(|| Duration::from_millis(random.u64(..CANCEL_MILLIS_MAX)));
        let is_slow = random.u32(..SLOW_READERS) == 0;
        let stream = match session.sql(&statement.sql) {
            Ok(stream) => stream,
            Err(error) => return self.count(statement, Err(error), None),
        };
        let (handle, ended) = (stream.handle(), AtomicBool::new(false));
        let (answer, latency) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let answer = read(stream, is_slow);
                ended.store(true, Ordering::Release);
                answer
            });
            let cancelled_at = delay.map(|it| {
                let until = Instant::now() + it;
                while Instant::now() < until && !ended.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let now = Instant::now();
                handle.cancel();
                now
            });
            let answer = reader.join();
            let latency = cancelled_at.map(|it| it.elapsed());
            (answer.unwrap_or_else(|_| Err(Error::internal("a reader panicked"))), latency)
        });
        self.count(statement, answer, latency);
    }

    /// Counts how a statement ended, and how long after it was cancelled.
    fn count(&self, statement: &Statement, end: Result<u64>, latency: Option<Duration>) {
        let is_stopped = self.stopped.load(Ordering::Acquire);
        let mut counts = lock(&self.counts);
        match end {
            Ok(answer) if answer == statement.answer => counts.right += 1,
            Ok(_) => {
                counts
                    .problems
                    .push(format!("{}: wrong answer\n{}", statement.name, statement.sql));
            }
            Err(error) => match error.kind() {
                ErrorKind::Cancelled if latency.is_some() || is_stopped => {
                    counts.cancelled += 1;
                    counts.latencies.extend(latency.map(|it| (it, statement.name.clone())));
                }
                ErrorKind::OutOfMemory => counts.refused += 1,
                _ => counts.problems.push(format!("{}: {error}", statement.name)),
            },
        }
        if !counts.problems.is_empty() {
            self.failed.notify_all();
        }
    }

    /// Waits, at most until there is a problem.
    pub fn wait(&self, time: Duration) {
        let counts = lock(&self.counts);
        let good = |counts: &mut Counts| counts.problems.is_empty();
        drop(self.failed.wait_timeout_while(counts, time, good));
    }

    pub fn has_failed(&self) -> bool {
        !lock(&self.counts).problems.is_empty()
    }

    pub fn counts(&self) -> Counts {
        lock(&self.counts).clone()
    }

    /// Asks the clients to end after their current statement.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// The clients that have not ended.
    pub fn working(&self) -> usize {
        self.working.load(Ordering::Acquire)
    }

    /// The query that has run longest, and for how long.
    pub fn oldest(&self) -> Option<(String, Duration)> {
        let running = self.current.iter().filter_map(|it| lock(it).clone());
        running.map(|(name, since)| (name, since.elapsed())).max_by_key(|it| it.1)
    }
}

/// What identifies the rows of a result, in any order.
///
/// # Errors
///
/// Those of the query.
pub fn answer_of(stream: ResultStream) -> Result<u64> {
    read(stream, false)
}

fn read(mut stream: ResultStream, is_slow: bool) -> Result<u64> {
    let hasher = FixedState::with_seed(0);
    let (mut sum, mut rows) = (0u64, 0u64);
    while let Some(batch) = stream.next()? {
        let columns: Vec<_> =
            batch.columns().iter().map(|it| it.to_values()).collect::<Result<_>>()?;
        for row in 0..batch.rows() {
            let text: Vec<_> = columns.iter().map(|it| format!("{:?}", it[row])).collect();
            sum = sum.wrapping_add(hasher.hash_one(text));
        }
        rows += batch.rows() as u64;
        if is_slow {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(hasher.hash_one((sum, rows)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
