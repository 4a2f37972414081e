//! Senders that wait for room, in the order in which they came.

use std::{
    collections::{HashSet, VecDeque},
    task::Waker,
};
use volley_state::barrier::Waiters;

/// Wakers, each once, whatever their number.
#[derive(Debug, Default)]
pub(super) struct WaitingSenders {
    /// May hold wakers that are not waiting any more.
    order: VecDeque<Waker>,
    /// The data pointers of those that wait, as numbers.
    waiting: HashSet<usize>,
}

impl WaitingSenders {
    /// Adds a waker, unless it waits already.
    pub(super) fn add(&mut self, waker: &Waker) {
        if self.waiting.insert(id_of(waker)) {
            self.order.push_back(waker.clone());
        }
    }

    /// Forgets a waker whose sender goes on without having been woken.
    pub(super) fn remove(&mut self, waker: &Waker) {
        self.waiting.remove(&id_of(waker));
    }

    /// Takes up to `count` wakers, those first that wait longest.
    #[must_use]
    pub(super) fn take(&mut self, count: usize) -> Waiters {
        let mut taken = Vec::new();
        while taken.len() < count
            && let Some(waker) = self.order.pop_front()
        {
            if self.waiting.remove(&id_of(&waker)) {
                taken.push(waker);
            }
        }
        if self.waiting.is_empty() {
            self.order.clear();
        }
        Waiters::from(taken)
    }
}

fn id_of(waker: &Waker) -> usize {
    waker.data() as usize
}
