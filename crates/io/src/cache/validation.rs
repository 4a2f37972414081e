//! Questions whether files that the cache knows have changed, which are under way while a statement
//! begins.
//!
//! ```text
//! Validations::run(statement begins) ── known file ──> DeferredFile: blocks of the cache at once
//!    │                                      └ request with If-None-Match ── same, changed
//!    └ answer() ──> all same: the statement's rows may be shown; changed: it begins anew
//! ```

use crate::{
    BufferPool, FileVersion, KnownFile, Pending, RandomAccessFile, TransferLimits, ready,
    wait_polling,
};
use bytes::Bytes;
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fmt,
    future::poll_fn,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
};
use volley_error::{Error, ErrorKind, Result};

thread_local! {
    /// Those of the statement that this thread begins.
    static CURRENT: RefCell<Option<Validations>> = const { RefCell::new(None) };
}

/// The questions of one statement to file systems whether what the cache knows is still true.
/// Clones are the same.
///
/// Files that are opened, and folders that are listed, by the thread that is in
/// [`Validations::run`] are taken as the cache knows them, while the question is under way. What
/// the statement computes must be dropped unless [`Validations::answer`] is
/// [`Validity::Unchanged`].
#[derive(Clone, Default)]
pub struct Validations(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    questions: Vec<Arc<Question>>,
    /// Files whose opening is under way, by location.
    files: HashMap<Arc<str>, Arc<dyn RandomAccessFile>>,
    /// Versions of files in folders whose list is new or asked for.
    listed: HashSet<(Arc<str>, FileVersion)>,
}

/// What file systems answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// All files and folders are as the cache knew them.
    Unchanged,
    /// One of them is not, or the file system did not answer the question.
    Changed,
}

impl Validations {
    /// Runs what opens the files of a statement.
    pub fn run<R>(&self, begin: impl FnOnce() -> R) -> R {
        /// Restores the previous value, after a panic too.
        struct Restore(Option<Validations>);

        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }

        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        begin()
    }

    /// Waits for the answers to all questions.
    ///
    /// # Errors
    ///
    /// Cancelled.
    pub fn answer(&self) -> Result<Validity> {
        let questions = self.asked().questions.clone();
        for question in questions {
            if wait_polling(|cx| question.poll(cx).map(Ok))? == Validity::Changed {
                return Ok(Validity::Changed);
            }
        }
        Ok(Validity::Unchanged)
    }

    /// Whether there is no question: nothing was taken from the cache unasked.
    pub fn is_empty(&self) -> bool {
        self.asked().questions.is_empty()
    }

    /// Those of the statement that this thread begins, if there is one.
    pub(super) fn current() -> Option<Validations> {
        CURRENT.with_borrow(Clone::clone)
    }

    pub(super) fn add(&self, question: &Arc<Question>) {
        self.asked().questions.push(Arc::clone(question));
    }

    pub(super) fn keep_file(&self, location: &Arc<str>, file: &Arc<dyn RandomAccessFile>) {
        self.asked().files.insert(Arc::clone(location), Arc::clone(file));
    }

    /// A file of the statement that was opened before.
    pub(super) fn file(&self, location: &str) -> Option<Arc<dyn RandomAccessFile>> {
        self.asked().files.get(location).cloned()
    }

    pub(super) fn keep_listed(&self, location: &str, version: &FileVersion) {
        self.asked().listed.insert((Arc::from(location), version.clone()));
    }

    /// Whether a list of the statement has a file in this version.
    pub(super) fn has_listed(&self, location: &str, version: &FileVersion) -> bool {
        self.asked().listed.contains(&(Arc::from(location), version.clone()))
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Validations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Validations({} questions)", self.asked().questions.len())
    }
}

/// A question to a file system, and its answer when that has arrived.
#[derive(Debug, Default)]
pub(super) struct Question(Mutex<QuestionState>);

#[derive(Debug, Default)]
struct QuestionState {
    answer: Option<Validity>,
    waiting: Vec<Waker>,
}

impl Question {
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Validity> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.answer {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.waiting.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    pub fn answer(&self, answer: Validity) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.answer.get_or_insert(answer);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Answers a question when it is dropped: without another answer, that it has changed.
pub(super) struct Answering(pub Arc<Question>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answer(Validity::Changed);
    }
}

/// Asks the file system for a file, and sends the answer.
pub(super) type Ask = Box<dyn Fn(Arc<DeferredFile>) -> Result<()> + Send + Sync>;

/// A file that the cache knows. The file system is asked for it by [`DeferredFile::ask`], or when
/// bytes are read that the cache has not.
pub(super) struct DeferredFile {
    pub location: Arc<str>,
    pub known: KnownFile,
    limits: TransferLimits,
    pub question: Arc<Question>,
    /// The file, if it is the known one.
    pub file: OnceLock<Arc<dyn RandomAccessFile>>,
    asked: OnceLock<()>,
    ask: Ask,
}

impl DeferredFile {
    pub fn new(
        location: &Arc<str>,
        known: KnownFile,
        limits: TransferLimits,
        ask: Ask,
    ) -> Arc<DeferredFile> {
        Arc::new(DeferredFile {
            location: Arc::clone(location),
            known,
            limits,
            question: Arc::default(),
            file: OnceLock::new(),
            asked: OnceLock::new(),
            ask,
        })
    }

    /// Sends the request, unless that was done.
    pub fn ask(self: &Arc<Self>) {
        if self.asked.set(()).is_ok() && (self.ask)(Arc::clone(self)).is_err() {
            self.question.answer(Validity::Changed);
        }
    }

    /// The file of the file system, if it is the known one.
    async fn opened(self: Arc<Self>) -> Result<Arc<dyn RandomAccessFile>> {
        self.ask();
        poll_fn(|cx| self.question.poll(cx)).await;
        self.file.get().cloned().ok_or_else(|| {
            let (path, _) = self.location.split_once('?').unwrap_or((&self.location, ""));
            Error::new(ErrorKind::Io, format!("file is not the one that the cache knows: {path}"))
                .hint("it was replaced or cannot be read; run the statement again")
        })
    }
}

impl fmt::Debug for DeferredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeferredFile({}, {} bytes)", self.path(), self.known.size_bytes)
    }
}

impl RandomAccessFile for DeferredFile {
    fn path(&self) -> &str {
        self.location.split_once('?').map_or(&*self.location, |it| it.0)
    }

    fn size_bytes(&self) -> u64 {
        self.known.size_bytes
    }

    fn version(&self) -> Option<FileVersion> {
        Some(self.known.version.clone())
    }

    fn transfer_limits(&self) -> TransferLimits {
        self.limits
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        match self.file.get() {
            Some(file) => file.read_into(start, out),
            // `CachedFile` reads by `start_read` alone.
            None => Err(Error::internal("a file is read before it is open")
                .at("file", self.path())
                .at("start", start)),
        }
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match self.file.get() {
            Some(file) => file.read(range),
            None => Err(Error::internal("a file is read before it is open")),
        }
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        if let Err(error) = self.check_range(&range) {
            return ready(Err(error));
        }
        if let Some(file) = self.file.get() {
            return Arc::clone(file).start_read(range, buffers);
        }
        self.ask();
        let buffers = buffers.clone();
        Box::pin(async move { self.opened().await?.start_read(range, &buffers).await })
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        self.file.get().is_some_and(|it| it.is_at_hand(ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wake_and_the_first_one_counts() {
        let validations = Validations::default();
        assert_eq!(validations.answer().unwrap(), Validity::Unchanged);
        let question = Arc::new(Question::default());
        validations.add(&question);
        let answering = Answering(Arc::clone(&question));
        let thread = std::thread::spawn(move || answering.0.answer(Validity::Unchanged));
        assert_eq!(validations.answer().unwrap(), Validity::Unchanged);
        thread.join().unwrap();
        let dropped = Arc::new(Question::default());
        validations.add(&dropped);
        drop(Answering(dropped));
        assert_eq!(validations.answer().unwrap(), Validity::Changed);
    }

    #[test]
    fn validations_are_those_of_the_thread_while_it_begins() {
        assert!(Validations::current().is_none());
        let validations = Validations::default();
        validations.run(|| {
            assert!(Validations::current().is_some());
            assert!(std::thread::spawn(|| Validations::current().is_none()).join().unwrap());
        });
        assert!(Validations::current().is_none());
    }
}
