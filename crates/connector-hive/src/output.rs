//! The file that a sink writes.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
};
use volley_error::{Error, Result};
use volley_io::{FileWriter, wait_polling};

/// Waits before a write while the parts of the file in flight are as many as may be.
pub(crate) struct PacedOutput {
    file: Box<dyn FileWriter>,
    written: WrittenBytes,
}

/// The bytes of one file so far. Clones are the same; one driver writes, so that order between
/// threads does not matter.
#[derive(Clone, Default)]
pub(crate) struct WrittenBytes(Arc<AtomicU64>);

impl WrittenBytes {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PacedOutput {
    pub fn new(file: Box<dyn FileWriter>, written: WrittenBytes) -> PacedOutput {
        PacedOutput { file, written }
    }

    /// The file, to commit it.
    pub fn into_file(self) -> Box<dyn FileWriter> {
        self.file
    }
}

impl Write for PacedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let ready = match self.file.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ready) => ready,
            Poll::Pending => wait_polling(|cx| self.file.poll_ready(cx)),
        };
        // The writer of the format gets the error of the file inside an error of I/O.
        let boxed = |it: Error| io::Error::other(it);
        ready.map_err(boxed)?;
        let written = self.file.write(bytes)?;
        self.written.0.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// An output that a writer of another crate takes, and leaves when it has finished.
#[derive(Clone)]
pub(crate) struct SharedOutput(Arc<Mutex<Option<PacedOutput>>>);

impl SharedOutput {
    pub fn new(output: PacedOutput) -> SharedOutput {
        SharedOutput(Arc::new(Mutex::new(Some(output))))
    }

    /// The output, after the end.
    pub fn take(&self) -> Result<PacedOutput> {
        self.lock().take().ok_or_else(|| Error::internal("the end of a file comes twice"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<PacedOutput>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.lock() {
            Some(output) => output.write(bytes),
            None => Err(io::Error::other("bytes after the end of a file")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().as_mut().map_or(Ok(()), Write::flush)
    }
}
