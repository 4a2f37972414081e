//! Who gives memory back when it gets scarce.
//!
//! A pool with a limit keeps some of it as headroom. Once what is held reaches into the headroom,
//! every participant (a driver of any query below the pool) that looks up between two steps is told
//! what to do; nobody is interrupted, and nobody blocks a thread:
//!
//! ```text
//! Reclaim    give back what you can, then say `reclaimed`: you have the most to give, or would
//!            wait for one of your query that has, and give back sooner or later anyway
//! Wait       leave the thread until you are woken: somebody else is giving back
//! Proceed    go on: there is room again, or nobody has anything to give and it is your turn
//! ```
//!
//! The headroom is what participants take between two looks, and what giving back costs itself
//! (buffers of files). Only a growth beyond the limit is refused.
//!
//! What the process has beyond the pool's bytes and what is usual counts, too, where the policy
//! knows it: structures that nobody charged, and what the allocator cannot give back.
//!
//! When nobody has anything to give, the queries do not run into the limit together: the one that
//! the policy names goes on, with those that hold little, until it ends or the limit ends it; the
//! others wait. So somebody can always run.
//!
//! Not all queries begin at once: each that runs has a claim on a part of the memory, and those
//! whose claim does not fit beside the others' wait in line. What runs alone always has room.
//!
//! Source: Velox, section 4.6. The rules themselves are in `arbiter/rules.rs`, without threads, and
//! are checked there in every order of events.

mod policy;
mod rules;
#[cfg(test)]
mod tests;
mod uncharged;

pub use policy::{ArbitrationPolicy, Candidate, LargestFirst, UNCHARGED_BYTES_MAX};
pub use rules::Offer;
pub(crate) use rules::Scarcity;

use crate::Pool;
use rules::{Facts, Parked, Rules};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    task::Waker,
};
use uncharged::Uncharged;

/// What a participant is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arbitration {
    /// Go on.
    Proceed,
    /// Give memory back, then call [`Participant::reclaimed`].
    Reclaim,
    /// Do nothing until woken: others give back, or come first.
    Wait,
}

/// The arbiter of a pool without parent.
#[derive(Debug, Default)]
pub(crate) struct Arbiter {
    state: Mutex<State>,
    /// Whether somebody waits or is asked; then all look closer.
    is_active: AtomicBool,
    uncharged: Uncharged,
}

#[derive(Debug, Default)]
struct State {
    rules: Rules,
    members: Members,
    policy: Option<Arc<dyn ArbitrationPolicy>>,
}

#[derive(Debug)]
struct Member {
    waker: Waker,
    query: Pool,
    parked: Arc<ParkedCell>,
}

type Members = HashMap<u64, Member>;

/// One that takes memory step by step and may be able to give some back: a driver of a query.
/// Dropping it leaves the arbitration.
#[derive(Debug)]
pub struct Participant {
    number: u64,
    query: Pool,
    root: Pool,
    offered: Offer,
    has_waker: bool,
    parked: Arc<ParkedCell>,
    /// Whether the policy was told that about half of the limit is held.
    has_told: AtomicBool,
}

/// What a participant waits for, told without the arbiter's lock.
#[derive(Debug, Default)]
struct ParkedCell(AtomicU8);

impl ParkedCell {
    fn get(&self) -> Parked {
        match self.0.load(Ordering::SeqCst) {
            0 => Parked::No,
            1 => Parked::Within,
            _ => Parked::Outside,
        }
    }

    fn set(&self, parked: Parked) {
        if self.0.load(Ordering::Relaxed) != parked as u8 {
            self.0.store(parked as u8, Ordering::SeqCst);
        }
    }
}

impl Facts for Members {
    fn query_bytes(&self, number: u64) -> usize {
        self.get(&number).map_or(0, |it| it.query.stats().bytes)
    }

    fn parked(&self, number: u64) -> Parked {
        self.get(&number).map_or(Parked::No, |it| it.parked.get())
    }
}

impl Arbiter {
    pub(crate) fn set_policy(&self, policy: Arc<dyn ArbitrationPolicy>) {
        self.lock().policy = Some(policy);
    }

    /// What the process has beyond what is charged and usual, as found last.
    pub(crate) fn uncharged_bytes(&self) -> usize {
        self.uncharged.bytes()
    }

    /// Looks at the process again if much has changed.
    fn look_at_process(&self, root: &Pool) {
        let resident_bytes = || {
            let policy = self.lock().policy.clone();
            policy.and_then(|it| it.resident_bytes())
        };
        self.uncharged.look(root.taken_bytes(), root.scarcity(), resident_bytes);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the rules' state and wakes those that shall look again.
    fn change<T>(&self, f: impl FnOnce(&mut State) -> (T, Vec<u64>)) -> T {
        let mut state = self.lock();
        // Before the rules look who is parked: who parks now sees it, and comes here as well.
        self.is_active.store(true, Ordering::SeqCst);
        let (answer, woken) = f(&mut state);
        self.is_active.store(state.rules.is_active(), Ordering::SeqCst);
        let wakers: Vec<Waker> = woken
            .iter()
            .filter_map(|it| state.members.get(it))
            .map(|it| it.waker.clone())
            .collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        answer
    }
}

impl Participant {
    /// Joins the arbitration of the memory that `query` takes a part of. A query has begun until
    /// its last participant goes, so all of them join before the first looks.
    pub(crate) fn join(query: &Pool) -> Participant {
        let root = query.root_pool().clone();
        let parked = Arc::new(ParkedCell::default());
        let number = root.arbiter().change(|state| {
            let number = state.rules.join(query.identity(), query.has_begun());
            let waker = Waker::noop().clone();
            let member = Member { waker, query: query.clone(), parked: Arc::clone(&parked) };
            state.members.insert(number, member);
            (number, Vec::new())
        });
        Participant {
            number,
            query: query.clone(),
            root,
            offered: Offer::default(),
            has_waker: false,
            parked,
            has_told: AtomicBool::new(false),
        }
    }

    /// Takes what makes the participant look again, the same each time; to be given before it looks
    /// first.
    pub fn wake_with(&mut self, waker: &Waker) {
        if !std::mem::replace(&mut self.has_waker, true)
            && let Some(it) = self.root.arbiter().lock().members.get_mut(&self.number)
        {
            it.waker = waker.clone();
        }
    }

    /// Says what the participant could give back now.
    pub fn offer(&mut self, offer: Offer) {
        if offer != self.offered {
            self.offered = offer;
            let number = self.number;
            self.root.arbiter().lock().rules.offer(number, offer);
        }
    }

    /// What to do now. To be asked before each step.
    pub fn arbitrate(&self) -> Arbitration {
        let arbiter = self.root.arbiter();
        self.parked.set(Parked::No);
        arbiter.look_at_process(&self.root);
        let scarcity = self.root.scarcity();
        if scarcity.is_half() && !self.has_told.load(Ordering::Relaxed) {
            self.has_told.store(true, Ordering::Relaxed);
            let policy = arbiter.lock().policy.clone();
            policy.iter().for_each(|it| it.half_full());
        }
        let is_quiet = !arbiter.is_active.load(Ordering::Acquire) && !scarcity.is_scarce();
        if is_quiet && self.query.has_begun() {
            return Arbitration::Proceed;
        }
        arbiter.change(|State { rules, members, policy }| {
            let policy: &dyn ArbitrationPolicy = policy.as_deref().unwrap_or(&LargestFirst);
            let decision = rules.decide(self.number, self.root.scarcity(), policy, members);
            if rules.is_admitted(self.number) {
                self.query.begin();
            }
            decision
        })
    }

    /// Tells that the participant waits for something else than memory from now on, until it asks
    /// again: for other participants of its query, or for something outside. Nobody waits for its
    /// query to end when all of it is parked; that it has begun counts until somebody waits for
    /// something outside.
    pub fn park(&self, is_outside: bool) {
        self.parked.set(if is_outside { Parked::Outside } else { Parked::Within });
        let arbiter = self.root.arbiter();
        if arbiter.is_active.load(Ordering::SeqCst) {
            arbiter.change(|state| ((), state.rules.wake_all()));
        }
    }

    /// As [`Participant::park`], also when it was told to wait for memory. Whether it is asked to
    /// give some back nevertheless, and is to do so before it rests.
    pub fn rest(&self) -> bool {
        self.parked.set(Parked::Outside);
        let arbiter = self.root.arbiter();
        let is_active = arbiter.is_active.load(Ordering::SeqCst);
        is_active && arbiter.change(|state| state.rules.rest(self.number))
    }

    /// Tells that the participant has given back what it could.
    pub fn reclaimed(&self) {
        let number = self.number;
        self.root.arbiter().change(|state| ((), state.rules.reclaimed(number)));
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        let number = self.number;
        // The waker may hold what owns the participant, so it goes when the lock is given back.
        let member = self.root.arbiter().change(|state| {
            let woken = state.rules.leave(number);
            (state.members.remove(&number), woken)
        });
        drop(member);
    }
}
