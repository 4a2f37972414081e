//! The pages of one lane.

use super::overflow::Run;
use crate::{LaneSize, Page, Supply};
use std::{collections::VecDeque, sync::Arc, task::Waker};
use volley_error::{Error, Result};

/// The most sizes of waiting pages that a reply announces.
const WAITING_MAX: usize = 64;

/// A lane: pages that were not acknowledged, in order.
#[derive(Debug, Default)]
pub(super) struct LaneQueue {
    entries: VecDeque<Entry>,
    /// The number of the first entry.
    first: u64,
    /// Entries from the first one on that were sent at least once.
    sent: usize,
    /// Who waits for a page.
    pub(super) reader: Option<Waker>,
    /// Whether the reader waits because the lane has no unsent page.
    is_starved: bool,
    pub(super) is_closed: bool,
    pub(super) size: LaneSize,
}

#[derive(Debug)]
enum Entry {
    Memory(Page),
    /// Being written; the bytes are in memory until then.
    Spilling(Page),
    /// On disk, with its decoded bytes.
    Disk(Arc<Run>, usize),
    /// Being read.
    Loading(usize),
}

/// What a reader finds.
pub(super) enum Front {
    Supply(Supply),
    /// No page, and more may come.
    Empty,
    /// A page that is being written to disk or read by another call.
    Busy,
    /// The page with this number must be read first.
    Disk(u64, Arc<Run>),
}

impl Entry {
    /// Decoded bytes.
    fn bytes(&self) -> usize {
        match self {
            Entry::Memory(page) | Entry::Spilling(page) => page.bytes,
            Entry::Disk(_, bytes) | Entry::Loading(bytes) => *bytes,
        }
    }

    /// Decoded bytes in memory that are charged.
    fn charged_bytes(&self) -> usize {
        match self {
            Entry::Memory(page) | Entry::Spilling(page) => page.bytes,
            Entry::Disk(..) | Entry::Loading(_) => 0,
        }
    }
}

impl LaneQueue {
    /// Appends a page; the reader to wake.
    pub(super) fn push(&mut self, page: Page) -> Option<Waker> {
        self.size.pages += 1;
        self.size.rows += page.rows as u64;
        self.size.bytes += page.bytes as u64;
        self.size.sent_bytes += page.sent_bytes() as u64;
        self.entries.push_back(Entry::Memory(page));
        self.reader.take()
    }

    /// Drops all pages; the bytes that they were charged with.
    pub(super) fn clear(&mut self) -> usize {
        let freed = self.entries.iter().map(Entry::charged_bytes).sum();
        self.first += self.entries.len() as u64;
        self.entries.clear();
        self.sent = 0;
        freed
    }

    /// Whether a reader waits because the lane is empty.
    pub(super) fn is_reader_waiting(&self) -> bool {
        self.reader.is_some() && self.is_starved
    }

    /// Notes who waits.
    pub(super) fn wait(&mut self, waker: &Waker, is_starved: bool) {
        self.reader = Some(waker.clone());
        self.is_starved = is_starved;
    }

    /// Drops the pages before `token`; the bytes that they were charged with.
    pub(super) fn acknowledge(&mut self, token: u64) -> Result<usize> {
        let acknowledged = token.checked_sub(self.first).map(|it| it as usize);
        let Some(acknowledged) = acknowledged.filter(|it| *it <= self.sent) else {
            let message = format!("token {token} where {} pages were freed", self.first);
            return Err(Error::internal(message).at("sent", self.sent));
        };
        self.sent -= acknowledged;
        self.first = token;
        Ok(self.entries.drain(..acknowledged).map(|it| it.charged_bytes()).sum())
    }

    /// The pages at the front of at most `bytes_max` bytes. `input_done`: whether no page follows
    /// those of the lane.
    pub(super) fn front(&mut self, bytes_max: usize, input_done: bool) -> Front {
        let (mut pages, mut bytes) = (Vec::new(), 0usize);
        for (index, entry) in self.entries.iter_mut().enumerate() {
            bytes = bytes.saturating_add(entry.bytes());
            if bytes_max == 0 || bytes > bytes_max && !pages.is_empty() {
                break;
            }
            match entry {
                Entry::Memory(page) => pages.push(page.clone()),
                _ if !pages.is_empty() => break,
                Entry::Spilling(_) | Entry::Loading(_) => return Front::Busy,
                Entry::Disk(run, bytes) => {
                    let (run, bytes) = (Arc::clone(run), *bytes);
                    *entry = Entry::Loading(bytes);
                    return Front::Disk(self.first + index as u64, run);
                }
            }
        }
        if self.entries.is_empty() && !input_done {
            return Front::Empty;
        }
        self.sent = self.sent.max(pages.len());
        let rest = self.entries.iter().skip(pages.len()).take(WAITING_MAX);
        let waiting = rest.map(|it| u32::try_from(it.bytes()).unwrap_or(u32::MAX)).collect();
        let is_end = input_done && pages.len() == self.entries.len();
        let next_token = self.first + pages.len() as u64;
        Front::Supply(Supply { pages, next_token, waiting, is_end })
    }

    /// Bytes that would be freed by writing the unsent pages to disk.
    pub(super) fn spillable_bytes(&self) -> usize {
        if self.is_closed || self.is_reader_waiting() {
            return 0;
        }
        let in_memory = |it: &Entry| if let Entry::Memory(page) = it { page.bytes } else { 0 };
        self.entries.iter().skip(self.sent).map(in_memory).sum()
    }

    /// Marks a run of unsent pages next to each other as being written; the number of the first.
    pub(super) fn begin_spill(&mut self) -> (u64, Vec<Page>) {
        let is_memory = |it: &Entry| matches!(it, Entry::Memory(_));
        let unsent = self.entries.iter().enumerate().skip(self.sent);
        let start = unsent.filter(|it| is_memory(it.1)).map(|it| it.0).next().unwrap_or(0);
        let mut pages = Vec::new();
        for entry in self.entries.iter_mut().skip(start) {
            let Entry::Memory(page) = entry else { break };
            pages.push(page.clone());
            *entry = Entry::Spilling(page.clone());
        }
        (self.first + start as u64, pages)
    }

    /// The pages from `token` on are in `run`; the bytes that are no longer charged.
    pub(super) fn finish_spill(&mut self, token: u64, pages: &[Page], run: &Arc<Run>) -> usize {
        let mut freed = 0;
        for (number, page) in (token..).zip(pages) {
            let index = number.checked_sub(self.first).map(|it| it as usize);
            // Other entries were freed meanwhile, since the lane was closed.
            if let Some(entry) = index.and_then(|it| self.entries.get_mut(it))
                && matches!(entry, Entry::Spilling(_))
            {
                *entry = Entry::Disk(Arc::clone(run), page.bytes);
                freed += page.bytes;
                self.size.overflow_bytes += page.bytes as u64;
            }
        }
        freed
    }

    /// A page that was read from disk. Whether it is still needed.
    pub(super) fn finish_load(&mut self, token: u64, page: Page) -> bool {
        let index = token.checked_sub(self.first).map(|it| it as usize);
        match index.and_then(|it| self.entries.get_mut(it)) {
            Some(entry) if matches!(entry, Entry::Loading(_)) => {
                *entry = Entry::Memory(page);
                true
            }
            _ => false,
        }
    }
}
