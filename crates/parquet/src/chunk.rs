//! The bytes of a column chunk.

use bytes::Bytes;
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_io::{BufferPool, RandomAccessFile};
use volley_memory::Reservation;

/// Bytes of a chunk that are read at once, unless pages are larger: pages are then decompressed
/// from the processor's cache.
const WINDOW_BYTES: usize = 256 << 10;

/// The bytes of a column chunk: all of them, or as much as was asked for last.
#[derive(Default)]
pub(crate) struct ChunkBytes {
    len: usize,
    window: Bytes,
    /// Where the window begins in the chunk.
    window_start: usize,
    /// Bytes that were read in advance, ascending, with their offsets in the chunk.
    parts: Vec<(usize, Bytes)>,
    /// The parts of the chunk that will be asked for, ascending, if that is not all of it.
    wanted: Vec<Range<usize>>,
    /// Where other bytes come from.
    file: Option<ChunkFile>,
    pub bytes_read: u64,
}

/// Where a chunk is.
struct ChunkFile {
    file: Arc<dyn RandomAccessFile>,
    range: Range<u64>,
    buffers: BufferPool,
    /// The window.
    reservation: Reservation,
}

impl ChunkBytes {
    /// A chunk that the caller has read and reserved.
    #[cfg(test)]
    pub fn whole(bytes: Bytes) -> ChunkBytes {
        ChunkBytes { len: bytes.len(), window: bytes, ..ChunkBytes::default() }
    }

    /// The chunk in `range` of `file`, which is read window by window into memory of `buffers`.
    pub fn windows(
        file: Arc<dyn RandomAccessFile>,
        range: Range<u64>,
        buffers: BufferPool,
        reservation: Reservation,
    ) -> Result<ChunkBytes> {
        let len = file.check_range(&range)?;
        let file = Some(ChunkFile { file, range, buffers, reservation });
        Ok(ChunkBytes { len, file, ..ChunkBytes::default() })
    }

    /// With `parts`, which the caller has read and reserved, at ascending offsets.
    pub fn with_parts(self, parts: Vec<(usize, Bytes)>) -> ChunkBytes {
        ChunkBytes { parts, ..self }
    }

    /// A window ends with the `wanted` part (ascending) in which it begins.
    pub fn wanting(self, wanted: Vec<Range<usize>>) -> ChunkBytes {
        ChunkBytes { wanted, ..self }
    }

    /// The length of the chunk.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes from `at` on: at least `len` of them, unless the chunk ends before.
    ///
    /// # Errors
    ///
    /// I/O, out of memory.
    pub fn at(&mut self, at: usize, len: usize) -> Result<Bytes> {
        let at = at.min(self.len);
        let wanted = at..at.saturating_add(len).min(self.len);
        let window = self.window_start..self.window_start + self.window.len();
        if (wanted.start < window.start || wanted.end > window.end) && !self.take_part(&wanted) {
            self.read(wanted)?;
        }
        Ok(self.window.slice(at - self.window_start..))
    }

    /// Makes the part that has `wanted` the window, if there is one.
    fn take_part(&mut self, wanted: &Range<usize>) -> bool {
        let next = self.parts.partition_point(|(start, _)| *start <= wanted.start);
        let part = next.checked_sub(1).and_then(|it| self.parts.get(it));
        let part = part.filter(|(start, bytes)| wanted.end <= start + bytes.len());
        if let Some((start, bytes)) = part {
            (self.window_start, self.window) = (*start, bytes.clone());
        }
        part.is_some()
    }

    /// How far to read from `start` on without being asked.
    fn window_end(&self, start: usize) -> usize {
        let next = self.wanted.partition_point(|it| it.end <= start);
        let part = self.wanted.get(next).filter(|it| it.start <= start);
        part.map_or(self.len, |it| it.end).min(start.saturating_add(WINDOW_BYTES))
    }

    fn read(&mut self, wanted: Range<usize>) -> Result<()> {
        let window_end = self.window_end(wanted.start);
        let Some(from) = &mut self.file else { return Ok(()) };
        let end = wanted.end.max(window_end).min(self.len);
        let len = end - wanted.start;
        from.reservation.resize(self.window.len() + len)?;
        let mut buffer = from.buffers.take(len);
        // What is here need not be read again.
        let here = wanted.start.checked_sub(self.window_start);
        let here = here.and_then(|it| self.window.get(it..)).unwrap_or_default();
        let (old, new) = buffer.split_at_mut(here.len().min(len));
        old.copy_from_slice(here.get(..old.len()).unwrap_or_default());
        from.file.read_into(from.range.start + (wanted.start + old.len()) as u64, new)?;
        self.bytes_read += new.len() as u64;
        self.window = buffer.freeze();
        self.window_start = wanted.start;
        from.reservation.shrink(from.reservation.bytes() - len);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::MemoryFile;
    use volley_memory::Pool;

    #[test]
    fn windows_have_what_is_asked_for_and_read_it_once() {
        let all: Vec<u8> = (0..5 * WINDOW_BYTES).map(|it| (it % 251) as u8).collect();
        let file = Arc::new(MemoryFile(all.clone().into()));
        let pool = Pool::root("test", None);
        let chunk = &all[3..all.len() - 5];
        let range = 3..all.len() as u64 - 5;
        let windows = |range| {
            let (buffers, reservation) = (BufferPool::default(), pool.reservation());
            ChunkBytes::windows(file.clone(), range, buffers, reservation)
        };
        let mut bytes = windows(range).unwrap();
        for (at, len) in [(0, 10), (20, 2 * WINDOW_BYTES), (2 * WINDOW_BYTES, 30), (0, 1)] {
            assert!(bytes.at(at, len).unwrap()[..len] == chunk[at..at + len]);
        }
        let rest = bytes.at(4 * WINDOW_BYTES, usize::MAX).unwrap();
        assert!(rest == chunk[4 * WINDOW_BYTES..]);
        assert!(bytes.at(usize::MAX, 1).unwrap().is_empty());
        assert!(pool.stats().bytes < 2 * WINDOW_BYTES);

        let mut forward = windows(3..all.len() as u64 - 5).unwrap();
        let mut at = 0;
        while at < forward.len() {
            forward.at(at, 256).unwrap();
            forward.at(at, WINDOW_BYTES / 3 * 4).unwrap();
            at += WINDOW_BYTES / 3 * 4;
        }
        assert_eq!(forward.bytes_read, chunk.len() as u64);
        assert!(windows(5..all.len() as u64 + 1).is_err());
    }
}
