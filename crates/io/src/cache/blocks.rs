//! Bytes of a range that come from several blocks.

use crate::BufferPool;
use bytes::Bytes;
use std::ops::Range;

/// Bytes within a range, and where they start; ascending, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Blocks(pub Vec<(u64, Bytes)>);

impl Blocks {
    /// The shortest range that has all bytes of `range` that are not here; `None` if all are.
    pub fn missing(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let (mut first, mut last) = (None, range.start);
        let mut next = range.start;
        for (start, bytes) in &self.0 {
            if *start > next {
                first.get_or_insert(next);
                last = *start;
            }
            next = start + bytes.len() as u64;
        }
        if next < range.end {
            first.get_or_insert(next);
            last = range.end;
        }
        first.map(|first| first..last)
    }

    /// Adds bytes to those that are here; where both have some, these are left out.
    pub fn add(&mut self, start: u64, bytes: &Bytes) {
        let end = start + bytes.len() as u64;
        let mut added = Vec::new();
        let mut next = start;
        for (block_start, block) in &self.0 {
            if *block_start > next && next < end {
                added.push((next, next.max(start)..end.min(*block_start)));
            }
            next = next.max(block_start + block.len() as u64);
        }
        if next < end {
            added.push((next, next..end));
        }
        let slice =
            |it: Range<u64>| bytes.slice((it.start - start) as usize..(it.end - start) as usize);
        self.0.extend(added.into_iter().map(|(start, range)| (start, slice(range))));
        self.0.sort_unstable_by_key(|it| it.0);
    }

    /// The bytes of `range`: a slice of one block, or a copy of several; `None` if some are
    /// missing.
    pub fn joined(&self, range: &Range<u64>, buffers: &BufferPool) -> Option<Bytes> {
        if self.missing(range).is_some() {
            return None;
        }
        if let [(start, bytes)] = self.0.as_slice() {
            let from = range.start.checked_sub(*start)? as usize;
            let len = (range.end - range.start) as usize;
            return (from + len <= bytes.len()).then(|| bytes.slice(from..from + len));
        }
        let mut buffer = buffers.take((range.end - range.start) as usize);
        for (start, bytes) in &self.0 {
            let (from, to) =
                ((*start).max(range.start), (start + bytes.len() as u64).min(range.end));
            if from >= to {
                continue;
            }
            let source = bytes.get((from - start) as usize..(to - start) as usize)?;
            let place = (from - range.start) as usize;
            buffer.get_mut(place..place + source.len())?.copy_from_slice(source);
        }
        Some(buffer.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(parts: &[(u64, &'static str)]) -> Blocks {
        Blocks(
            parts.iter().map(|(start, it)| (*start, Bytes::from_static(it.as_bytes()))).collect(),
        )
    }

    #[test]
    fn missing_bytes_are_one_range() {
        assert_eq!(blocks(&[]).missing(&(3..7)), Some(3..7));
        assert_eq!(blocks(&[(3, "abcd")]).missing(&(3..7)), None);
        assert_eq!(blocks(&[(4, "bc")]).missing(&(3..7)), Some(3..7));
        assert_eq!(blocks(&[(3, "a"), (5, "cd")]).missing(&(3..7)), Some(4..5));
        assert_eq!(blocks(&[(3, "a")]).missing(&(3..7)), Some(4..7));
        assert_eq!(blocks(&[(6, "d")]).missing(&(3..7)), Some(3..6));
        assert_eq!(blocks(&[(3, "a"), (5, "c")]).missing(&(3..8)), Some(4..8));
    }

    #[test]
    fn added_bytes_fill_gaps() {
        for (parts, expected) in [
            (&[][..], "ABCDEF"),
            (&[(4, "b"), (7, "e")], "AbCDeF"),
            (&[(3, "abc")], "abcDEF"),
            (&[(5, "cdef")], "ABcdef"),
            (&[(3, "abcdef")], "abcdef"),
        ] {
            let mut joined = blocks(parts);
            joined.add(3, &Bytes::from_static(b"ABCDEF"));
            let bytes = joined.joined(&(3..9), &BufferPool::default()).unwrap();
            assert_eq!(bytes, expected);
            assert_eq!(joined.joined(&(2..9), &BufferPool::default()), None);
            assert_eq!(joined.joined(&(4..6), &BufferPool::default()).unwrap(), expected[1..3]);
        }
    }
}
