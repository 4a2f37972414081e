//! The rules of arbitration: a state machine without threads, clocks and wakers.

use super::{Arbitration, ArbitrationPolicy, Candidate};
use std::collections::{BTreeMap, BTreeSet};

/// What is held of a limited memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scarcity {
    /// Bytes held.
    pub bytes: usize,
    /// Beyond this, memory is scarce.
    pub threshold: usize,
    /// What each query that runs has a claim on: while it does not fit, no more queries begin.
    pub claim: usize,
}

/// Queries that hold no more than this part of the threshold never wait for others to end.
const SMALL_QUERY_SHARE: usize = 16;

/// Less than this part of the threshold is not worth releasing.
const WORTHWHILE_SHARE: usize = 64;

/// A participant that would wait for another one of its query spills as well if it can release at
/// least this part of what that one releases.
const ALONGSIDE_SHARE: usize = 4;

/// What the rules ask about a participant, by its number.
pub(crate) trait Facts {
    /// What its query holds.
    fn query_bytes(&self, number: u64) -> usize;

    /// Whether it waits for something else than memory.
    fn parked(&self, number: u64) -> Parked;
}

/// What a participant waits for that is not memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Parked {
    /// For nothing.
    No,
    /// For other participants of its query.
    Within,
    /// For something outside of its query, maybe for long: a reader, a file, the end of a pause.
    Outside,
}

/// The participants, and those that are asked to release memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    participants: BTreeMap<u64, State>,
    asked: BTreeSet<u64>,
    next: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    query: usize,
    offered: Offer,
    waits: bool,
    /// Whether its query may run; the others wait in line, in the order of their numbers.
    is_admitted: bool,
}

/// The bytes that a participant could release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offer {
    /// How many bytes.
    pub bytes: usize,
    /// Whether it is going to give them back in any case while memory is short, and loses nothing
    /// by doing so while others of its query do: a sort that does not fit will write all its rows.
    pub alongside: bool,
}

impl Scarcity {
    /// Whether some participant must release memory.
    pub(crate) fn is_scarce(self) -> bool {
        self.bytes > self.threshold
    }

    /// Whether this number of bytes is worth releasing.
    fn is_worthwhile(self, bytes: usize) -> bool {
        bytes >= (self.threshold / WORTHWHILE_SHARE).max(1)
    }

    /// Whether about half of the limit is held.
    pub(crate) fn is_half(self) -> bool {
        self.bytes > self.threshold / 2
    }
}

impl Rules {
    /// A new participant of a query, which may have begun before.
    pub(crate) fn join(&mut self, query: usize, has_begun: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let mut others = self.participants.values().filter(|it| it.query == query);
        let is_admitted = has_begun || others.any(|it| it.is_admitted);
        let state = State { query, offered: Offer::default(), waits: false, is_admitted };
        self.participants.insert(number, state);
        number
    }

    /// Whether its query may run.
    pub(crate) fn is_admitted(&self, number: u64) -> bool {
        self.participants.get(&number).is_some_and(|it| it.is_admitted)
    }

    /// Whether some participant waits or is asked.
    pub(crate) fn is_active(&self) -> bool {
        !self.asked.is_empty() || self.participants.values().any(|it| it.waits)
    }

    /// The bytes that a participant could release.
    pub(crate) fn offer(&mut self, number: u64, offer: Offer) {
        if let Some(it) = self.participants.get_mut(&number) {
            it.offered = offer;
        }
    }

    /// What a participant must do, and the participants that must check again.
    pub(crate) fn decide(
        &mut self,
        number: u64,
        scarcity: Scarcity,
        policy: &dyn ArbitrationPolicy,
        facts: &dyn Facts,
    ) -> (Arbitration, Vec<u64>) {
        let mut woken = self.admit(number, scarcity, facts);
        let answer = if self.is_admitted(number) {
            self.decide_admitted(number, scarcity, (policy, facts), &mut woken)
        } else {
            Arbitration::Wait
        };
        (self.answer(number, answer), woken)
    }

    /// Lets the queries that wait in line begin for which there is room, `number` in line as well;
    /// the participants that must look again.
    fn admit(&mut self, number: u64, scarcity: Scarcity, facts: &dyn Facts) -> Vec<u64> {
        let mut woken = Vec::new();
        let in_line = |it: &(&u64, &State)| !it.1.is_admitted && (it.1.waits || *it.0 == number);
        while let Some((_, first)) = self.participants.iter().find(in_line) {
            let query = first.query;
            if !self.has_room(scarcity, facts) {
                break;
            }
            for (number, it) in self.participants.iter_mut().filter(|it| it.1.query == query) {
                it.is_admitted = true;
                woken.extend(std::mem::take(&mut it.waits).then_some(*number));
            }
        }
        woken
    }

    /// Whether one query more may run: its claim and those of the others fit, or no other runs.
    fn has_room(&self, scarcity: Scarcity, facts: &dyn Facts) -> bool {
        let begun = self.begun(facts);
        let unused = begun.iter().map(|it| scarcity.claim.saturating_sub(it.bytes));
        let claimed = unused.fold(scarcity.bytes, usize::saturating_add);
        begun.is_empty() || claimed.saturating_add(scarcity.claim) <= scarcity.threshold
    }

    /// The queries that have begun, except for those that wait for something outside; one
    /// participant represents each.
    fn begun(&self, facts: &dyn Facts) -> Vec<Candidate> {
        self.queries(facts, |parked| {
            parked.contains(&Parked::No) || !parked.contains(&Parked::Outside)
        })
    }

    /// The queries with a participant that continues.
    fn running(&self, facts: &dyn Facts) -> Vec<Candidate> {
        self.queries(facts, |parked| parked.contains(&Parked::No))
    }

    /// The admitted queries that are such by what their participants wait for.
    fn queries(&self, facts: &dyn Facts, are: impl Fn(&[Parked]) -> bool) -> Vec<Candidate> {
        let mut queries: BTreeMap<usize, (u64, Vec<Parked>)> = BTreeMap::new();
        for (number, it) in self.participants.iter().filter(|it| it.1.is_admitted) {
            let (_, parked) = queries.entry(it.query).or_insert((*number, Vec::new()));
            parked.push(facts.parked(*number));
        }
        let such = queries.into_values().filter(|it| are(&it.1));
        such.map(|(number, _)| Candidate { number, bytes: facts.query_bytes(number) }).collect()
    }

    /// What a participant whose query may run is to do; adds the participants that must check
    /// again.
    fn decide_admitted(
        &mut self,
        number: u64,
        scarcity: Scarcity,
        (policy, facts): (&dyn ArbitrationPolicy, &dyn Facts),
        woken: &mut Vec<u64>,
    ) -> Arbitration {
        if !scarcity.is_scarce() {
            // Also if a participant is asked or releases memory: there is room already.
            self.asked.clear();
            woken.extend(self.wake(|it| it.is_admitted));
            return Arbitration::Proceed;
        }
        if self.asked.is_empty() {
            let Some(victim) = self.victim(scarcity, policy) else {
                return self.turn(number, scarcity, (policy, facts), woken);
            };
            self.asked.insert(victim);
            if victim != number {
                if let Some(it) = self.participants.get_mut(&victim) {
                    it.waits = false;
                }
                woken.push(victim);
            }
        }
        if self.asked.contains(&number) {
            return Arbitration::Reclaim;
        }
        if self.joins_in(number, scarcity) {
            self.asked.insert(number);
            return Arbitration::Reclaim;
        }
        Arbitration::Wait
    }

    /// Whether a participant must release memory instead of waiting for those that are asked.
    fn joins_in(&self, number: u64, scarcity: Scarcity) -> bool {
        let Some(it) = self.participants.get(&number) else { return false };
        let others = self.asked.iter().filter_map(|it| self.participants.get(it));
        let most = others.filter(|other| other.query == it.query).map(|it| it.offered.bytes).max();
        let enough = |most: usize| it.offered.bytes >= (most / ALONGSIDE_SHARE).max(1);
        it.offered.alongside && scarcity.is_worthwhile(it.offered.bytes) && most.is_some_and(enough)
    }

    /// A participant released what it could; returns the participants that must check again.
    pub(crate) fn reclaimed(&mut self, number: u64) -> Vec<u64> {
        self.asked.remove(&number);
        self.offer(number, Offer::default());
        self.wake_all()
    }

    /// A participant is gone; the participants that must check again.
    pub(crate) fn leave(&mut self, number: u64) -> Vec<u64> {
        self.participants.remove(&number);
        self.asked.remove(&number);
        self.wake_all()
    }

    /// A participant stops asking; returns whether it was asked to release memory, and the
    /// participants that must check again.
    pub(crate) fn rest(&mut self, number: u64) -> (bool, Vec<u64>) {
        if let Some(it) = self.participants.get_mut(&number) {
            it.waits = false;
        }
        (self.asked.contains(&number), self.wake_all())
    }

    fn answer(&mut self, number: u64, answer: Arbitration) -> Arbitration {
        if let Some(it) = self.participants.get_mut(&number) {
            it.waits = answer == Arbitration::Wait;
        }
        answer
    }

    /// All that wait for memory must check again, and the first in line; their numbers.
    pub(crate) fn wake_all(&mut self) -> Vec<u64> {
        let mut woken = self.wake(|it| it.is_admitted);
        let first = self.participants.iter_mut().find(|it| it.1.waits);
        woken.extend(first.map(|(number, it)| (*number, it.waits = false).0));
        woken
    }

    /// Those of these that wait must look again; their numbers.
    fn wake(&mut self, shall_look: impl Fn(&State) -> bool) -> Vec<u64> {
        let waiting = self.participants.iter_mut().filter(|it| it.1.waits && shall_look(it.1));
        waiting.map(|(number, it)| (*number, it.waits = false).0).collect()
    }

    fn victim(&self, scarcity: Scarcity, policy: &dyn ArbitrationPolicy) -> Option<u64> {
        let candidates: Vec<_> = self
            .participants
            .iter()
            .filter(|(_, it)| scarcity.is_worthwhile(it.offered.bytes))
            .map(|(number, it)| Candidate { number: *number, bytes: it.offered.bytes })
            .collect();
        if candidates.is_empty() { None } else { policy.victim(&candidates) }
    }

    /// No participant can release memory: one query continues, and those that hold little. Adds the
    /// participants that must check again.
    fn turn(
        &mut self,
        number: u64,
        scarcity: Scarcity,
        (policy, facts): (&dyn ArbitrationPolicy, &dyn Facts),
        woken: &mut Vec<u64>,
    ) -> Arbitration {
        let query_of = |number| self.participants.get(&number).map(|it| it.query);
        let candidates = self.running(facts);
        let runner = if candidates.is_empty() { None } else { policy.runner(&candidates) };
        let runner = runner.and_then(query_of);
        let is_turn = runner.is_none() || runner == query_of(number);
        let is_small = facts.query_bytes(number) <= scarcity.threshold / SMALL_QUERY_SHARE;
        if is_turn || is_small {
            return Arbitration::Proceed;
        }
        // It may be waiting for this one, which held more then.
        woken.extend(self.wake(|it| runner == Some(it.query)));
        Arbitration::Wait
    }
}
