//! Distributes the splits of a table scan over the tasks of its fragment, in turn, while they are
//! listed.

use crate::outcome::Outcome;
use std::{
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
};
use volley_connector::{Split, SplitSource, SplitStep};
use volley_error::Result;
use volley_exec::SplitReceiver;

/// How many splits are listed at a time.
const LISTED_AT_ONCE: usize = 1000;

/// The splits of one scan on their way to tasks. Lists further splits when the source wakes it,
/// until it is dropped.
pub(crate) struct SplitFeed {
    state: Mutex<State>,
    /// Whether the source woke the feed since it was asked last.
    is_woken: AtomicBool,
    outcome: Arc<Outcome>,
}

struct State {
    /// `None` once all splits are listed.
    source: Option<Box<dyn SplitSource>>,
    /// The scan in each task.
    receivers: Vec<Arc<dyn SplitReceiver>>,
    /// Which of them gets the next split.
    next: usize,
}

/// Wakes a feed that still exists.
struct FeedWaker(Weak<SplitFeed>);

impl SplitFeed {
    /// Begins to distribute the splits of `source`. A failure to list them fails the query.
    pub(crate) fn start(
        source: Box<dyn SplitSource>,
        receivers: Vec<Arc<dyn SplitReceiver>>,
        outcome: &Arc<Outcome>,
    ) -> Arc<SplitFeed> {
        let state = Mutex::new(State { source: Some(source), receivers, next: 0 });
        let (is_woken, outcome) = (AtomicBool::new(false), Arc::clone(outcome));
        let feed = Arc::new(SplitFeed { state, is_woken, outcome });
        feed.list();
        feed
    }

    /// Lists what is there. The source may wake while it is asked, on this thread or another one:
    /// then it is asked again.
    fn list(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        while self.is_woken.load(Ordering::SeqCst) {
            // The thread that holds the lock reads the flag after it.
            let Ok(mut state) = self.state.try_lock() else { return };
            self.is_woken.store(false, Ordering::SeqCst);
            let waker = Waker::from(Arc::new(FeedWaker(Arc::downgrade(self))));
            if let Err(error) = state.list(&waker) {
                state.end();
                drop(state);
                self.outcome.fail(error);
            }
        }
    }
}

impl State {
    fn list(&mut self, waker: &Waker) -> Result<()> {
        while let Some(source) = &mut self.source {
            match source.next(LISTED_AT_ONCE, waker)? {
                SplitStep::Splits(splits) => self.distribute(splits)?,
                SplitStep::Blocked => return Ok(()),
                SplitStep::End => self.end(),
            }
        }
        Ok(())
    }

    fn distribute(&mut self, splits: Vec<Split>) -> Result<()> {
        let mut shares: Vec<Vec<Split>> = vec![Vec::new(); self.receivers.len()];
        for split in splits {
            if let Some(share) = shares.get_mut(self.next) {
                share.push(split);
            }
            self.next = (self.next + 1) % self.receivers.len().max(1);
        }
        let shares = self.receivers.iter().zip(shares).filter(|(_, share)| !share.is_empty());
        shares.into_iter().try_for_each(|(receiver, share)| receiver.add(share))
    }

    fn end(&mut self) {
        self.source = None;
        self.receivers.iter().for_each(|it| it.finish());
    }
}

impl Wake for FeedWaker {
    fn wake(self: Arc<Self>) {
        if let Some(feed) = self.0.upgrade() {
            feed.list();
        }
    }
}
