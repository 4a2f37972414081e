//! Reads the lanes of one consumer from all producers of an edge, within one budget.
//!
//! ```text
//! streams   request(share) ──> reply: pages, sizes of waiting ones
//! queue     decoded bytes <= budget; charged to the pool until the batch is taken
//! ```
//!
//! Every stream has a request under way while the budget lasts: a producer without pages does not
//! hold up others. The shares of the requests and the pages in the queue stay within the budget, in
//! decoded bytes; if no page is queued and no request is under way, one page of any size may pass.

use crate::{Closed, Failure, FailureSlot, Page, PageCodec, PageStream, Rank};
use std::{
    collections::VecDeque,
    mem::replace,
    task::{Poll, Waker},
};
use volley_memory::{Pool, Reservation};
use volley_vector::Batch;

/// The consumer's end of an edge.
pub struct ExchangeReader {
    codec: PageCodec,
    streams: Vec<Stream>,
    queue: VecDeque<(usize, Page)>,
    budget_bytes: usize,
    /// Decoded bytes of the queued pages, and of those that were asked for.
    queued_bytes: usize,
    requested_bytes: usize,
    charge: Reservation,
    failure: FailureSlot,
    statistics: ReaderStatistics,
    /// The stream that is asked first, so that all have their turn.
    next: usize,
}

struct Stream {
    stream: Box<dyn PageStream>,
    /// What was asked for; `None` without a request.
    requested: Option<usize>,
    is_done: bool,
}

/// What a reader has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReaderStatistics {
    /// The number of rows.
    pub rows: u64,
    /// The number of pages.
    pub pages: u64,
    /// Decoded bytes.
    pub bytes: u64,
    /// Bytes as they were sent.
    pub sent_bytes: u64,
    /// Decoded bytes that were queued at most.
    pub queued_bytes_peak: u64,
}

impl ExchangeReader {
    /// A reader of `streams`, which queues at most `budget_bytes` decoded bytes, charged to `pool`.
    pub fn new(
        streams: Vec<Box<dyn PageStream>>,
        codec: PageCodec,
        budget_bytes: usize,
        pool: &Pool,
    ) -> ExchangeReader {
        let count = streams.len();
        let stream = |stream| Stream { stream, requested: None, is_done: false };
        ExchangeReader {
            codec,
            streams: streams.into_iter().map(stream).collect(),
            queue: VecDeque::new(),
            budget_bytes: budget_bytes.max(count),
            queued_bytes: 0,
            requested_bytes: 0,
            charge: pool.reservation(),
            failure: FailureSlot::default(),
            statistics: ReaderStatistics::default(),
            next: 0,
        }
    }

    /// The next batch and the number of its stream; `None` after the last one. Pages of one stream
    /// come in order. Pending: `waker` is woken when there is more.
    ///
    /// # Errors
    ///
    /// The failure of a producer, the cause rather than what follows from it, if both are known;
    /// corruption; out of memory.
    pub fn poll(&mut self, waker: &Waker) -> Poll<Result<Option<(usize, Batch)>, Failure>> {
        if self.failure.get().is_none() {
            self.request();
            self.receive(waker);
        }
        if let Some(failure) = self.failure.get().cloned() {
            self.end(Closed::Failed);
            return Poll::Ready(Err(failure));
        }
        let Some((stream, page)) = self.queue.pop_front() else {
            let is_done = self.streams.iter().all(|it| it.is_done);
            return if is_done { Poll::Ready(Ok(None)) } else { Poll::Pending };
        };
        self.queued_bytes -= page.bytes;
        self.charge.shrink(page.bytes);
        match page.decode(&self.codec) {
            Ok(batch) => Poll::Ready(Ok(Some((stream, batch)))),
            Err(error) => {
                let failure = Failure::new(error);
                self.failure.record(failure.clone());
                self.end(Closed::Failed);
                Poll::Ready(Err(failure))
            }
        }
    }

    /// Ends all streams: no further rows are needed.
    pub fn close(&mut self) {
        self.end(Closed::NotNeeded);
    }

    /// What was read so far.
    pub fn statistics(&self) -> ReaderStatistics {
        self.statistics
    }

    /// Asks streams without a request for pages, as far as the budget goes.
    fn request(&mut self) {
        let open = self.streams.iter().filter(|it| !it.is_done).count().max(1);
        // All streams have a share: a stream without a request could be the only one with pages.
        let share = self.budget_bytes / open;
        let count = self.streams.len();
        for index in (0..count).map(|it| (self.next + it) % count.max(1)) {
            let stream = &mut self.streams[index];
            if stream.is_done || stream.requested.is_some() {
                continue;
            }
            let used = self.queued_bytes + self.requested_bytes;
            if used > 0 && used + share > self.budget_bytes {
                self.next = index;
                break;
            }
            stream.stream.request(share);
            stream.requested = Some(share);
            self.requested_bytes += share;
        }
    }

    /// Takes the replies that are there.
    fn receive(&mut self, waker: &Waker) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if stream.is_done || stream.requested.is_none() {
                continue;
            }
            let supply = match stream.stream.poll(waker) {
                Poll::Pending => continue,
                Poll::Ready(Ok(supply)) => supply,
                Poll::Ready(Err(failure)) => {
                    let is_cause = failure.rank == Rank::Cause;
                    self.failure.record(failure);
                    // Other streams may know the cause of what follows from it.
                    if is_cause {
                        return;
                    }
                    continue;
                }
            };
            self.requested_bytes -= stream.requested.take().unwrap_or(0);
            for page in supply.pages {
                if let Err(error) = self.charge.grow(page.bytes) {
                    self.failure.record(Failure::new(error));
                    return;
                }
                self.queued_bytes += page.bytes;
                self.statistics.count(&page, self.queued_bytes);
                self.queue.push_back((index, page));
            }
            if supply.is_end {
                stream.is_done = true;
                stream.stream.close(Closed::Done);
            }
            // The next request of this stream is made by the next poll, which must come.
            if !stream.is_done && self.queue.is_empty() {
                waker.wake_by_ref();
            }
        }
    }

    fn end(&mut self, why: Closed) {
        for stream in &mut self.streams {
            if !replace(&mut stream.is_done, true) {
                stream.stream.close(why);
            }
        }
        self.queue.clear();
        self.queued_bytes = 0;
        self.charge.clear();
    }
}

impl ReaderStatistics {
    fn count(&mut self, page: &Page, queued_bytes: usize) {
        self.rows += page.rows as u64;
        self.pages += 1;
        self.bytes += page.bytes as u64;
        self.sent_bytes += page.sent_bytes() as u64;
        self.queued_bytes_peak = self.queued_bytes_peak.max(queued_bytes as u64);
    }
}

impl Drop for ExchangeReader {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
