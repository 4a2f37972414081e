//! A reader for tests of code that gets bytes piece by piece.

use std::io::{Read, Result};

/// Returns at most this many bytes at a time.
pub(crate) struct Slow<'b>(pub &'b [u8], pub usize);

impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let count = self.0.len().min(out.len()).min(self.1);
        let (now, later) = self.0.split_at(count);
        out[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}
