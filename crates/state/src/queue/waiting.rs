//! Producers that wait for room, in the order in which they came.

use crate::barrier::Waiters;
use std::{
    collections::{HashMap, VecDeque},
    task::Waker,
};

/// Wakers, each once, whatever their number.
#[derive(Debug, Default)]
pub(super) struct WaitingProducers {
    /// May hold wakers that do not wait any more.
    order: VecDeque<Waker>,
    /// By the data pointers of those that wait, as numbers: the lane of their batch; `None` if it
    /// is for several.
    lanes: HashMap<usize, Option<usize>, foldhash::fast::FixedState>,
}

impl WaitingProducers {
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Adds a waker, unless it waits already.
    pub(super) fn add(&mut self, waker: &Waker, lane: Option<usize>) {
        if self.lanes.insert(id_of(waker), lane).is_none() {
            self.order.push_back(waker.clone());
        }
    }

    /// Removes a waker whose producer goes on without having been woken.
    pub(super) fn remove(&mut self, waker: &Waker) {
        if !self.is_empty() {
            self.lanes.remove(&id_of(waker));
        }
    }

    /// Takes up to `count` wakers, those first that wait longest.
    #[must_use]
    pub(super) fn take(&mut self, count: usize) -> Waiters {
        let mut taken = Vec::new();
        while taken.len() < count
            && let Some(waker) = self.order.pop_front()
        {
            if self.lanes.remove(&id_of(&waker)).is_some() {
                taken.push(waker);
            }
        }
        if self.is_empty() {
            self.order.clear();
        }
        Waiters::from(taken)
    }

    /// Takes the wakers of producers whose batch is for `lane`.
    #[must_use]
    pub(super) fn take_lane(&mut self, lane: usize) -> Waiters {
        if self.is_empty() {
            return Waiters::default();
        }
        let lanes = &mut self.lanes;
        let is_of_lane = |it: &Waker| lanes.get(&id_of(it)) == Some(&Some(lane));
        let taken: Vec<Waker> = self.order.iter().filter(|it| is_of_lane(it)).cloned().collect();
        for waker in &taken {
            lanes.remove(&id_of(waker));
        }
        self.order.retain(|it| lanes.contains_key(&id_of(it)));
        Waiters::from(taken)
    }
}

fn id_of(waker: &Waker) -> usize {
    waker.data() as usize
}
