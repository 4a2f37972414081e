//! Reads of several ranges of one file, without blocking the caller.

use crate::RandomAccessFile;
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::Waker,
};
use tokio::runtime::Runtime;
use volley_error::{Error, Result};

/// Ranges with at most this many bytes between them are read together: on solid-state disks the
/// bytes in between cost less than another request.
const GAP_BYTES: u64 = 20 << 10;

/// Coalescing stops at this size, so that parts of a large request can arrive and be freed apart.
const READ_BYTES_MAX: u64 = 32 << 20;

/// Reads under way.
#[derive(Debug)]
pub struct RangeReads {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    Waiting(Option<Waker>),
    Done(Result<Vec<Bytes>>),
    Taken,
}

impl RangeReads {
    /// Starts to read `ranges`, in any order and possibly overlapping.
    ///
    /// # Errors
    ///
    /// I/O, when no thread can be started.
    pub fn start(file: Arc<dyn RandomAccessFile>, ranges: Vec<Range<u64>>) -> Result<RangeReads> {
        if file.reads_at_once() {
            let done = State::Done(read_all(&*file, &ranges));
            return Ok(RangeReads { shared: Arc::new(Mutex::new(done)) });
        }
        let shared = Arc::new(Mutex::new(State::Waiting(None)));
        let result = RangeReads { shared: Arc::clone(&shared) };
        runtime()?.spawn_blocking(move || {
            let bytes = read_all(&*file, &ranges);
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut state = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
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

fn read_all(file: &dyn RandomAccessFile, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let reads = coalesce(ranges);
    let buffers = reads.iter().map(|it| file.read(it.clone())).collect::<Result<Vec<_>>>()?;
    let part = |range: &Range<u64>| {
        let index = reads.partition_point(|read| read.start <= range.start).checked_sub(1);
        let found = index.and_then(|it| Some((reads.get(it)?, buffers.get(it)?)));
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
            1 << 20
        }

        fn read(&self, range: Range<u64>) -> Result<Bytes> {
            Ok(range.map(|it| it as u8).collect::<Vec<_>>().into())
        }
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
        let mut reads = RangeReads::start(Arc::new(Slow), vec![5..8, 1..3, 7..7]).unwrap();
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
