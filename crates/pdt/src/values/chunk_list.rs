//! A list of chunks by number that grows at its end.

use crate::Budget;
use std::sync::Arc;
use volley_error::{Error, Result};

/// How many chunks of a size are merged into one.
const JOINED: usize = 16;

/// Chunks below each of these numbers of values are merged with their like.
const SIZES: [u32; 3] = [16, 128, 1024];

/// Chunks that each version of a list copies the addresses of.
const TAIL_MAX: usize = 4 * JOINED;

/// Values with consecutive numbers.
pub trait Chunk: Sized {
    /// How many numbers it covers.
    fn span(&self) -> u32;

    /// A chunk of the values of all `parts`, copied.
    ///
    /// # Errors
    ///
    /// Out of memory; more bytes of text or elements than one vector holds.
    fn join(parts: &[&Self], budget: &Arc<Budget>) -> Result<Self>;

    /// Whether it may be one of the parts of [`Chunk::join`].
    fn can_join(&self) -> bool;

    /// Bytes that it holds.
    fn bytes(&self) -> usize;
}

/// A chunk and the number of its first value.
#[derive(Debug)]
struct Numbered<T> {
    first: u32,
    chunk: Arc<T>,
}

impl<T> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        Numbered { first: self.first, chunk: Arc::clone(&self.chunk) }
    }
}

/// Chunks by number. Clones share all chunks, and the addresses of all but the last ones.
#[derive(Debug)]
pub struct ChunkList<T> {
    /// Shared with other versions of the list.
    full: Arc<Vec<Numbered<T>>>,
    /// After `full`.
    tail: Vec<Numbered<T>>,
}

impl<T> Clone for ChunkList<T> {
    fn clone(&self) -> Self {
        ChunkList { full: Arc::clone(&self.full), tail: self.tail.clone() }
    }
}

impl<T> Default for ChunkList<T> {
    fn default() -> Self {
        ChunkList { full: Arc::default(), tail: Vec::new() }
    }
}

impl<T: Chunk> ChunkList<T> {
    /// One past the last number; 0 of an empty list.
    pub fn end(&self) -> u32 {
        let last = self.tail.last().or_else(|| self.full.last());
        last.map_or(0, |it| it.first + it.chunk.span())
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.full.len() + self.tail.len()
    }

    /// Whether there is no chunk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A chunk by its position in the list.
    pub fn get(&self, index: usize) -> Option<&Arc<T>> {
        self.numbered(index).map(|it| &it.chunk)
    }

    /// The number of the first value of a chunk.
    pub fn first(&self, index: usize) -> Option<u32> {
        self.numbered(index).map(|it| it.first)
    }

    fn numbered(&self, index: usize) -> Option<&Numbered<T>> {
        match index.checked_sub(self.full.len()) {
            Some(index) => self.tail.get(index),
            None => self.full.get(index),
        }
    }

    /// All chunks with the numbers of their first values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Arc<T>)> {
        self.full.iter().chain(&self.tail).map(|it| (it.first, &it.chunk))
    }

    /// The chunk that has `number`: its position in the list, and the number of its first value.
    pub fn find(&self, number: u32) -> Option<(usize, u32)> {
        let in_tail = self.tail.first().is_some_and(|it| it.first <= number);
        let (chunks, before) =
            if in_tail { (&self.tail, self.full.len()) } else { (&*self.full, 0) };
        let index = chunks.partition_point(|it| it.first <= number).checked_sub(1)?;
        let found = chunks.get(index)?;
        (number - found.first < found.chunk.span()).then_some((before + index, found.first))
    }

    /// Appends a chunk whose first value has the number `first`, at or after the end; then merges
    /// small chunks at the end.
    ///
    /// # Errors
    ///
    /// More values than 32 bits count; out of memory, and the chunk is there nevertheless.
    pub(crate) fn push(&mut self, first: u32, chunk: Arc<T>, budget: &Arc<Budget>) -> Result<()> {
        if first < self.end() || first.checked_add(chunk.span()).is_none() {
            return Err(Error::internal("more values in one delta than 32 bits count"));
        }
        if chunk.span() == 0 {
            return Ok(());
        }
        self.tail.push(Numbered { first, chunk });
        let merged = self.merge_small(budget);
        if self.tail.len() > TAIL_MAX {
            Arc::make_mut(&mut self.full).extend(self.tail.drain(..TAIL_MAX / 2));
        }
        merged
    }

    fn merge_small(&mut self, budget: &Arc<Budget>) -> Result<()> {
        for size in SIZES {
            let small = |it: &&Numbered<T>| it.chunk.span() < size && it.chunk.can_join();
            let count = self.tail.iter().rev().take_while(small).count();
            let parts = &self.tail[self.tail.len() - count..];
            let follow = |it: &[Numbered<T>]| it[0].first + it[0].chunk.span() == it[1].first;
            if count >= JOINED && parts.windows(2).all(follow) {
                let bytes = parts.iter().map(|it| it.chunk.bytes()).sum();
                budget.ensure(bytes)?;
                let chunks: Vec<&T> = parts.iter().map(|it| &*it.chunk).collect();
                let chunk = Arc::new(T::join(&chunks, budget)?);
                let first = parts[0].first;
                self.tail.truncate(self.tail.len() - count);
                self.tail.push(Numbered { first, chunk });
            }
        }
        Ok(())
    }

    /// Chunks that each version lists for itself.
    #[cfg(test)]
    pub(super) fn tail_len(&self) -> usize {
        self.tail.len()
    }

    /// Bytes of all chunks.
    pub fn retained_bytes(&self) -> usize {
        self.iter().map(|it| it.1.bytes()).sum()
    }
}
