//! Producers, readers and a thread that spills, in every order of their steps.
//!
//! Each actor runs one critical section of the queue per step; a schedule chooses the actor. An
//! actor that has stored its waker runs again only when it is woken, so that a lost wake shows as a
//! schedule without an actor that can run.

use super::{
    BatchQueue, QueueBound, QueueConfig, QueueReader, QueueSpill, ReaderMemory, Room, Spilling,
    WakeProducers, lane::RunReader, reader::Taken, spill::RunInWork,
};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
};
use volley_error::{Error, ErrorKind};
use volley_memory::{Pool, spill::SpillSpace};
use volley_testkit::{Random, rows_of};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Chooses the next of some actors.
trait Schedule {
    fn next(&mut self, actors: usize) -> usize;
}

impl Schedule for Random {
    fn next(&mut self, actors: usize) -> usize {
        self.below(actors)
    }
}

/// All schedules, one after the other: those choices again but for the last that was not the last
/// one possible.
#[derive(Default)]
struct Enumerated {
    /// By step: the choice, and how many there were.
    choices: Vec<(usize, usize)>,
    step: usize,
}

impl Enumerated {
    /// The next schedule; false when there is none.
    fn advance(&mut self) -> bool {
        self.step = 0;
        while let Some((choice, of)) = self.choices.pop() {
            if choice + 1 < of {
                self.choices.push((choice + 1, of));
                return true;
            }
        }
        false
    }
}

impl Schedule for Enumerated {
    fn next(&mut self, actors: usize) -> usize {
        if self.step == self.choices.len() {
            self.choices.push((0, actors));
        }
        let (choice, of) = self.choices[self.step];
        assert_eq!(of, actors, "the same choices lead to the same state");
        self.step += 1;
        choice
    }
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Flag>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// How a step of an actor ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Again,
    /// Until it is woken.
    Wait,
    Done,
}

enum Actor {
    Producer(Producer),
    Consumer(Consumer),
    Spiller(Spiller),
    /// Closes the queue with an error.
    Closer,
}

struct Producer {
    /// The lane of all its batches; `None`: the lanes in turn, two batches at once.
    lane: Option<usize>,
    batches: VecDeque<i64>,
    is_ready: bool,
}

/// A thread that reads.
struct Consumer {
    /// `None` once it was dropped.
    reader: Option<Arc<QueueReader>>,
    /// Which reader of the test.
    number: usize,
    reading: Option<RunReader>,
    values: Vec<i64>,
    /// Ends after about this number of rows.
    rows_max: usize,
    outcome: Option<Result<(), Error>>,
}

struct Spiller {
    rounds: usize,
    /// Of the spill that runs: by lane the end, and the lane.
    running: Option<(Vec<usize>, usize)>,
    work: Option<RunInWork>,
}

fn batch(value: i64) -> Batch {
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![value], None)], 1)
}

impl Producer {
    fn step(&mut self, queue: &BatchQueue, waker: &Waker) -> Turn {
        if self.batches.is_empty() {
            queue.producer_finished();
            return Turn::Done;
        }
        if !self.is_ready {
            let room = match self.lane {
                Some(lane) => queue.poll_lane_ready(lane, waker),
                None => queue.poll_ready(waker),
            };
            match room {
                Room::Free => self.is_ready = true,
                Room::Full => return Turn::Wait,
                Room::Closed | Room::Ended => return Turn::Done,
            }
            return Turn::Again;
        }
        self.is_ready = false;
        let count = if self.lane.is_some() { 1 } else { 2 };
        let values = self.batches.drain(..count.min(self.batches.len()));
        let lanes = queue.lanes();
        let lane_of = |value: i64| self.lane.unwrap_or(value as usize % lanes);
        queue.push_all(values.map(|it| (lane_of(it), batch(it)))).unwrap();
        Turn::Again
    }
}

impl Consumer {
    fn step(&mut self, waker: &Waker) -> Turn {
        let Some(reader) = &self.reader else { return Turn::Done };
        let result = match self.reading.take() {
            Some(mut run) => {
                let rows = run.next();
                reader.put_back(run, rows)
            }
            None => match reader.take(waker) {
                Taken::Wait => return Turn::Wait,
                Taken::Run(run) => {
                    self.reading = Some(run);
                    None
                }
                Taken::Ready(result) => Some(result),
            },
        };
        match result {
            None => return Turn::Again,
            Some(Ok(Some(batch))) => {
                let value = |row: Vec<Value>| row[0].as_i128().unwrap() as i64;
                self.values.extend(rows_of(&batch).into_iter().map(value));
                if self.values.len() < self.rows_max {
                    return Turn::Again;
                }
            }
            Some(Ok(None)) => self.outcome = Some(Ok(())),
            Some(Err(error)) => self.outcome = Some(Err(error)),
        }
        self.reader = None;
        Turn::Done
    }
}

impl Spiller {
    fn step(&mut self, queue: &BatchQueue) -> Turn {
        let Some(spill) = queue.spill.as_ref() else { return Turn::Done };
        if let Some(work) = self.work.take() {
            let run = work.write(spill).unwrap();
            queue.finish_run(spill, work, run);
            return Turn::Again;
        }
        match &mut self.running {
            None if self.rounds == 0 => return Turn::Done,
            None => {
                self.rounds -= 1;
                self.running = queue.begin_spill().map(|it| (it.1, 0));
            }
            Some((ends, lane)) if *lane == ends.len() => {
                queue.end_spill(Spilling::Possible);
                self.running = None;
            }
            Some((ends, lane)) => {
                self.work = queue.begin_run(spill, *lane, ends[*lane]).unwrap();
                *lane += usize::from(self.work.is_none());
            }
        }
        Turn::Again
    }
}

/// What takes part.
struct Setup {
    lanes: usize,
    batches_max: usize,
    wake: WakeProducers,
    spills: bool,
    /// By producer: the lane of its batches, and how many.
    producers: Vec<(Option<usize>, usize)>,
    /// By reader: its lane, its threads, and how many rows it reads at most.
    readers: Vec<(usize, usize, usize)>,
    /// Lanes that are not read before all else has ended.
    paused_lane: Option<usize>,
    spill_rounds: usize,
    closes: bool,
}

/// Runs a schedule to its end, and checks what readers got.
fn run(setup: &Setup, schedule: &mut dyn Schedule) {
    let pool = Pool::root("queue", None);
    let space = SpillSpace::new(std::env::temp_dir(), None);
    let spill = QueueSpill {
        space: space.clone(),
        types: vec![Type::BigInt],
        batch_rows: 2,
        run_bytes: 16,
        runs_max: 3,
        reader_memory: ReaderMemory::Ahead,
    };
    let config = QueueConfig {
        lanes: setup.lanes,
        producers: setup.producers.len(),
        bound: QueueBound { batches: setup.batches_max, bytes: usize::MAX },
        wake: setup.wake,
        spill: setup.spills.then_some(spill),
    };
    let queue = Arc::new(BatchQueue::new(config, &pool));
    let mut actors = setup.actors(&queue);
    let paused = |it: &Actor| {
        let Actor::Consumer(it) = it else { return false };
        Some(setup.readers[it.number].0) == setup.paused_lane
    };
    let mut is_paused = true;
    loop {
        let can_run = |it: &&mut (Actor, Arc<Flag>, Turn)| {
            let wakes = it.2 == Turn::Again || it.1.0.load(Ordering::SeqCst);
            it.2 != Turn::Done && wakes && !(is_paused && paused(&it.0))
        };
        let mut ready: Vec<_> = actors.iter_mut().filter(can_run).collect();
        if ready.is_empty() {
            if !std::mem::take(&mut is_paused) {
                break;
            }
            if setup.paused_lane.is_some() {
                setup.check_paused(&actors);
            }
            continue;
        }
        let chosen = schedule.next(ready.len());
        let (actor, flag, turn) = &mut *ready[chosen];
        flag.0.store(false, Ordering::SeqCst);
        let waker = Waker::from(Arc::clone(flag));
        *turn = match actor {
            Actor::Producer(it) => it.step(&queue, &waker),
            Actor::Consumer(it) => it.step(&waker),
            Actor::Spiller(it) => it.step(&queue),
            Actor::Closer => {
                queue.close(Err(Error::cancelled()));
                Turn::Done
            }
        };
    }
    setup.check(&actors);
    drop(actors);
    drop(queue);
    assert_eq!((pool.stats().bytes, space.stats().bytes), (0, 0), "something is left");
}

impl Setup {
    fn actors(&self, queue: &Arc<BatchQueue>) -> Vec<(Actor, Arc<Flag>, Turn)> {
        let mut actors = Vec::new();
        for (number, (lane, count)) in self.producers.iter().enumerate() {
            let values = (0..*count).map(|it| (number * 1000 + it) as i64);
            let producer = Producer { lane: *lane, batches: values.collect(), is_ready: false };
            actors.push(Actor::Producer(producer));
        }
        for (number, (lane, threads, rows_max)) in self.readers.iter().enumerate() {
            let reader = Arc::new(QueueReader::new(queue, *lane).unwrap());
            for _ in 0..*threads {
                actors.push(Actor::Consumer(Consumer {
                    reader: Some(Arc::clone(&reader)),
                    number,
                    reading: None,
                    values: Vec::new(),
                    rows_max: *rows_max,
                    outcome: None,
                }));
            }
        }
        if self.spills {
            let rounds = self.spill_rounds;
            actors.push(Actor::Spiller(Spiller { rounds, running: None, work: None }));
        }
        actors.extend(self.closes.then_some(Actor::Closer));
        actors.into_iter().map(|it| (it, Arc::default(), Turn::Again)).collect()
    }

    /// The values that go to a lane.
    fn pushed(&self, lane: usize) -> Vec<i64> {
        let mut values = Vec::new();
        for (number, (of, count)) in self.producers.iter().enumerate() {
            let all = (0..*count).map(|it| (number * 1000 + it) as i64);
            values.extend(all.filter(|it| of.unwrap_or(*it as usize % self.lanes) == lane));
        }
        values.sort_unstable();
        values
    }

    /// Nothing can run, and one lane is not read: all others have their batches.
    fn check_paused(&self, actors: &[(Actor, Arc<Flag>, Turn)]) {
        for (actor, ..) in actors {
            if let Actor::Consumer(it) = actor
                && self.readers[it.number].0 != self.paused_lane.unwrap_or(usize::MAX)
                && self.readers[it.number].2 == usize::MAX
            {
                let lane = self.readers[it.number].0;
                let reads = actors.iter().filter_map(|other| match &other.0 {
                    Actor::Consumer(other) if other.number == it.number => Some(other.values.len()),
                    _ => None,
                });
                assert_eq!(reads.sum::<usize>(), self.pushed(lane).len(), "lane {lane} waits");
            }
        }
    }

    fn check(&self, actors: &[(Actor, Arc<Flag>, Turn)]) {
        assert!(actors.iter().all(|it| it.2 == Turn::Done), "an actor was not woken");
        for (number, (lane, threads, rows_max)) in self.readers.iter().enumerate() {
            let mut all: Vec<i64> = Vec::new();
            for (actor, ..) in actors {
                let Actor::Consumer(it) = actor else { continue };
                if it.number != number {
                    continue;
                }
                let by_producer = |it: &i64| *it / 1000;
                let mut last = std::collections::HashMap::new();
                for value in &it.values {
                    let before = last.insert(by_producer(value), *value);
                    assert!(before.is_none_or(|it| it < *value), "out of order");
                }
                if let Some(Err(error)) = &it.outcome {
                    assert!(self.closes && error.kind() == ErrorKind::Cancelled, "{error}");
                }
                all.extend(&it.values);
            }
            all.sort_unstable();
            assert!(all.is_sorted_by(|a, b| a < b), "a batch came twice");
            if !self.closes && (*rows_max == usize::MAX || *threads > 1) {
                let expected = self.pushed(*lane);
                let is_whole = *rows_max == usize::MAX;
                assert!(!is_whole || all == expected, "{all:?} instead of {expected:?}");
            }
        }
    }
}

fn random_setup(random: &mut Random) -> Setup {
    let lanes = 1 + random.below(3);
    let mut readers = Vec::new();
    for lane in 0..lanes {
        for _ in 0..1 + random.below(2) {
            let rows_max = if random.below(4) == 0 { 1 + random.below(4) } else { usize::MAX };
            readers.push((lane, 1 + random.below(2), rows_max));
        }
    }
    let producers = (0..1 + random.below(5)).map(|_| {
        let lane = (random.below(2) == 0).then(|| random.below(lanes));
        (lane, random.below(7))
    });
    Setup {
        lanes,
        producers: producers.collect(),
        batches_max: 1 + random.below(4),
        wake: if random.below(2) == 0 { WakeProducers::Few } else { WakeProducers::All },
        spills: random.below(2) == 0,
        readers,
        paused_lane: None,
        spill_rounds: random.below(4),
        closes: random.below(5) == 0,
    }
}

#[test]
fn every_batch_is_read_once_in_random_schedules() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let setup = random_setup(&mut random);
        run(&setup, &mut random);
    }
}

#[test]
fn a_lane_with_a_waiting_reader_does_not_wait_for_others_in_random_schedules() {
    for seed in 0..1000 {
        let mut random = Random(seed);
        let mut setup = random_setup(&mut random);
        setup.lanes += 1;
        let paused = setup.lanes - 1;
        setup.readers.push((paused, 1, usize::MAX));
        setup.producers.iter_mut().for_each(|it| it.0 = it.0.or(Some(0)));
        setup.producers.push((Some(paused), 9));
        (setup.closes, setup.spills, setup.paused_lane) = (false, false, Some(paused));
        run(&setup, &mut random);
    }
}

#[test]
fn every_batch_is_read_once_in_all_schedules_of_few_actors() {
    let setup = |producers: &[usize], spills: bool| Setup {
        lanes: 1,
        batches_max: 1,
        wake: WakeProducers::Few,
        spills,
        producers: producers.iter().map(|it| (None, *it)).collect(),
        readers: vec![(0, 1, usize::MAX)],
        paused_lane: None,
        spill_rounds: 1,
        closes: false,
    };
    for (setup, least) in [(setup(&[1, 1], false), 50), (setup(&[1], true), 50)] {
        let (mut schedule, mut count) = (Enumerated::default(), 0);
        loop {
            run(&setup, &mut schedule);
            count += 1;
            if !schedule.advance() {
                break;
            }
        }
        assert!(count >= least, "{count} schedules");
    }
}
