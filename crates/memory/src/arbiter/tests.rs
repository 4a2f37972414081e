//! The rules in every order of events, and the arbiter with threads.

use super::{
    Arbitration, ArbitrationPolicy, Candidate, LargestFirst, Participant,
    policy::UNCHARGED_BYTES_MAX,
    rules::{Facts, Offer, Parked, Rules, Scarcity},
};
use crate::{Pool, Reservation};
use std::{
    collections::HashSet,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
    thread,
};

/// A participant of the model: grows by one byte this number of times, then ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Runner {
    query: usize,
    number: u64,
    growths_left: usize,
    /// How often it may still be through with a byte, and give it back unasked.
    returns_left: usize,
    held: usize,
    can_spill: bool,
    /// Whether it releases memory while others of its query do.
    alongside: bool,
    /// Off its thread until woken (by the arbiter, or where it is parked by others).
    sleeps: bool,
    is_parked: bool,
    /// Between an answer and the end of the step that it allowed.
    works: bool,
    /// Woken meanwhile, so that it does not sleep after the step.
    is_notified: bool,
    /// Its query is paused: it rests when it looks.
    is_paused: bool,
    /// How often it may still be paused.
    pauses_left: usize,
    has_ended: bool,
}

/// All of a small system. Time passes by one participant doing one thing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Model {
    rules: Rules,
    runners: Vec<Runner>,
    limit: usize,
    headroom: usize,
    claim: usize,
}

impl Runner {
    fn offer(&self) -> Offer {
        let bytes = if self.can_spill { self.held } else { 0 };
        Offer { bytes, alongside: self.alongside }
    }
}

impl Facts for Vec<Runner> {
    fn query_bytes(&self, number: u64) -> usize {
        let query = self.iter().find(|it| it.number == number).map(|it| it.query);
        self.iter().filter(|it| Some(it.query) == query).map(|it| it.held).sum()
    }

    fn parked(&self, number: u64) -> Parked {
        match self.iter().any(|it| it.number == number && it.is_parked) {
            true => Parked::Outside,
            false => Parked::No,
        }
    }
}

impl Model {
    /// Participants: query, growths, whether they can release memory.
    fn new(limit: usize, participants: &[(usize, usize, bool)]) -> Model {
        let mut rules = Rules::default();
        let runners = participants.iter().map(|(query, growths_left, can_spill)| Runner {
            query: *query,
            number: rules.join(*query, false),
            growths_left: *growths_left,
            returns_left: 0,
            held: 0,
            can_spill: *can_spill,
            alongside: false,
            sleeps: false,
            is_parked: false,
            works: false,
            is_notified: false,
            is_paused: false,
            pauses_left: 0,
            has_ended: false,
        });
        Model { runners: runners.collect(), rules, limit, headroom: 1, claim: 0 }
    }

    fn held(&self) -> usize {
        self.runners.iter().map(|it| it.held).sum()
    }

    fn wake(&mut self, woken: &[u64]) {
        self.runners.iter_mut().filter(|it| woken.contains(&it.number)).for_each(|it| {
            it.sleeps = false;
            it.is_notified = it.works;
        });
    }

    fn end_query(&mut self, query: usize) {
        for at in 0..self.runners.len() {
            if self.runners[at].query == query && !self.runners[at].has_ended {
                self.end(at);
            }
        }
    }

    fn end(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.held, it.has_ended, it.sleeps, it.works) = (0, true, false, false);
        let woken = self.rules.leave(it.number);
        self.wake(&woken);
    }

    /// A paused participant was woken.
    fn rest(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.is_parked, it.is_notified) = (true, false);
        let (number, offer) = (it.number, it.offer());
        self.rules.offer(number, offer);
        let (is_asked, woken) = self.rules.rest(number);
        self.wake(&woken);
        self.runners[at].sleeps = !is_asked;
        if is_asked {
            self.give_back(at);
        }
    }

    fn give_back(&mut self, at: usize) {
        assert!(self.runners[at].can_spill);
        self.runners[at].held = 0;
        let woken = self.rules.reclaimed(self.runners[at].number);
        self.wake(&woken);
    }

    fn pause(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.is_paused, it.pauses_left, it.sleeps) = (true, it.pauses_left - 1, false);
        it.is_notified = it.works;
    }

    fn resume(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.is_paused, it.sleeps, it.is_notified) = (false, false, it.works);
    }

    /// One participant looks what to do.
    fn look(&mut self, at: usize) {
        let it = &mut self.runners[at];
        if it.is_paused {
            return self.rest(at);
        }
        (it.is_parked, it.is_notified) = (false, false);
        let (number, offer) = (it.number, it.offer());
        self.rules.offer(number, offer);
        let threshold = self.limit - self.headroom;
        let scarcity = Scarcity { bytes: self.held(), threshold, claim: self.claim };
        let (answer, woken) = self.rules.decide(number, scarcity, &LargestFirst, &self.runners);
        self.wake(&woken);
        match answer {
            Arbitration::Wait => self.runners[at].sleeps = true,
            Arbitration::Proceed => self.runners[at].works = true,
            Arbitration::Reclaim => self.give_back(at),
        }
    }

    /// One participant takes memory, or ends.
    fn work(&mut self, at: usize) {
        self.runners[at].works = false;
        if self.runners[at].growths_left == 0 {
            self.end(at);
        } else if self.held() == self.limit {
            self.end_query(self.runners[at].query);
        } else {
            self.runners[at].held += 1;
            self.runners[at].growths_left -= 1;
        }
    }

    /// One participant is through with a byte.
    fn give_unasked(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.works, it.held, it.returns_left) = (false, it.held - 1, it.returns_left - 1);
    }

    /// One participant finds at its step that it must wait for something else.
    fn park(&mut self, at: usize) {
        let it = &mut self.runners[at];
        (it.works, it.is_parked, it.sleeps) = (false, true, !it.is_notified);
        it.is_notified = false;
        let woken = self.rules.wake_all();
        self.wake(&woken);
    }

    /// All that may come next.
    fn successors(&self) -> Vec<Model> {
        let mut all = Vec::new();
        let mut add = |step: &dyn Fn(&mut Model)| {
            let mut next = self.clone();
            step(&mut next);
            all.push(next);
        };
        for (at, it) in self.runners.iter().enumerate().filter(|it| !it.1.has_ended) {
            if it.is_paused {
                add(&|next| next.resume(at));
            } else if it.pauses_left > 0 {
                add(&|next| next.pause(at));
            }
            if it.works {
                add(&|next| next.work(at));
                add(&|next| next.park(at));
                if it.held > 0 && it.returns_left > 0 {
                    add(&|next| next.give_unasked(at));
                }
            } else if !it.sleeps {
                add(&|next| next.look(at));
            } else if it.is_parked {
                // What it waited for came.
                add(&|next| next.runners[at].sleeps = false);
            }
        }
        all
    }

    /// Whether all live participants wait for memory or are parked, and at least one waits for
    /// memory.
    fn hangs(&self) -> bool {
        let live = || self.runners.iter().filter(|it| !it.has_ended);
        live().all(|it| it.sleeps) && live().any(|it| !it.is_parked)
    }
}

/// Inspects every state that can be reached; how many there are.
fn explore(start: Model) -> usize {
    let (mut seen, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(model) = open.pop() {
        assert!(!model.hangs(), "all wait: {model:#?}");
        assert!(model.held() <= model.limit);
        let is_over = model.runners.iter().all(|it| it.has_ended);
        assert!(!is_over || !model.rules.is_active(), "a participant is asked: {model:#?}");
        for next in model.successors() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn in_no_order_of_events_do_all_wait() {
    let systems: [&[(usize, usize, bool)]; 6] = [
        &[(1, 4, true), (1, 4, true)],
        &[(1, 4, true), (2, 4, true), (3, 2, false)],
        &[(1, 3, false), (1, 3, true), (2, 4, true)],
        &[(1, 4, false), (2, 4, false)],
        &[(1, 3, false), (2, 3, false), (3, 3, false)],
        &[(1, 2, false), (1, 2, true), (2, 2, false), (2, 2, true)],
    ];
    for system in systems {
        for limit in [2, 3, 4] {
            assert!(explore(Model::new(limit, system)) > 100);
        }
    }
}

#[test]
fn in_no_order_of_events_do_all_wait_where_several_give_back() {
    let systems: [&[(usize, usize, bool)]; 4] = [
        &[(1, 4, true), (1, 4, true)],
        &[(1, 3, true), (1, 3, true), (2, 3, true)],
        &[(1, 3, true), (1, 2, true), (2, 3, false)],
        &[(1, 2, true), (1, 2, false), (2, 2, true), (2, 2, true)],
    ];
    for system in systems {
        for (limit, pauses) in [(2, 0), (3, 1), (4, 0)] {
            let mut model = Model::new(limit, system);
            model.runners.iter_mut().for_each(|it| it.alongside = true);
            model.runners.iter_mut().take(1).for_each(|it| it.pauses_left = pauses);
            assert!(explore(model) > 100);
        }
    }
}

#[test]
fn who_would_wait_for_its_query_gives_back_as_well() {
    // Query, bytes, whether alongside; the first is asked.
    let participants = [(1, 40, true), (1, 10, true), (1, 9, true), (1, 30, false), (2, 30, true)];
    let mut rules = Rules::default();
    let numbers = participants.map(|(query, bytes, alongside)| {
        let number = rules.join(query, true);
        rules.offer(number, Offer { bytes, alongside });
        number
    });
    let decide = |rules: &mut Rules, at: usize, bytes: usize| {
        let scarcity = Scarcity { bytes, threshold: 100, claim: 0 };
        rules.decide(numbers[at], scarcity, &LargestFirst, &Vec::<Runner>::new()).0
    };
    assert_eq!(decide(&mut rules, 1, 139), Arbitration::Reclaim);
    let all = [1, 2, 3, 4, 0].map(|at| decide(&mut rules, at, 139));
    let (gives, waits) = (Arbitration::Reclaim, Arbitration::Wait);
    assert_eq!(all, [gives, waits, waits, waits, gives]);
    // The others wait until both are through, or there is room.
    rules.reclaimed(numbers[1]);
    assert_eq!(decide(&mut rules, 1, 129), waits);
    assert_eq!(decide(&mut rules, 4, 129), waits);
    rules.reclaimed(numbers[0]);
    assert_eq!([1, 4].map(|at| decide(&mut rules, at, 79)), [Arbitration::Proceed; 2]);
    assert!(!rules.is_active());
}

#[test]
fn in_no_order_of_events_do_all_wait_where_some_give_back_unasked() {
    let systems: [&[(usize, usize, bool)]; 4] = [
        &[(1, 4, false), (2, 4, false)],
        &[(1, 3, false), (1, 3, false), (2, 3, false)],
        &[(1, 2, false), (1, 2, true), (2, 3, false)],
        &[(1, 2, false), (1, 2, false), (1, 2, false)],
    ];
    for system in systems {
        for (limit, headroom) in [(3, 1), (4, 2), (5, 3)] {
            let mut model = Model::new(limit, system);
            model.headroom = headroom;
            model.runners.iter_mut().for_each(|it| it.returns_left = 1);
            assert!(explore(model) > 100);
        }
    }
}

#[test]
fn in_no_order_of_events_do_all_wait_for_one_that_is_paused() {
    let systems: [&[(usize, usize, bool)]; 4] = [
        &[(1, 3, true), (2, 3, true)],
        &[(1, 3, false), (2, 3, true)],
        &[(1, 2, false), (2, 2, false)],
        &[(1, 2, true), (1, 2, false), (2, 2, true)],
    ];
    for system in systems {
        for limit in [2, 3] {
            let mut model = Model::new(limit, system);
            model.runners.iter_mut().for_each(|it| it.pauses_left = 1);
            assert!(explore(model) > 1000);
        }
    }
}

#[test]
fn in_no_order_of_events_do_all_wait_in_line() {
    let systems: [&[(usize, usize, bool)]; 5] = [
        &[(1, 2, true), (2, 2, true), (3, 2, false)],
        &[(1, 2, false), (2, 2, false), (3, 1, false)],
        &[(1, 2, false), (1, 1, true), (2, 2, true)],
        &[(1, 2, false), (2, 1, true), (2, 2, false)],
        &[(1, 1, false), (1, 1, false), (2, 1, true), (2, 1, true)],
    ];
    for system in systems {
        for (limit, claim, pauses) in [(2, 1, 0), (3, 1, 0), (3, 2, 1)] {
            let mut model = Model::new(limit, system);
            model.claim = claim;
            model.runners.iter_mut().take(1).for_each(|it| it.pauses_left = pauses);
            assert!(explore(model) > 100);
        }
    }
}

#[test]
fn queries_begin_in_their_order_when_their_claims_fit() {
    let queries = [(1, 9, false), (2, 9, false), (3, 9, false), (3, 9, false), (4, 9, false)];
    let mut model = Model::new(9, &queries);
    model.claim = 4;
    model.runners[0].returns_left = 1;
    let (first, second, third, other_of_third, fourth) = (0, 1, 2, 3, 4);
    (0..5).for_each(|at| model.look(at));
    let works = |model: &Model| model.runners.iter().map(|it| it.works).collect::<Vec<_>>();
    assert_eq!(works(&model), [true, true, false, false, false]);
    // More than its claim is reserved, then released; no query starts without free memory.
    for _ in 0..5 {
        model.work(first);
        model.look(first);
    }
    model.end(second);
    model.look(third);
    assert!(model.runners[third].sleeps, "five and four are more than eight");
    model.give_unasked(first);
    model.look(first);
    assert!(!model.runners[third].sleeps && !model.runners[other_of_third].sleeps);
    assert!(model.runners[fourth].sleeps, "it came last");
    // Another participant of a query that has begun does not wait.
    model.look(other_of_third);
    assert!(model.runners[other_of_third].works);
    // A query that waits for a reader has no claim, but its memory is not free.
    model.park(first);
    model.look(fourth);
    assert!(model.runners[fourth].sleeps);
    model.runners[first].held = 0;
    model.look(other_of_third);
    assert!(!model.runners[fourth].sleeps);
}

#[test]
fn the_model_finds_all_waiting() {
    let mut model = Model::new(2, &[(1, 3, true), (2, 3, true)]);
    for _ in 0..2 {
        model.look(0);
        model.work(0);
    }
    model.look(1);
    assert!(model.runners[1].sleeps && !model.hangs());
    // The asked participant has not noticed it.
    model.runners[0].sleeps = true;
    assert!(model.hangs());
}

/// Makes a thread look again.
#[derive(Default)]
struct Bell(Mutex<bool>, Condvar);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }
}

impl Bell {
    fn wait(&self) {
        let mut rung = self.0.lock().unwrap();
        while !*rung {
            rung = self.1.wait(rung).unwrap();
        }
        *rung = false;
    }
}

/// Takes `steps` times 64 KiB; gives all back when asked. Whether it came to its end.
fn take(query: &Pool, steps: usize, can_spill: bool, given_back: &AtomicUsize) -> bool {
    let bell = Arc::new(Bell::default());
    let mut participant: Participant = query.participate();
    participant.wake_with(&Waker::from(Arc::clone(&bell)));
    let mut held: Reservation = query.reservation();
    for step in 0..steps {
        loop {
            participant.offer(Offer {
                bytes: if can_spill { held.bytes() } else { 0 },
                alongside: step % 2 == 0,
            });
            match participant.arbitrate() {
                Arbitration::Proceed => break,
                Arbitration::Wait => bell.wait(),
                Arbitration::Reclaim => {
                    given_back.fetch_add(held.bytes(), Ordering::Relaxed);
                    held.clear();
                    participant.reclaimed();
                }
            }
        }
        if held.grow(64 << 10).is_err() {
            return false;
        }
        // One with nothing to give that is off its thread does not hold up others, rightly.
        if can_spill && step % 7 == 3 {
            participant.park(true);
            thread::yield_now();
        }
    }
    true
}

#[test]
fn threads_that_can_give_back_all_come_to_their_end() {
    let root = Pool::root("process", Some(64 << 20));
    let (given_back, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for number in 0..6 {
            let query = root.child(format!("query {}", number / 2));
            let (given_back, failed) = (&given_back, &failed);
            scope.spawn(move || {
                if !take(&query, 2_000, true, given_back) {
                    failed.store(true, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(!failed.into_inner());
    assert!(given_back.into_inner() > 100 << 20);
    assert_eq!(root.stats().bytes, 0);
    assert!(root.stats().peak_bytes <= 64 << 20);
}

#[test]
fn of_queries_with_nothing_to_give_one_at_a_time_meets_the_limit() {
    let root = Pool::root("process", Some(32 << 20));
    let ends = AtomicUsize::new(0);
    thread::scope(|scope| {
        for number in 0..4 {
            let query = root.child(format!("query {number}"));
            let ends = &ends;
            scope.spawn(move || {
                // Fits alone, but not next to another.
                if take(&query, 300, false, &AtomicUsize::new(0)) {
                    ends.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(ends.into_inner() > 0, "all ran into the limit together");
    assert_eq!(root.stats().bytes, 0);
}

#[derive(Debug, Default)]
struct Told(AtomicUsize);

impl ArbitrationPolicy for Told {
    fn victim(&self, candidates: &[Candidate]) -> Option<u64> {
        LargestFirst.victim(candidates)
    }

    fn runner(&self, queries: &[Candidate]) -> Option<u64> {
        LargestFirst.runner(queries)
    }

    fn half_full(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_participant_tells_the_policy_once_that_half_is_held() {
    let root = Pool::root("process", Some(64 << 20));
    let told = Arc::new(Told::default());
    root.set_arbitration_policy(told.clone());
    let query = root.child("query");
    let mut held = query.reservation();
    let participants = [(); 2].map(|()| query.participate());
    for (held_bytes, expected) in [(20 << 20, 0), (40 << 20, 2), (10 << 20, 2), (40 << 20, 2)] {
        held.resize(held_bytes).unwrap();
        for participant in &participants {
            assert_eq!(participant.arbitrate(), Arbitration::Proceed);
        }
        assert_eq!(told.0.load(Ordering::Relaxed), expected);
    }
}

/// A process with this number of resident bytes.
#[derive(Debug, Default)]
struct Resident(AtomicUsize);

impl ArbitrationPolicy for Resident {
    fn victim(&self, candidates: &[Candidate]) -> Option<u64> {
        LargestFirst.victim(candidates)
    }

    fn runner(&self, queries: &[Candidate]) -> Option<u64> {
        LargestFirst.runner(queries)
    }

    fn resident_bytes(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn memory_that_nobody_charged_counts_beyond_what_is_usual() {
    let root = Pool::root("process", Some(1 << 30));
    let resident = Arc::new(Resident::default());
    root.set_arbitration_policy(resident.clone());
    let query = root.child("query");
    let (mut held, mut promised) = (query.reservation(), query.reserve_ahead());
    let mut participant = query.participate();
    participant.offer(Offer { bytes: 100 << 20, alongside: false });
    let threshold = (1 << 30) - root.headroom_bytes();
    // Reserved, promised, resident: promised bytes are not resident yet.
    let cases = [
        (500 << 20, 0, 628 << 20, Arbitration::Proceed),
        (500 << 20, 0, threshold + UNCHARGED_BYTES_MAX, Arbitration::Proceed),
        (600 << 20, 0, threshold + UNCHARGED_BYTES_MAX + 1, Arbitration::Reclaim),
        (500 << 20, 0, 600 << 20, Arbitration::Proceed),
        (300 << 20, 300 << 20, threshold + UNCHARGED_BYTES_MAX - (299 << 20), Arbitration::Reclaim),
        (300 << 20, 0, threshold + UNCHARGED_BYTES_MAX - (299 << 20), Arbitration::Proceed),
    ];
    for (charged, later, bytes, expected) in cases {
        held.resize(charged).unwrap();
        promised.resize(later).unwrap();
        resident.0.store(bytes, Ordering::Relaxed);
        assert_eq!(participant.arbitrate(), expected, "{charged} {later} {bytes}");
    }
}
