//! The rules of arbitration: a state machine without threads, clocks and wakers.

use super::{Arbitration, ArbitrationPolicy, Candidate};
use std::collections::BTreeMap;

/// What is held of a limited memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scarcity {
    /// Bytes held.
    pub bytes: usize,
    /// Beyond this, memory is scarce.
    pub threshold: usize,
}

/// Queries that hold no more than this part of the threshold never wait for others to end.
const SMALL_QUERY_SHARE: usize = 16;

/// Less than this part of the threshold is not worth giving back.
const WORTHWHILE_SHARE: usize = 64;

/// What the rules ask about a participant, by its number.
pub(crate) trait Facts {
    /// What its query holds.
    fn query_bytes(&self, number: u64) -> usize;

    /// Whether it waits for something else than memory, maybe for long.
    fn is_parked(&self, number: u64) -> bool;
}

/// The participants, and who is asked to give memory back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    participants: BTreeMap<u64, State>,
    asked: Option<u64>,
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    query: usize,
    offered: usize,
    waits: bool,
}

impl Scarcity {
    /// Whether somebody must give back.
    pub(crate) fn is_scarce(self) -> bool {
        self.bytes > self.threshold
    }

    /// Whether about half of the limit is held.
    pub(crate) fn is_half(self) -> bool {
        self.bytes > self.threshold / 2
    }
}

impl Rules {
    /// A new participant of a query.
    pub(crate) fn join(&mut self, query: usize) -> u64 {
        let number = self.next;
        self.next += 1;
        self.participants.insert(number, State { query, offered: 0, waits: false });
        number
    }

    /// Whether somebody waits or is asked.
    pub(crate) fn is_active(&self) -> bool {
        self.asked.is_some() || self.participants.values().any(|it| it.waits)
    }

    /// What a participant could give back.
    pub(crate) fn offer(&mut self, number: u64, bytes: usize) {
        if let Some(it) = self.participants.get_mut(&number) {
            it.offered = bytes;
        }
    }

    /// What a participant is to do, and who must look again.
    pub(crate) fn decide(
        &mut self,
        number: u64,
        scarcity: Scarcity,
        policy: &dyn ArbitrationPolicy,
        facts: &dyn Facts,
    ) -> (Arbitration, Vec<u64>) {
        if !scarcity.is_scarce() {
            // Also when somebody is asked, or gives back: there is room already.
            self.asked = None;
            let answer = self.answer(number, Arbitration::Proceed);
            return (answer, self.wake_all());
        }
        if self.asked == Some(number) {
            return (self.answer(number, Arbitration::Reclaim), Vec::new());
        }
        if self.asked.is_some() {
            return (self.answer(number, Arbitration::Wait), Vec::new());
        }
        let Some(victim) = self.victim(scarcity, policy) else {
            return self.turn(number, scarcity, policy, facts);
        };
        self.asked = Some(victim);
        if victim == number {
            return (self.answer(number, Arbitration::Reclaim), Vec::new());
        }
        if let Some(it) = self.participants.get_mut(&victim) {
            it.waits = false;
        }
        (self.answer(number, Arbitration::Wait), vec![victim])
    }

    /// A participant gave back what it could; who must look again.
    pub(crate) fn reclaimed(&mut self, number: u64) -> Vec<u64> {
        self.asked = self.asked.filter(|it| *it != number);
        self.offer(number, 0);
        self.wake_all()
    }

    /// A participant is gone; who must look again.
    pub(crate) fn leave(&mut self, number: u64) -> Vec<u64> {
        self.participants.remove(&number);
        self.asked = self.asked.filter(|it| *it != number);
        self.wake_all()
    }

    /// A participant stops asking what to do; whether it is asked to give back, and who must look
    /// again.
    pub(crate) fn rest(&mut self, number: u64) -> (bool, Vec<u64>) {
        if let Some(it) = self.participants.get_mut(&number) {
            it.waits = false;
        }
        (self.asked == Some(number), self.wake_all())
    }

    fn answer(&mut self, number: u64, answer: Arbitration) -> Arbitration {
        if let Some(it) = self.participants.get_mut(&number) {
            it.waits = answer == Arbitration::Wait;
        }
        answer
    }

    /// All that wait must look again; their numbers.
    pub(crate) fn wake_all(&mut self) -> Vec<u64> {
        let waiting = self.participants.iter_mut().filter(|it| it.1.waits);
        waiting.map(|(number, it)| (*number, it.waits = false).0).collect()
    }

    fn victim(&self, scarcity: Scarcity, policy: &dyn ArbitrationPolicy) -> Option<u64> {
        let worthwhile = (scarcity.threshold / WORTHWHILE_SHARE).max(1);
        let candidates: Vec<_> = self
            .participants
            .iter()
            .filter(|(_, it)| it.offered >= worthwhile)
            .map(|(number, it)| Candidate { number: *number, bytes: it.offered })
            .collect();
        if candidates.is_empty() { None } else { policy.victim(&candidates) }
    }

    /// Nobody has anything to give: one query goes on, and those that hold little.
    fn turn(
        &mut self,
        number: u64,
        scarcity: Scarcity,
        policy: &dyn ArbitrationPolicy,
        facts: &dyn Facts,
    ) -> (Arbitration, Vec<u64>) {
        let mut queries: BTreeMap<usize, Candidate> = BTreeMap::new();
        // One that waits for its reader, say, does not end soon.
        for (number, it) in self.participants.iter().filter(|it| !facts.is_parked(*it.0)) {
            let candidate = || Candidate { number: *number, bytes: facts.query_bytes(*number) };
            queries.entry(it.query).or_insert_with(candidate);
        }
        let query_of = |number| self.participants.get(&number).map(|it| it.query);
        let candidates: Vec<Candidate> = queries.into_values().collect();
        let runner = if candidates.is_empty() { None } else { policy.runner(&candidates) };
        let runner = runner.and_then(query_of);
        let is_turn = runner.is_none() || runner == query_of(number);
        let is_small = facts.query_bytes(number) <= scarcity.threshold / SMALL_QUERY_SHARE;
        if is_turn || is_small {
            return (self.answer(number, Arbitration::Proceed), Vec::new());
        }
        // It may have been told to wait for this one, which held more then.
        let of_runner = self.participants.iter_mut().filter(|it| runner == Some(it.1.query));
        let waiting = of_runner.filter(|it| it.1.waits);
        let woken = waiting.map(|(number, it)| (*number, it.waits = false).0).collect();
        (self.answer(number, Arbitration::Wait), woken)
    }
}
