//! A file that is written to a file system whose files are cached.

use crate::{FileWriter, Pending, WriteOutcome};
use std::{
    io::{self, Write},
    sync::Arc,
    task::{Context, Poll},
};
use volley_error::Result;

/// Forgets what is known of the file when it has been written.
pub(super) struct CachedWriter {
    pub inner: Box<dyn FileWriter>,
    pub forget: Arc<dyn Fn() + Send + Sync>,
}

impl CachedWriter {
    fn ending<T: Send + 'static>(
        forget: Arc<dyn Fn() + Send + Sync>,
        ending: Pending<T>,
    ) -> Pending<T> {
        Box::pin(async move {
            let result = ending.await;
            forget();
            result
        })
    }
}

impl Write for CachedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl FileWriter for CachedWriter {
    fn location(&self) -> &str {
        self.inner.location()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.inner.poll_ready(cx)
    }

    fn sync(&mut self) -> Pending<()> {
        // Bytes that are added are there from now on.
        CachedWriter::ending(Arc::clone(&self.forget), self.inner.sync())
    }

    fn commit(self: Box<Self>) -> Pending<WriteOutcome> {
        CachedWriter::ending(self.forget, self.inner.commit())
    }

    fn abort(self: Box<Self>) -> Pending<()> {
        CachedWriter::ending(self.forget, self.inner.abort())
    }
}
