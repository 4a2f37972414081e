//! The file that a sink writes.

use std::{
    io::{self, Write},
    task::{Context, Poll, Waker},
};
use volley_error::Error;
use volley_io::{FileWriter, wait_polling};

/// Waits before a write while the file's parts that are on their way are as many as may be.
pub(crate) struct PacedOutput {
    pub writer: Box<dyn FileWriter>,
}

impl Write for PacedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let ready = match self.writer.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ready) => ready,
            Poll::Pending => wait_polling(|cx| self.writer.poll_ready(cx)),
        };
        // The writer of the format gets the error of the file inside an error of I/O.
        let boxed = |it: Error| io::Error::other(it);
        ready.map_err(boxed)?;
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
