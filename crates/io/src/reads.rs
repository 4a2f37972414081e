//! Reads of several ranges of one file, without blocking the caller.
//!
//! ```text
//! ranges ── joined where they are near ── cut into parts ── one request per part, all at once
//!    └ that a cache has ── a read of their own
//! ```
//!
//! What is near and how long a part is, the file system says
//! ([`TransferLimits`](crate::TransferLimits)); it also bounds how many requests run.

use crate::{BufferPool, Pending, RandomAccessFile, TransferLimits, pending::polled_after_end};
use bytes::Bytes;
use std::{
    fmt,
    ops::Range,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use volley_error::{Error, Result};

/// Reads under way. Dropping it ends them soon.
pub struct RangeReads {
    ranges: Vec<RangeRead>,
    /// Those of several ranges, ascending.
    requests: Vec<Request>,
    buffers: BufferPool,
    is_taken: bool,
}

/// A range of the caller.
struct RangeRead {
    range: Range<u64>,
    /// Of a range that is read alone.
    own: Option<Request>,
}

/// The read of one part.
struct Request {
    range: Range<u64>,
    state: RequestState,
}

enum RequestState {
    Running(Pending<Bytes>),
    Done(Bytes),
}

impl RangeReads {
    /// Starts to read `ranges`, in any order and possibly overlapping, into memory of `buffers`.
    ///
    /// # Errors
    ///
    /// Corruption, when a range is not within the file.
    pub fn start(
        file: Arc<dyn RandomAccessFile>,
        ranges: Vec<Range<u64>>,
        buffers: &BufferPool,
    ) -> Result<RangeReads> {
        ranges.iter().try_for_each(|it| file.check_range(it).map(drop))?;
        let request = |range: Range<u64>| {
            let read = Arc::clone(&file).start_read(range.clone(), buffers);
            Request { range, state: RequestState::Running(read) }
        };
        let range_read = |range: Range<u64>| {
            let is_alone = !range.is_empty() && file.is_near(&range);
            let own = is_alone.then(|| request(range.clone()));
            RangeRead { range, own }
        };
        let ranges: Vec<RangeRead> = ranges.into_iter().map(range_read).collect();
        let joined = ranges.iter().filter(|it| it.own.is_none()).map(|it| it.range.clone());
        let parts = planned_reads(&joined.collect::<Vec<_>>(), &file.transfer_limits());
        let requests = parts.into_iter().map(request).collect();
        Ok(RangeReads { ranges, requests, buffers: buffers.clone(), is_taken: false })
    }

    /// The bytes of each range, in the order of the ranges; `None` while they are on their way:
    /// `waker` is woken when that changes.
    ///
    /// # Errors
    ///
    /// I/O; internal, when the bytes were taken already.
    pub fn poll(&mut self, waker: &Waker) -> Result<Option<Vec<Bytes>>> {
        if self.is_taken {
            return Err(polled_after_end());
        }
        let mut cx = Context::from_waker(waker);
        let mut is_done = true;
        let own = self.ranges.iter_mut().filter_map(|it| it.own.as_mut());
        for request in self.requests.iter_mut().chain(own) {
            let RequestState::Running(read) = &mut request.state else { continue };
            match read.as_mut().poll(&mut cx) {
                Poll::Pending => is_done = false,
                Poll::Ready(bytes) => {
                    // One failure is enough: the other reads end.
                    let bytes = bytes.inspect_err(|_| self.is_taken = true)?;
                    request.state = RequestState::Done(bytes);
                }
            }
        }
        if !is_done {
            return Ok(None);
        }
        self.is_taken = true;
        let bytes: Result<Vec<Bytes>> = self.ranges.iter().map(|it| self.bytes_of(it)).collect();
        self.requests.clear();
        bytes.map(Some)
    }

    /// The bytes of a range: a slice of one request, or a copy of several.
    fn bytes_of(&self, read: &RangeRead) -> Result<Bytes> {
        let range = &read.range;
        if let Some(Request { state: RequestState::Done(bytes), .. }) = &read.own {
            return Ok(bytes.clone());
        }
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        let before = self.requests.partition_point(|it| it.range.start <= range.start);
        let mut buffer = None;
        let mut copied = 0;
        for request in self.requests.iter().skip(before.saturating_sub(1)) {
            let (start, end) =
                (range.start.max(request.range.start), range.end.min(request.range.end));
            let RequestState::Done(bytes) = &request.state else { break };
            if start >= end || request.range.start > range.start + copied {
                break;
            }
            let from = (start - request.range.start) as usize;
            let part = bytes.slice(from..from + (end - start) as usize);
            if start == range.start && end == range.end {
                return Ok(part);
            }
            let len = (range.end - range.start) as usize;
            let buffer = buffer.get_or_insert_with(|| self.buffers.take(len));
            if let Some(to) = buffer.get_mut(copied as usize..copied as usize + part.len()) {
                to.copy_from_slice(&part);
            }
            copied += part.len() as u64;
        }
        match buffer {
            Some(buffer) if copied == range.end - range.start => Ok(buffer.freeze()),
            _ => Err(Error::internal("a range was not read")),
        }
    }
}

impl fmt::Debug for RangeReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RangeReads({} ranges, {} requests)", self.ranges.len(), self.requests.len())
    }
}

/// The requests that read `ranges`, ascending.
pub(crate) fn planned_reads(ranges: &[Range<u64>], limits: &TransferLimits) -> Vec<Range<u64>> {
    coalesce(ranges, limits).into_iter().flat_map(|it| parts_of(it, limits)).collect()
}

/// The reads that cover `ranges`, ascending.
fn coalesce(ranges: &[Range<u64>], limits: &TransferLimits) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.retain(|it| it.start < it.end);
    sorted.sort_unstable_by_key(|it| (it.start, it.end));
    let mut reads: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match reads.last_mut() {
            Some(last)
                if range.end <= last.end
                    || (range.start <= last.end.saturating_add(limits.range_gap_bytes)
                        && range.end - last.start <= limits.joined_read_bytes) =>
            {
                last.end = last.end.max(range.end);
            }
            // Ranges that overlap are read once.
            last => {
                let start = last.map_or(0, |it| it.end).max(range.start);
                reads.push(start..range.end);
            }
        }
    }
    reads
}

/// A read in parts of equal length, as few as possible.
fn parts_of(read: Range<u64>, limits: &TransferLimits) -> impl Iterator<Item = Range<u64>> {
    let len = read.end - read.start;
    let parts = len.div_ceil(limits.part_bytes.max(1)).max(1);
    let part = len.div_ceil(parts);
    (0..parts).map(move |it| {
        let start = read.start + it * part;
        start..read.end.min(start + part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IoRuntime, local::TRANSFER_LIMITS, wait_polling};

    #[test]
    fn near_ranges_are_read_together_and_far_ones_apart() {
        let (far, gap) = (10 << 20, TRANSFER_LIMITS.range_gap_bytes);
        let ranges = [far..far + 5, 0..10, 100..200, 150..160, 100 + gap..300 + gap];
        assert_eq!(coalesce(&ranges, &TRANSFER_LIMITS), [0..300 + gap, far..far + 5]);
        let long = TRANSFER_LIMITS.joined_read_bytes;
        let overlapping = [0..long + 5, long..long + 10, 7..9];
        let reads = coalesce(&overlapping, &TRANSFER_LIMITS);
        assert_eq!(reads, [0..long + 5, long + 5..long + 10]);
    }

    #[test]
    fn parts_cover_a_read() {
        let limits = TransferLimits { part_bytes: 10, ..TRANSFER_LIMITS };
        let parts = |read: Range<u64>| {
            parts_of(read, &limits).map(|it| (it.start, it.end)).collect::<Vec<_>>()
        };
        assert_eq!(parts(5..6), [(5, 6)]);
        assert_eq!(parts(5..15), [(5, 15)]);
        assert_eq!(parts(5..16), [(5, 11), (11, 16)]);
        assert_eq!(parts(0..21), [(0, 7), (7, 14), (14, 21)]);
        assert_eq!(parts_of(3..u64::MAX, &TRANSFER_LIMITS).count(), 1);
    }

    /// A file whose byte at a place is the place's lowest byte, read by other threads in parts.
    #[derive(Debug)]
    struct Slow(IoRuntime);

    const PART_BYTES: u64 = 1000;

    impl RandomAccessFile for Slow {
        fn path(&self) -> &str {
            "slow"
        }

        fn size_bytes(&self) -> u64 {
            1 << 30
        }

        fn transfer_limits(&self) -> TransferLimits {
            TransferLimits { range_gap_bytes: 10, part_bytes: PART_BYTES, ..TRANSFER_LIMITS }
        }

        fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
            out.iter_mut().zip(start..).for_each(|(byte, at)| *byte = at as u8);
            Ok(())
        }

        fn start_read(self: Arc<Self>, range: Range<u64>, _: &BufferPool) -> Pending<Bytes> {
            assert!(range.end - range.start <= PART_BYTES);
            let runtime = self.0.clone();
            runtime.run(move || match range.start {
                666 => panic!("expected in this test"),
                _ => self.read(range),
            })
        }
    }

    fn read(ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let file = Arc::new(Slow(IoRuntime::new()));
        let mut reads = RangeReads::start(file, ranges.to_vec(), &BufferPool::default())?;
        let bytes = wait_polling(|cx| match reads.poll(cx.waker()) {
            Ok(None) => Poll::Pending,
            Ok(Some(bytes)) => Poll::Ready(Ok(bytes)),
            Err(error) => Poll::Ready(Err(error)),
        });
        assert!(reads.poll(Waker::noop()).is_err(), "polled after the end");
        bytes
    }

    #[test]
    fn ranges_come_in_their_order_and_long_ones_are_whole() {
        let ranges = [5..8, 1..3, 7..7, 5000..5000 + 3 * PART_BYTES + 5, 4990..5001, 6500..6502];
        let bytes = read(&ranges).unwrap();
        assert_eq!(bytes.len(), ranges.len());
        for (bytes, range) in bytes.iter().zip(ranges) {
            assert!(bytes.iter().copied().eq(range.map(|it| it as u8)));
        }
    }

    #[test]
    fn a_failed_part_and_a_range_beyond_the_file_are_errors() {
        assert_eq!(read(&[5..8, 666..670]).unwrap_err().kind(), volley_error::ErrorKind::Internal);
        let file = || Arc::new(Slow(IoRuntime::new()));
        let beyond = RangeReads::start(file(), vec![5..8, 0..1 << 40], &BufferPool::default());
        assert_eq!(beyond.unwrap_err().kind(), volley_error::ErrorKind::Corruption);
    }
}
