//! The pages for one reader.

use bytes::Bytes;
use std::collections::VecDeque;

/// Pages in order, numbered by tokens.
#[derive(Debug, Default)]
pub(super) struct PageQueue {
    /// The rows that the buffer gets, where rows are partitioned.
    pub partition: usize,
    /// The token of the first page.
    first: u64,
    pages: VecDeque<Bytes>,
    pub bytes: usize,
    /// Whether the reader said that it needs no more.
    pub is_destroyed: bool,
}

/// Pages from a token on.
pub(super) struct Taken {
    pub pages: Vec<Bytes>,
    pub remaining_bytes: usize,
}

impl PageQueue {
    pub(super) fn new(partition: usize) -> PageQueue {
        PageQueue { partition, ..PageQueue::default() }
    }

    pub(super) fn push(&mut self, page: Bytes) {
        if !self.is_destroyed {
            self.bytes += page.len();
            self.pages.push_back(page);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether the page of `token` is not there.
    pub(super) fn ends_before(&self, token: u64) -> bool {
        token >= self.first + self.pages.len() as u64
    }

    /// The pages from `token` on, of about `bytes_max` bytes but at least one page if there is one.
    pub(super) fn take(&self, token: u64, bytes_max: usize) -> Taken {
        let mut taken = Taken { pages: Vec::new(), remaining_bytes: 0 };
        let mut bytes = 0;
        let skipped = usize::try_from(token.saturating_sub(self.first)).unwrap_or(usize::MAX);
        for page in self.pages.iter().skip(skipped) {
            let fits = taken.pages.is_empty() || bytes + page.len() <= bytes_max;
            if taken.remaining_bytes == 0 && fits {
                bytes += page.len();
                taken.pages.push(page.clone());
            } else {
                taken.remaining_bytes += page.len();
            }
        }
        taken
    }

    /// Releases the pages before `token`. Whether there were any.
    pub(super) fn release_before(&mut self, token: u64) -> bool {
        let before = self.first;
        while self.first < token
            && let Some(page) = self.pages.pop_front()
        {
            self.bytes -= page.len();
            self.first += 1;
        }
        self.first > before
    }

    pub(super) fn drop_pages(&mut self) {
        self.first += self.pages.len() as u64;
        self.pages.clear();
        self.bytes = 0;
    }
}
