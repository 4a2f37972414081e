//! Reads of several ranges of one file, without blocking the caller.

use crate::{BufferPool, RandomAccessFile};
use bytes::Bytes;
use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
};
use tokio::runtime::Runtime;
use volley_error::{Error, Result};

/// Ranges with at most this many bytes between them are read together: on solid-state disks the
/// bytes in between cost less than another request.
const GAP_BYTES: u64 = 20 << 10;

/// Coalescing stops at this size, so that parts of a large request can arrive and be freed apart.
const READ_BYTES_MAX: u64 = 32 << 20;

/// A read looks up after this many bytes, whether anybody still wants them.
const PIECE_BYTES: usize = 8 << 20;

/// Reads under way. Dropping it ends them soon.
#[derive(Debug)]
pub struct RangeReads {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    is_unwanted: AtomicBool,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Result<Vec<Bytes>>),
    Taken,
}

impl RangeReads {
    /// Starts to read `ranges`, in any order and possibly overlapping, into memory of `buffers`.
    ///
    /// # Errors
    ///
    /// I/O, when no thread can be started.
    pub fn start(
        file: Arc<dyn RandomAccessFile>,
        ranges: Vec<Range<u64>>,
        buffers: &BufferPool,
    ) -> Result<RangeReads> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::Waiting(None)),
            is_unwanted: AtomicBool::new(false),
        });
        let result = RangeReads { shared: Arc::clone(&shared) };
        let buffers = buffers.clone();
        runtime()?.spawn_blocking(move || {
            let read = || read_all(&*file, &ranges, &buffers, &shared.is_unwanted);
            // Whoever waits must hear of it in any case.
            let bytes = catch_unwind(AssertUnwindSafe(read))
                .unwrap_or_else(|_| Err(Error::internal("panic in a read")));
            let mut state = shared.lock();
            if let State::Waiting(Some(waker)) = std::mem::replace(&mut *state, State::Done(bytes))
            {
                drop(state);
                waker.wake();
            }
        });
        Ok(result)
    }

    /// The bytes of each range, in the order of the ranges; `None` while they are on their way:
    /// `waker` is woken when that changes.
    ///
    /// # Errors
    ///
    /// I/O; internal, when the bytes were taken already.
    pub fn poll(&mut self, waker: &Waker) -> Result<Option<Vec<Bytes>>> {
        let mut state = self.shared.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Waiting(_) => {
                *state = State::Waiting(Some(waker.clone()));
                Ok(None)
            }
            State::Done(result) => result.map(Some),
            State::Taken => Err(Error::internal("ranged reads polled after their end")),
        }
    }
}

impl Drop for RangeReads {
    fn drop(&mut self) {
        self.shared.is_unwanted.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runtime for blocking reads, started on first use and kept for the life of the process.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let start = || {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("volley-io")
            .build()
            .ok()
    };
    RUNTIME
        .get_or_init(start)
        .as_ref()
        .ok_or_else(|| Error::io("threads for reading", std::io::ErrorKind::WouldBlock.into()))
}

fn read_all(
    file: &dyn RandomAccessFile,
    ranges: &[Range<u64>],
    buffers: &BufferPool,
    is_unwanted: &AtomicBool,
) -> Result<Vec<Bytes>> {
    let reads = coalesce(ranges);
    let read = |it: &Range<u64>| read_in_pieces(file, it.clone(), buffers, is_unwanted);
    let parts = reads.iter().map(read).collect::<Result<Vec<_>>>()?;
    let part = |range: &Range<u64>| {
        let index = reads.partition_point(|read| read.start <= range.start).checked_sub(1);
        let found = index.and_then(|it| Some((reads.get(it)?, parts.get(it)?)));
        match found {
            Some((read, buffer)) if range.end <= read.end && range.start <= range.end => {
                let start = (range.start - read.start) as usize;
                Ok(buffer.slice(start..start + (range.end - range.start) as usize))
            }
            _ => file.read(range.clone()),
        }
    };
    ranges.iter().map(part).collect()
}

/// Reads a range, unless it becomes unwanted.
fn read_in_pieces(
    file: &dyn RandomAccessFile,
    range: Range<u64>,
    buffers: &BufferPool,
    is_unwanted: &AtomicBool,
) -> Result<Bytes> {
    let mut buffer = buffers.take(file.check_range(&range)?);
    let mut start = range.start;
    for piece in buffer.chunks_mut(PIECE_BYTES) {
        if is_unwanted.load(Ordering::Relaxed) {
            return Err(Error::cancelled());
        }
        file.read_into(start, piece)?;
        start += piece.len() as u64;
    }
    Ok(buffer.freeze())
}

/// The reads that cover `ranges`, ascending.
fn coalesce(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted = ranges.to_vec();
    sorted.retain(|it| it.start < it.end);
    sorted.sort_unstable_by_key(|it| (it.start, it.end));
    let mut reads: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match reads.last_mut() {
            Some(last)
                if range.end <= last.end
                    || (range.start <= last.end.saturating_add(GAP_BYTES)
                        && range.end - last.start <= READ_BYTES_MAX) =>
            {
                last.end = last.end.max(range.end);
            }
            _ => reads.push(range),
        }
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_read_together_and_far_ones_apart() {
        let far = 10 << 20;
        let ranges = [far..far + 5, 0..10, 100..200, 150..160, 100 + GAP_BYTES..300 + GAP_BYTES];
        assert_eq!(coalesce(&ranges), [0..300 + GAP_BYTES, far..far + 5]);
    }

    #[derive(Debug)]
    struct Slow;

    impl RandomAccessFile for Slow {
        fn path(&self) -> &str {
            "slow"
        }

        fn size_bytes(&self) -> u64 {
            1 << 30
        }

        fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
            out.iter_mut().zip(start..).for_each(|(byte, at)| *byte = at as u8);
            Ok(())
        }
    }

    #[test]
    fn long_ranges_are_read_in_pieces_until_nobody_wants_them() {
        let (wanted, unwanted) = (AtomicBool::new(false), AtomicBool::new(true));
        let range = 3..3 + 2 * PIECE_BYTES as u64 + 5;
        let buffers = BufferPool::default();
        let bytes = read_in_pieces(&Slow, range.clone(), &buffers, &wanted).unwrap();
        assert!(bytes.iter().zip(range.clone()).all(|(byte, at)| *byte == at as u8));
        assert_eq!(bytes.len() as u64, range.end - range.start);
        let error = read_in_pieces(&Slow, range, &buffers, &unwanted).unwrap_err();
        assert_eq!(error.kind(), volley_error::ErrorKind::Cancelled);
    }

    #[test]
    fn slow_reads_wake_the_waiting_task() {
        struct Flag(std::sync::mpsc::Sender<()>);
        impl std::task::Wake for Flag {
            fn wake(self: Arc<Self>) {
                let _ = self.0.send(());
            }
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let waker = Waker::from(Arc::new(Flag(sender)));
        let reads =
            RangeReads::start(Arc::new(Slow), vec![5..8, 1..3, 7..7], &BufferPool::default());
        let mut reads = reads.unwrap();
        let bytes = loop {
            match reads.poll(&waker).unwrap() {
                Some(bytes) => break bytes,
                None => receiver.recv().unwrap(),
            }
        };
        assert_eq!(bytes, [vec![5, 6, 7], vec![1, 2], vec![]]);
        assert!(reads.poll(&waker).is_err());
    }
}
