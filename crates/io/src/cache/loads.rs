//! Reads under way, which others that need the same bytes wait for.

use super::{FileKey, Shared};
use bytes::Bytes;
use std::{
    collections::HashMap,
    future::poll_fn,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

/// The reads under way of all files.
#[derive(Default)]
pub(super) struct Loads(Mutex<HashMap<FileKey, Vec<Arc<Load>>>>);

/// A read of one range.
pub(super) struct Load {
    pub range: Range<u64>,
    state: Mutex<LoadState>,
}

enum LoadState {
    /// Those that wait.
    Running(Vec<Waker>),
    Done(Bytes),
    /// It failed or was cancelled; the error is that of the read that began it.
    Failed,
}

/// Ends a load: with bytes, or as failed when it is dropped before.
pub(super) struct LoadEnd {
    owner: Arc<Shared>,
    key: FileKey,
    load: Arc<Load>,
}

impl Loads {
    fn lock(&self) -> MutexGuard<'_, HashMap<FileKey, Vec<Arc<Load>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A read under way that has all bytes of a range.
    pub fn find(&self, key: &FileKey, range: &Range<u64>) -> Option<Arc<Load>> {
        let loads = self.lock();
        let has = |it: &&Arc<Load>| it.range.start <= range.start && range.end <= it.range.end;
        loads.get(key)?.iter().find(has).cloned()
    }

    /// Notes a read of a range; `None` if another one that has it is under way already.
    pub fn begin(owner: Arc<Shared>, key: &FileKey, range: Range<u64>) -> Option<LoadEnd> {
        let load = Arc::new(Load { range, state: Mutex::new(LoadState::Running(Vec::new())) });
        {
            let mut loads = owner.loads.lock();
            let of_file = loads.entry(key.clone()).or_default();
            let has = |it: &Arc<Load>| {
                it.range.start <= load.range.start && load.range.end <= it.range.end
            };
            if of_file.iter().any(has) {
                return None;
            }
            of_file.push(Arc::clone(&load));
        }
        Some(LoadEnd { owner, key: key.clone(), load })
    }
}

impl Load {
    fn state(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes, when they are there; `None` if the read fails.
    pub async fn bytes(&self) -> Option<Bytes> {
        poll_fn(|cx| match &mut *self.state() {
            LoadState::Running(wakers) => {
                wakers.push(cx.waker().clone());
                Poll::Pending
            }
            LoadState::Done(bytes) => Poll::Ready(Some(bytes.clone())),
            LoadState::Failed => Poll::Ready(None),
        })
        .await
    }

    fn end(&self, state: LoadState) {
        let before = std::mem::replace(&mut *self.state(), state);
        if let LoadState::Running(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl LoadEnd {
    /// Gives the bytes to those that wait.
    pub fn done(self, bytes: &Bytes) {
        self.load.end(LoadState::Done(bytes.clone()));
    }
}

impl Drop for LoadEnd {
    fn drop(&mut self) {
        let mut loads = self.owner.loads.lock();
        if let Some(of_file) = loads.get_mut(&self.key) {
            of_file.retain(|it| !Arc::ptr_eq(it, &self.load));
            if of_file.is_empty() {
                loads.remove(&self.key);
            }
        }
        drop(loads);
        let is_running = matches!(*self.load.state(), LoadState::Running(_));
        if is_running {
            self.load.end(LoadState::Failed);
        }
    }
}
