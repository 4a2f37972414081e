//! Windows between threads of one process: the plain twin of those between processes, for tests.

use super::{Scan, WindowMemory, WindowPort};
use std::{
    collections::HashMap,
    sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError},
};
use volley_error::{Error, Result};
use volley_vector::{Buffer, MutableBuffer};

/// A rank that is a thread. A thread that ends early lets the others wait: only tests use it.
pub struct ThreadPort {
    rank: usize,
    /// The number of the next window: the same in all ranks, as all make the same calls.
    next: u64,
    shared: Arc<Shared>,
}

struct Shared {
    barrier: Barrier,
    values: Mutex<Vec<Vec<u64>>>,
    /// By window and rank.
    memory: Mutex<HashMap<(u64, usize), MutableBuffer>>,
}

struct ThreadMemory {
    window: u64,
    rank: usize,
    shared: Arc<Shared>,
}

impl ThreadPort {
    /// One for each of `ranks` threads.
    pub fn connected(ranks: usize) -> Vec<ThreadPort> {
        let shared = Arc::new(Shared {
            barrier: Barrier::new(ranks),
            values: Mutex::new(vec![Vec::new(); ranks]),
            memory: Mutex::default(),
        });
        (0..ranks).map(|rank| ThreadPort { rank, next: 0, shared: Arc::clone(&shared) }).collect()
    }
}

impl WindowPort for ThreadPort {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        lock(&self.shared.values).len()
    }

    fn scan(&mut self, values: &[u64]) -> Result<Scan> {
        lock(&self.shared.values)[self.rank] = values.to_vec();
        self.shared.barrier.wait();
        let all = lock(&self.shared.values).clone();
        self.shared.barrier.wait();
        let sum = |ranks: &[Vec<u64>]| {
            let mut sums = vec![0; values.len()];
            for rank in ranks {
                sums.iter_mut().zip(rank).for_each(|(sum, it)| *sum += it);
            }
            sums
        };
        Ok(Scan { below: sum(&all[..self.rank]), total: sum(&all) })
    }

    fn allocate(&mut self, bytes: usize) -> Result<Box<dyn WindowMemory>> {
        let window = self.next;
        self.next += 1;
        let memory = MutableBuffer::from_len_zeroed(bytes);
        lock(&self.shared.memory).insert((window, self.rank), memory);
        self.shared.barrier.wait();
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(ThreadMemory { window, rank: self.rank, shared }))
    }
}

impl WindowMemory for ThreadMemory {
    fn put(&mut self, to: usize, offset: usize, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        let mut memory = lock(&self.shared.memory);
        let target = memory.get_mut(&(self.window, to));
        let target = target.and_then(|it| it.get_mut(offset..offset.checked_add(len)?));
        let (Some(target), Some(source)) = (target, bytes.get(..len)) else {
            return Err(Error::internal("bytes beyond a window"));
        };
        target.copy_from_slice(source);
        Ok(bytes)
    }

    fn close(self: Box<Self>) -> Result<Buffer> {
        self.shared.barrier.wait();
        let memory = lock(&self.shared.memory).remove(&(self.window, self.rank));
        memory.map(Buffer::from).ok_or_else(|| Error::internal("a window that is closed twice"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
