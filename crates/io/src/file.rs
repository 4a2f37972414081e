//! Files that are read at any place.

use crate::{BufferPool, FileVersion, Pending, TransferLimits, ready};
use bytes::Bytes;
use std::{fmt, ops::Range, sync::Arc};
use volley_error::{Error, Result};

/// A file that does not change while it is open, read at any place.
pub trait RandomAccessFile: Send + Sync + fmt::Debug {
    /// Where it is, for messages.
    fn path(&self) -> &str;

    /// Its size in bytes.
    fn size_bytes(&self) -> u64;

    /// Tells its contents from those at another time; `None` when the file system cannot tell.
    fn version(&self) -> Option<FileVersion> {
        None
    }

    /// How it is read best.
    fn transfer_limits(&self) -> TransferLimits {
        crate::local::TRANSFER_LIMITS
    }

    /// Fills `out` with the bytes from `start` on; may block the calling thread.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the range is not within the file.
    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()>;

    /// Starts to read a range into memory of `buffers`; does not block. The read runs whether or
    /// not it is polled, and dropping it cancels it soon. The file system bounds how many run at
    /// the same time.
    ///
    /// The default is for files in memory: it reads at once.
    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        ready(read_buffer(&*self, &range, buffers))
    }

    /// Reads a range; may block the calling thread.
    ///
    /// # Errors
    ///
    /// As [`RandomAccessFile::read_into`]; then nothing was allocated for bytes that are not there.
    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut buffer = vec![0; self.check_range(&range)?];
        self.read_into(range.start, &mut buffer)?;
        Ok(buffer.into())
    }

    /// The length of a range within the file.
    ///
    /// # Errors
    ///
    /// Corruption, when the range is not within the file.
    fn check_range(&self, range: &Range<u64>) -> Result<usize> {
        check_range(range, self.size_bytes()).map_err(|it| it.at("file", self.path()))
    }

    /// Whether reading these bytes most likely takes no waiting for a device, so that a driver may
    /// do it itself.
    fn is_at_hand(&self, _ranges: &[Range<u64>]) -> bool {
        false
    }

    /// Whether a read of these bytes sends no request to a remote store, or waits for one that is
    /// under way: then it is not joined with other reads.
    fn is_near(&self, _range: &Range<u64>) -> bool {
        false
    }

    /// Says that these bytes will be read soon; does not wait.
    fn will_read(&self, _ranges: &[Range<u64>]) {}
}

fn read_buffer<F>(file: &F, range: &Range<u64>, buffers: &BufferPool) -> Result<Bytes>
where
    F: RandomAccessFile + ?Sized,
{
    let mut buffer = buffers.take(file.check_range(range)?);
    file.read_into(range.start, &mut buffer)?;
    Ok(buffer.freeze())
}

/// The length of a range within a file.
fn check_range(range: &Range<u64>, size_bytes: u64) -> Result<usize> {
    let len = range.end.checked_sub(range.start).filter(|_| range.end <= size_bytes);
    len.and_then(|it| usize::try_from(it).ok()).ok_or_else(|| {
        Error::corruption(format!(
            "bytes {} to {} are asked of a file of {size_bytes}",
            range.start, range.end
        ))
    })
}
