//! The arbiter: decides which participants release memory when it is scarce.
//!
//! A pool with a limit keeps a part of it as headroom. Once the used bytes reach into the headroom,
//! every participant (a driver of any query below the pool) asks between two steps what to do. The
//! arbiter interrupts no participant, and no participant blocks a thread:
//!
//! ```text
//! Reclaim    release what you can, then call `reclaimed`: you can release the most, or would wait
//!            for a driver of your query that can, and lose nothing by spilling as well
//! Wait       leave the thread until you are woken: another participant is releasing memory
//! Proceed    go on: there is memory again, or no participant can release any and it is your turn
//! ```
//!
//! Participants use the headroom between two checks, and for the cost of spilling itself (buffers
//! of files). Only a growth beyond the limit is refused.
//!
//! Memory of the process beyond the pool's bytes and a usual amount counts, too, if the policy can
//! measure it: structures without a reservation, and memory that the allocator cannot release.
//!
//! If no participant can release memory, the queries do not run into the limit together. The query
//! that the policy names continues, together with those that hold little, until it ends or the
//! limit ends it. The others wait. At least one query can therefore always run.
//!
//! Not all queries start at once: each running query has a claim on a part of the memory, and
//! queries whose claim does not fit next to the others' wait in line. A query that runs alone
//! always starts.
//!
//! Source: Velox, section 4.6. The rules are in `arbiter/rules.rs`, without threads; tests check
//! them in every order of events.

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
    /// Do nothing until woken: others release memory, or come first.
    Wait,
}

/// The arbiter of a pool without parent.
#[derive(Debug, Default)]
pub(crate) struct Arbiter {
    state: Mutex<State>,
    /// Whether a participant waits or is asked; then all participants check more closely.
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
    /// Whether the policy was notified that about half of the limit is used.
    has_told: AtomicBool,
}

/// The reason why a participant waits, readable without the arbiter's lock.
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

    /// Inspects the process again if much has changed.
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

    /// Reports the bytes that the participant could release now.
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

    /// Reports that the participant waits for something other than memory from now on, until it
    /// asks again: for other participants of its query, or for something outside. No participant
    /// waits for the end of a query that is parked as a whole. Its claim counts until one of its
    /// participants waits for something outside.
    pub fn park(&self, is_outside: bool) {
        self.parked.set(if is_outside { Parked::Outside } else { Parked::Within });
        let arbiter = self.root.arbiter();
        if arbiter.is_active.load(Ordering::SeqCst) {
            arbiter.change(|state| ((), state.rules.wake_all()));
        }
    }

    /// Like [`Participant::park`], also if it must wait for memory. Whether it is asked to give
    /// some back nevertheless, and is to do so before it rests.
    pub fn rest(&self) -> bool {
        self.parked.set(Parked::Outside);
        let arbiter = self.root.arbiter();
        let is_active = arbiter.is_active.load(Ordering::SeqCst);
        is_active && arbiter.change(|state| state.rules.rest(self.number))
    }

    /// Reports that the participant has released what it could.
    pub fn reclaimed(&self) {
        let number = self.number;
        self.root.arbiter().change(|state| ((), state.rules.reclaimed(number)));
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        let number = self.number;
        // The waker may own the participant, so it is dropped after the lock is released.
        let member = self.root.arbiter().change(|state| {
            let woken = state.rules.leave(number);
            (state.members.remove(&number), woken)
        });
        drop(member);
    }
}
