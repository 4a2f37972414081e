//! Writes objects, which appear whole with the commit.
//!
//! An object of one part is one request. A longer one is an upload in parts, which a task runs
//! while later ones are written. The commit completes it. An upload that is not committed is
//! aborted, which removes its parts.

use super::{address::Address, error::store_error, stores::Store};
use crate::{FileVersion, FileWriter, IoRuntime, Pending, WriteMode, WriteOutcome, ready};
use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{Either, select},
    stream::FuturesUnordered,
};
use object_store::{
    CopyMode, CopyOptions, MultipartUpload, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    PutResult, path::Path,
};
use std::{
    future::Future,
    io::{self, Write},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};
use tokio::sync::{
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    oneshot,
};
use volley_error::{Error, Result};

/// The bytes of a part. Stores take at most 10,000 parts, so parts grow with the object.
const PART_BYTES: usize = 8 << 20;

/// After this many parts their size doubles: objects of 8 MiB * 1000 * (1 + 2 + 4 + ...) fit.
const PARTS_OF_A_SIZE: usize = 1000;

/// Parts that are uploaded at the same time; their bytes are in memory.
const PARTS_IN_FLIGHT: usize = 4;

/// Makes names of unfinished objects of one process differ.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// Writes an object at once.
pub(super) async fn put(
    location: &str,
    key: &Path,
    store: &Store,
    bytes: Bytes,
    mode: WriteMode,
) -> Result<WriteOutcome> {
    let put_mode = match mode {
        WriteMode::Replace => PutMode::Overwrite,
        WriteMode::CreateNew => PutMode::Create,
    };
    let options = PutOptions { mode: put_mode, ..PutOptions::default() };
    let _permit = store.throttle.acquire().await;
    outcome(location, store.objects.put_opts(key, bytes.into(), options).await)
}

fn outcome(location: &str, result: object_store::Result<PutResult>) -> Result<WriteOutcome> {
    use object_store::Error as E;
    match result {
        Ok(written) => Ok(WriteOutcome::Written(version_of(&written))),
        Err(E::AlreadyExists { .. } | E::Precondition { .. }) => Ok(WriteOutcome::AlreadyExists),
        Err(error) => Err(store_error(location, &error)),
    }
}

fn version_of(written: &PutResult) -> FileVersion {
    let text = written.e_tag.as_deref().or(written.version.as_deref());
    FileVersion::new(text.unwrap_or_default())
}

/// An object that is being written.
pub(super) struct RemoteWriter {
    target: Target,
    runtime: IoRuntime,
    /// Bytes that are not uploaded yet.
    buffer: Vec<u8>,
    /// `None` before the first part.
    upload: Option<Upload>,
}

/// Where the object will be.
#[derive(Clone)]
struct Target {
    location: String,
    key: Path,
    store: Arc<Store>,
    mode: WriteMode,
}

/// The upload in parts, seen from the writer.
struct Upload {
    /// Dropping it without a commit aborts the upload.
    messages: UnboundedSender<Message>,
    /// `None` once it arrived.
    result: Option<oneshot::Receiver<Result<WriteOutcome>>>,
    progress: Arc<Progress>,
    started: usize,
}

enum Message {
    Part(Bytes),
    Commit,
}

/// Parts that are queued or on their way.
#[derive(Default)]
struct Progress {
    unfinished: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl Progress {
    fn finished_part(&self) {
        self.unfinished.fetch_sub(1, Ordering::AcqRel);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl RemoteWriter {
    pub fn new(
        location: &str,
        address: Address,
        store: Arc<Store>,
        mode: WriteMode,
        runtime: IoRuntime,
    ) -> RemoteWriter {
        let target = Target { location: location.to_owned(), key: address.key, store, mode };
        RemoteWriter { target, runtime, buffer: Vec::new(), upload: None }
    }

    fn part_bytes(&self) -> usize {
        let started = self.upload.as_ref().map_or(0, |it| it.started);
        PART_BYTES << (started / PARTS_OF_A_SIZE).min(8)
    }

    /// Queues the bytes so far as a part.
    fn start_part(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.buffer).into();
        if self.upload.is_none() {
            self.upload = Some(Upload::start(self.target.clone(), &self.runtime)?);
        }
        if let Some(upload) = &mut self.upload {
            upload.started += 1;
            upload.progress.unfinished.fetch_add(1, Ordering::AcqRel);
            // A task that has ended has said why; the commit tells.
            let _ = upload.messages.send(Message::Part(bytes));
        }
        Ok(())
    }
}

impl Upload {
    fn start(target: Target, runtime: &IoRuntime) -> Result<Upload> {
        let (messages, receiver) = unbounded_channel();
        let (sender, result) = oneshot::channel();
        let progress = Arc::new(Progress::default());
        let of_task = Arc::clone(&progress);
        runtime.spawn_detached(async move {
            let result = run(&target, receiver, &of_task).await;
            // The writer may be gone: then the upload was aborted.
            let _ = sender.send(result);
            of_task.unfinished.store(0, Ordering::Release);
            let waker = of_task.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            waker.into_iter().for_each(Waker::wake);
        })?;
        Ok(Upload { messages, result: Some(result), progress, started: 0 })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let is_ready = |it: &Progress| it.unfinished.load(Ordering::Acquire) < PARTS_IN_FLIGHT;
        let waker = cx.waker().clone();
        *self.progress.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        if !is_ready(&self.progress) {
            return Poll::Pending;
        }
        // Before the commit only a failure ends the task.
        let Some(result) = &mut self.result else { return Poll::Ready(Err(ended())) };
        match Pin::new(result).poll(cx) {
            Poll::Pending => Poll::Ready(Ok(())),
            Poll::Ready(result) => {
                self.result = None;
                Poll::Ready(Err(result.ok().and_then(Result::err).unwrap_or_else(ended)))
            }
        }
    }
}

/// Uploads parts until the commit, or aborts.
async fn run(
    target: &Target,
    mut messages: UnboundedReceiver<Message>,
    progress: &Progress,
) -> Result<WriteOutcome> {
    let at = |it: object_store::Error| store_error(&target.location, &it);
    let objects = &target.store.objects;
    let key = match target.mode {
        WriteMode::Replace => target.key.clone(),
        WriteMode::CreateNew => unfinished(&target.key),
    };
    let mut upload = objects.put_multipart(&key).await.map_err(at)?;
    let parts = upload_parts(&mut *upload, &mut messages, progress).await;
    let is_complete = parts.as_ref().is_ok_and(|it| *it == Ended::Committed);
    if !is_complete {
        let aborted = upload.abort().await;
        parts.map_err(at)?;
        aborted.map_err(at)?;
        return Err(Error::cancelled());
    }
    let written = match upload.complete().await {
        Ok(written) => written,
        Err(error) => {
            // The parts would stay; that removing them failed is less than that.
            let _ = upload.abort().await;
            return Err(at(error));
        }
    };
    if target.mode == WriteMode::Replace {
        return Ok(WriteOutcome::Written(version_of(&written)));
    }
    let options = CopyOptions { mode: CopyMode::Create, ..CopyOptions::default() };
    let copied = objects.copy_opts(&key, &target.key, options).await;
    let removed = objects.delete(&key).await;
    match copied {
        Err(object_store::Error::AlreadyExists { .. }) => Ok(WriteOutcome::AlreadyExists),
        Err(error) => Err(at(error)),
        Ok(()) => {
            removed.map_err(at)?;
            let meta = objects.head(&target.key).await.map_err(at)?;
            Ok(WriteOutcome::Written(FileVersion::new(meta.e_tag.as_deref().unwrap_or_default())))
        }
    }
}

#[derive(PartialEq)]
enum Ended {
    Committed,
    Dropped,
}

async fn upload_parts(
    upload: &mut dyn MultipartUpload,
    messages: &mut UnboundedReceiver<Message>,
    progress: &Progress,
) -> object_store::Result<Ended> {
    let mut running = FuturesUnordered::new();
    loop {
        let message = if running.is_empty() {
            messages.recv().await
        } else if running.len() >= PARTS_IN_FLIGHT {
            None
        } else {
            match select(pin!(messages.recv()), running.next()).await {
                Either::Left((message, _)) => message,
                Either::Right((part, _)) => {
                    part.transpose()?;
                    progress.finished_part();
                    continue;
                }
            }
        };
        match message {
            Some(Message::Part(bytes)) => running.push(upload.put_part(PutPayload::from(bytes))),
            Some(Message::Commit) => break,
            None if running.len() >= PARTS_IN_FLIGHT => {
                running.next().await.transpose()?;
                progress.finished_part();
            }
            None => return Ok(Ended::Dropped),
        }
    }
    while let Some(part) = running.next().await {
        part?;
        progress.finished_part();
    }
    Ok(Ended::Committed)
}

/// A name next to `key` for an object that is to be new and is not complete.
fn unfinished(key: &Path) -> Path {
    let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let suffix = format!("{}.{number}.unfinished", std::process::id());
    let text = key.to_string();
    let (folder, name) = text.rsplit_once('/').map_or(("", &*text), |it| it);
    Path::from_iter(
        folder
            .split('/')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .chain([format!("_{name}.{suffix}")]),
    )
}

fn ended() -> Error {
    Error::io("upload", io::Error::other("it is committed, aborted or failed"))
}

impl Write for RemoteWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part_bytes = self.part_bytes();
        let taken = bytes.len().min(part_bytes - self.buffer.len());
        self.buffer.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        if self.buffer.len() >= part_bytes {
            self.start_part().map_err(io::Error::other)?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileWriter for RemoteWriter {
    fn location(&self) -> &str {
        &self.target.location
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match &mut self.upload {
            Some(upload) => upload.poll_ready(cx),
            None => Poll::Ready(Ok(())),
        }
    }

    fn sync(&mut self) -> Pending<()> {
        // A commit is durable when it is answered.
        ready(Ok(()))
    }

    fn commit(mut self: Box<Self>) -> Pending<WriteOutcome> {
        if self.upload.is_some()
            && !self.buffer.is_empty()
            && let Err(error) = self.start_part()
        {
            return ready(Err(error));
        }
        let RemoteWriter { target, runtime, buffer, upload } = *self;
        let Some(upload) = upload else {
            return runtime.spawn(async move {
                let Target { location, key, store, mode } = &target;
                put(location, key, store, buffer.into(), *mode).await
            });
        };
        let _ = upload.messages.send(Message::Commit);
        runtime.spawn(async move {
            match upload.result {
                Some(result) => result.await.unwrap_or_else(|_| Err(ended())),
                None => Err(ended()),
            }
        })
    }

    fn abort(self: Box<Self>) -> Pending<()> {
        let Some(upload) = self.upload else { return ready(Ok(())) };
        drop(upload.messages);
        self.runtime.spawn(async move {
            let result = match upload.result {
                Some(result) => result.await.unwrap_or_else(|_| Err(ended())),
                None => return Ok(()),
            };
            match result {
                Err(error) if error.kind() == volley_error::ErrorKind::Cancelled => Ok(()),
                other => other.map(drop),
            }
        })
    }
}
