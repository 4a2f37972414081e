//! The output buffers of a task: pages that wait for their readers.
//!
//! ```text
//! PARTITIONED  sinks ── page of partition 1 ──> buffer "1": [page 7] [page 8] ── get(7) ── reader
//! BROADCAST    sinks ── page ──> every buffer; buffers that come later get all pages, too
//! ARBITRARY    sinks ── page ──> common pages ──> the buffer whose reader asks first
//! ```
//!
//! A get of token N releases the pages before N; until then they can be read again. A sink waits
//! while the buffers hold more than their limit. One page is always accepted. Pages are charged to
//! the task's pool; a page that several buffers hold is charged once.

mod queue;
#[cfg(test)]
mod tests;

use crate::protocol::{BufferKind, OutputIds};
use bytes::Bytes;
use queue::PageQueue;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use tokio::sync::watch;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};

/// The output buffers of one task.
pub(crate) struct OutputBuffers {
    bytes_max: usize,
    inner: Mutex<Inner>,
    /// Counts changes that readers wait for.
    changes: watch::Sender<u64>,
}

struct Inner {
    kind: BufferKind,
    buffers: BTreeMap<String, PageQueue>,
    /// Whether the coordinator named all buffers.
    are_all_known: bool,
    /// BROADCAST: all pages, until all buffers are known. ARBITRARY: pages that no buffer has.
    common: VecDeque<Bytes>,
    common_bytes: usize,
    no_more_pages: bool,
    /// Whether no reader will get more pages: the task failed or was stopped.
    is_closed: bool,
    blocked: Vec<Waker>,
    totals: Totals,
    charge: Reservation,
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

/// A page, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputPage {
    /// The partition, if the buffers are partitioned.
    pub partition: usize,
    pub rows: u64,
    pub bytes: Bytes,
}

/// What became of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is in the buffer.
    Accepted,
    /// The buffers are full; the waker is woken when they are not.
    Full(OutputPage),
    /// No reader needs more pages.
    Unwanted,
}

impl OutputBuffers {
    /// Buffers that hold about `bytes_max` bytes together, charged to `pool`.
    pub(crate) fn new(bytes_max: usize, pool: &Pool) -> OutputBuffers {
        let inner = Inner {
            kind: BufferKind::Partitioned,
            buffers: BTreeMap::new(),
            are_all_known: false,
            common: VecDeque::new(),
            common_bytes: 0,
            no_more_pages: false,
            is_closed: false,
            blocked: Vec::new(),
            totals: Totals::default(),
            charge: pool.reservation(),
        };
        OutputBuffers { bytes_max, inner: Mutex::new(inner), changes: watch::Sender::new(0) }
    }

    /// Sets the kind of the buffers and adds those that are not known yet.
    ///
    /// # Errors
    ///
    /// Unsupported: buffers of another kind. Invalid value: a negative partition, buffers after the
    /// last ones.
    pub(crate) fn add(&self, ids: &OutputIds) -> Result<()> {
        let kind = ids.kind;
        if !matches!(kind, BufferKind::Partitioned | BufferKind::Broadcast | BufferKind::Arbitrary)
        {
            return Err(Error::unsupported(format!("output buffers of the kind {}", kind.name())));
        }
        let mut inner = self.lock();
        inner.kind = kind;
        for (id, partition) in &ids.buffers {
            if inner.buffers.contains_key(id) {
                continue;
            }
            if inner.are_all_known {
                return Err(Error::invalid_value(format!("output buffer {id} after the last one")));
            }
            let partition = usize::try_from(*partition);
            let partition =
                partition.map_err(|_| Error::invalid_value("a negative output partition"))?;
            let mut queue = PageQueue::new(partition);
            if kind == BufferKind::Broadcast {
                inner.common.iter().for_each(|it| queue.push(it.clone()));
            }
            inner.buffers.insert(id.clone(), queue);
        }
        inner.are_all_known |= ids.no_more_buffer_ids;
        if inner.are_all_known && kind == BufferKind::Broadcast {
            inner.drop_common();
        }
        self.changed(inner);
        Ok(())
    }

    /// Adds a page to the buffers that get it.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn push(&self, page: OutputPage, waker: &Waker) -> Result<Pushed> {
        let mut inner = self.lock();
        if inner.is_closed || inner.are_destroyed() {
            return Ok(Pushed::Unwanted);
        }
        let held = inner.held_bytes();
        let has_no_buffer = inner.buffers.is_empty() && inner.kind == BufferKind::Partitioned;
        if has_no_buffer || (held > 0 && held + page.bytes.len() > self.bytes_max) {
            inner.blocked.push(waker.clone());
            return Ok(Pushed::Full(page));
        }
        inner.charge.grow(page.bytes.len())?;
        inner.totals.rows += page.rows;
        inner.totals.pages += 1;
        inner.totals.bytes += page.bytes.len() as u64;
        inner.distribute(page);
        self.changed(inner);
        Ok(Pushed::Accepted)
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
        inner.drop_common();
        inner.buffers.values_mut().for_each(PageQueue::drop_pages);
        self.changed(inner);
    }

    /// The pages from `token` on, of about `bytes_max` bytes but at least one page if there is one.
    /// Releases the pages before `token`.
    pub(crate) fn get(&self, id: &str, token: u64, bytes_max: usize) -> Pages {
        let mut inner = self.lock();
        let empty = Pages {
            pages: Vec::new(),
            token,
            next_token: token,
            is_complete: false,
            remaining_bytes: 0,
        };
        if inner.is_closed {
            return empty;
        }
        inner.take_common(id, token, bytes_max);
        let Some(queue) = inner.buffers.get_mut(id) else { return empty };
        let released = queue.release_before(token);
        let taken = queue.take(token, bytes_max);
        let next_token = token + taken.pages.len() as u64;
        let is_complete = inner.buffers.get(id).is_some_and(|it| inner.is_complete(it));
        let remaining_bytes = taken.remaining_bytes;
        if released {
            self.changed(inner);
        }
        Pages { pages: taken.pages, token, next_token, is_complete, remaining_bytes }
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
            if inner.are_destroyed() {
                inner.drop_common();
            }
            self.changed(inner);
        }
    }

    /// Whether all readers have all pages, or need no more.
    pub(crate) fn are_drained(&self) -> bool {
        let inner = self.lock();
        inner.are_all_known && inner.buffers.values().all(|it| inner.is_complete(it))
    }

    /// Whether no reader needs more pages, though there may be some.
    pub(crate) fn are_destroyed(&self) -> bool {
        self.lock().are_destroyed()
    }

    pub(crate) fn totals(&self) -> Totals {
        let inner = self.lock();
        let mut totals = inner.totals;
        totals.buffered_bytes = inner.held_bytes() as u64;
        let pages = inner.buffers.values().map(|it| it.len()).sum::<usize>() + inner.common.len();
        totals.buffered_pages = pages as u64;
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
        let held = inner.held_bytes();
        let excess = inner.charge.bytes().saturating_sub(held);
        inner.charge.shrink(excess);
        let blocked = std::mem::take(&mut inner.blocked);
        drop(inner);
        blocked.into_iter().for_each(Waker::wake);
        self.changes.send_modify(|it| *it += 1);
    }
}

impl Inner {
    fn are_destroyed(&self) -> bool {
        let mut buffers = self.buffers.values();
        self.are_all_known && buffers.all(|it| it.is_destroyed)
    }

    /// Whether a reader has all pages, or needs no more.
    fn is_complete(&self, queue: &PageQueue) -> bool {
        let may_get_common = self.kind == BufferKind::Arbitrary && !self.common.is_empty();
        queue.is_destroyed || (self.no_more_pages && queue.is_empty() && !may_get_common)
    }

    /// The bytes in memory.
    fn held_bytes(&self) -> usize {
        let bytes = self.buffers.values().map(|it| it.bytes);
        match self.kind {
            // Buffers share pages: each holds the last ones.
            BufferKind::Broadcast => bytes.max().unwrap_or(0).max(self.common_bytes),
            _ => bytes.sum::<usize>() + self.common_bytes,
        }
    }

    fn distribute(&mut self, page: OutputPage) {
        let OutputPage { partition, bytes, .. } = page;
        match self.kind {
            BufferKind::Broadcast => {
                self.buffers.values_mut().for_each(|it| it.push(bytes.clone()));
                if !self.are_all_known {
                    self.push_common(bytes);
                }
            }
            BufferKind::Arbitrary => self.push_common(bytes),
            _ => {
                let buffers = self.buffers.values_mut().filter(|it| it.partition == partition);
                buffers.for_each(|it| it.push(bytes.clone()));
            }
        }
    }

    fn push_common(&mut self, page: Bytes) {
        self.common_bytes += page.len();
        self.common.push_back(page);
    }

    /// ARBITRARY: gives common pages to the buffer `id`, whose reader has read all others.
    fn take_common(&mut self, id: &str, token: u64, bytes_max: usize) {
        let Some(queue) = self.buffers.get_mut(id) else { return };
        let is_other = self.kind != BufferKind::Arbitrary || queue.is_destroyed;
        if is_other || !queue.ends_before(token) {
            return;
        }
        let mut bytes = 0;
        while let Some(page) = self.common.front()
            && (bytes == 0 || bytes + page.len() <= bytes_max)
            && let Some(page) = self.common.pop_front()
        {
            bytes += page.len();
            self.common_bytes -= page.len();
            queue.push(page);
        }
    }

    fn drop_common(&mut self) {
        self.common.clear();
        self.common_bytes = 0;
    }
}
