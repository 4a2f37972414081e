//! The output buffers of a task: pages that wait for their readers.
//!
//! ```text
//! sinks ── push ──> [page 7] [page 8] [page 9] <── get(token 7) ── reader
//!                a get of token N releases the pages before N; until then they can be read again
//! ```
//!
//! A sink waits while the buffers hold more than their limit. One page is always accepted.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use tokio::sync::watch;

/// The output buffers of one task.
pub(crate) struct OutputBuffers {
    bytes_max: usize,
    inner: Mutex<Inner>,
    /// Counts changes that readers wait for.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    buffers: BTreeMap<String, PageQueue>,
    /// Whether the coordinator named all buffers.
    are_all_known: bool,
    no_more_pages: bool,
    /// Whether the pages are not wanted any more: the task failed or was stopped.
    is_closed: bool,
    blocked: Vec<Waker>,
    totals: Totals,
}

/// What went through the buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub rows: u64,
    pub pages: u64,
    pub bytes: u64,
    pub buffered_bytes: u64,
    pub buffered_pages: u64,
}

/// The pages for one reader.
#[derive(Default)]
struct PageQueue {
    /// The token of the first page.
    first: u64,
    pages: VecDeque<Bytes>,
    bytes: usize,
    /// Whether the reader said that it needs no more.
    is_destroyed: bool,
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pages {
    pub pages: Vec<Bytes>,
    /// The token that was asked for.
    pub token: u64,
    /// The token of the page behind these.
    pub next_token: u64,
    /// Whether there will be no more pages.
    pub is_complete: bool,
    /// The bytes that wait behind these pages.
    pub remaining_bytes: usize,
}

/// What became of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is in the buffer.
    Accepted,
    /// The buffers are full; the waker is woken when they are not.
    Full(Bytes),
    /// No reader wants pages any more.
    Unwanted,
}

impl OutputBuffers {
    /// Buffers that hold about `bytes_max` bytes together.
    pub(crate) fn new(bytes_max: usize) -> OutputBuffers {
        OutputBuffers { bytes_max, inner: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// Adds the buffers that are not known yet.
    pub(crate) fn add_buffers<'a>(&self, ids: impl Iterator<Item = &'a String>, last: LastBuffers) {
        let mut inner = self.lock();
        for id in ids {
            inner.buffers.entry(id.clone()).or_default();
        }
        inner.are_all_known |= last == LastBuffers::Known;
        self.changed(inner);
    }

    /// Appends a page of `rows` rows to all buffers that still have a reader.
    pub(crate) fn push(&self, page: Bytes, rows: u64, waker: &Waker) -> Pushed {
        let mut inner = self.lock();
        let is_unread = inner.are_all_known && inner.buffers.values().all(|it| it.is_destroyed);
        if inner.is_closed || is_unread {
            return Pushed::Unwanted;
        }
        let held: usize = inner.buffers.values().map(|it| it.bytes).sum();
        if inner.buffers.is_empty() || (held > 0 && held + page.len() > self.bytes_max) {
            inner.blocked.push(waker.clone());
            return Pushed::Full(page);
        }
        inner.totals.rows += rows;
        inner.totals.pages += 1;
        inner.totals.bytes += page.len() as u64;
        for queue in inner.buffers.values_mut().filter(|it| !it.is_destroyed) {
            queue.bytes += page.len();
            queue.pages.push_back(page.clone());
        }
        self.changed(inner);
        Pushed::Accepted
    }

    /// Tells that all pages were pushed.
    pub(crate) fn finish(&self) {
        let mut inner = self.lock();
        inner.no_more_pages = true;
        self.changed(inner);
    }

    /// Drops all pages: the task failed or was stopped. Readers are never told that they have all.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        for queue in inner.buffers.values_mut() {
            queue.drop_pages();
        }
        self.changed(inner);
    }

    /// The pages from `token` on, of about `bytes_max` bytes but at least one page if there is one.
    /// Releases the pages before `token`.
    pub(crate) fn get(&self, id: &str, token: u64, bytes_max: usize) -> Pages {
        let mut inner = self.lock();
        let (no_more_pages, is_closed) = (inner.no_more_pages, inner.is_closed);
        let empty = Pages {
            pages: Vec::new(),
            token,
            next_token: token,
            is_complete: false,
            remaining_bytes: 0,
        };
        let Some(queue) = inner.buffers.get_mut(id).filter(|_| !is_closed) else { return empty };
        let released = queue.release_before(token);
        let mut pages = Vec::new();
        let (mut taken, mut remaining_bytes) = (0, 0);
        let skipped = token.saturating_sub(queue.first) as usize;
        for page in queue.pages.iter().skip(skipped) {
            if remaining_bytes == 0 && (pages.is_empty() || taken + page.len() <= bytes_max) {
                taken += page.len();
                pages.push(page.clone());
            } else {
                remaining_bytes += page.len();
            }
        }
        let next_token = token + pages.len() as u64;
        let is_complete = queue.is_destroyed || (no_more_pages && queue.pages.is_empty());
        if released {
            self.changed(inner);
        }
        Pages { pages, token, next_token, is_complete, remaining_bytes }
    }

    /// Releases the pages before `token`.
    pub(crate) fn acknowledge(&self, id: &str, token: u64) {
        let mut inner = self.lock();
        if inner.buffers.get_mut(id).is_some_and(|it| it.release_before(token)) {
            self.changed(inner);
        }
    }

    /// Drops a buffer whose reader needs no more.
    pub(crate) fn destroy(&self, id: &str) {
        let mut inner = self.lock();
        if let Some(queue) = inner.buffers.get_mut(id) {
            queue.drop_pages();
            queue.is_destroyed = true;
            self.changed(inner);
        }
    }

    /// Whether all readers have all pages, or need no more.
    pub(crate) fn are_drained(&self) -> bool {
        let inner = self.lock();
        let is_done =
            |it: &PageQueue| it.is_destroyed || (inner.no_more_pages && it.pages.is_empty());
        inner.are_all_known && inner.buffers.values().all(is_done)
    }

    /// Whether no reader needs more pages, though there may be some.
    pub(crate) fn are_destroyed(&self) -> bool {
        let inner = self.lock();
        inner.are_all_known
            && !inner.buffers.is_empty()
            && inner.buffers.values().all(|it| it.is_destroyed)
    }

    pub(crate) fn totals(&self) -> Totals {
        let inner = self.lock();
        let mut totals = inner.totals;
        totals.buffered_bytes = inner.buffers.values().map(|it| it.bytes as u64).sum();
        totals.buffered_pages = inner.buffers.values().map(|it| it.pages.len() as u64).sum();
        totals
    }

    /// How full the buffers are: 0 to 1, or more.
    pub(crate) fn utilization(&self) -> f64 {
        self.totals().buffered_bytes as f64 / self.bytes_max.max(1) as f64
    }

    /// Counts changes; readers wait for the next one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes readers and sinks.
    fn changed(&self, mut inner: MutexGuard<'_, Inner>) {
        let blocked = std::mem::take(&mut inner.blocked);
        drop(inner);
        blocked.into_iter().for_each(Waker::wake);
        self.changes.send_modify(|it| *it += 1);
    }
}

/// Whether more buffers may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastBuffers {
    Known,
    Unknown,
}

impl PageQueue {
    /// Whether pages were released.
    fn release_before(&mut self, token: u64) -> bool {
        let before = self.first;
        while self.first < token
            && let Some(page) = self.pages.pop_front()
        {
            self.bytes -= page.len();
            self.first += 1;
        }
        self.first > before
    }

    fn drop_pages(&mut self) {
        self.first += self.pages.len() as u64;
        self.pages.clear();
        self.bytes = 0;
    }
}
