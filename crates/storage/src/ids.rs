//! Numbers of a database that are used once: of objects, segments and files.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use volley_error::{Error, Result};

/// Segments are numbered below this, so that row ids hold their number.
const SEGMENTS_MAX: u32 = 1 << 30;

/// The next numbers.
#[derive(Debug, Default)]
pub struct Ids {
    object: AtomicU64,
    segment: AtomicU32,
    file: AtomicU32,
}

impl Ids {
    /// A number for a table or sequence.
    pub fn next_object(&self) -> u64 {
        self.object.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A number for a segment.
    ///
    /// # Errors
    ///
    /// Unsupported: 2^30 segments.
    pub fn next_segment(&self) -> Result<u32> {
        let number = self.segment.fetch_add(1, Ordering::Relaxed) + 1;
        let message = "2^30 segments were made in this database";
        let hint = "EXPORT DATABASE and IMPORT DATABASE number them again";
        let error = || Error::unsupported(message).hint(hint);
        if number < SEGMENTS_MAX { Ok(number) } else { Err(error()) }
    }

    /// A number for a file of blocks or of the log.
    pub(crate) fn next_file(&self) -> u32 {
        self.file.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Numbers up to these are in use.
    pub(crate) fn use_up_to(&self, used: UsedIds) {
        self.object.fetch_max(used.object, Ordering::Relaxed);
        self.segment.fetch_max(used.segment, Ordering::Relaxed);
        self.file.fetch_max(used.file, Ordering::Relaxed);
    }

    /// The last numbers that are in use.
    pub(crate) fn used(&self) -> UsedIds {
        UsedIds {
            object: self.object.load(Ordering::Relaxed),
            segment: self.segment.load(Ordering::Relaxed),
            file: self.file.load(Ordering::Relaxed),
        }
    }
}

/// Last numbers that are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedIds {
    pub(crate) object: u64,
    pub(crate) segment: u32,
    pub(crate) file: u32,
}
