//! Object stores (S3, Google Cloud Storage, Azure) and HTTP servers, by the crate `object_store`.
//!
//! ```text
//! location ── address ──> store: client of a bucket, made with the secret of the location's scope
//!                │              or with what the cloud's own tools read of the environment
//!                └ key
//! open   one request: the last 64 KiB, which tell size and version
//! read   one request per range, if the version is the same; a second one for stragglers
//! list   one request per 1000 objects
//! write  one request, or an upload in parts that the commit completes
//! ```
//!
//! Requests are sent by the threads of the [`IoRuntime`]. Each store bounds how many run at the
//! same time, fewer after answers that it is too busy. Requests that fail are sent again after a
//! while.

mod address;
mod azure;
mod connect;
mod environment;
mod error;
mod file;
mod google;
mod list;
mod s3;
mod stores;
mod throttle;
mod writer;

pub use environment::CloudEnvironment;

use crate::{
    Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileWriter, IoRuntime, KnownFile,
    ListScope, Pending, RandomAccessFile, TransferLimits, WriteMode, WriteOutcome, ready,
    secret::Secrets,
};
use address::{Address, SCHEMES, StoreKind};
use bytes::Bytes;
use error::store_error;
use file::{RemoteFile, Tails};
use list::RemoteEntries;
use object_store::ObjectStoreExt;
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use stores::{Store, Stores};
use volley_error::{Error, ErrorKind, Result};
use writer::RemoteWriter;

/// 500 KB in between cost less than another request. Parts of 8 MiB use several connections at
/// once.
const TRANSFER_LIMITS: TransferLimits = TransferLimits {
    range_gap_bytes: 500_000,
    joined_read_bytes: 32 << 20,
    part_bytes: 8 << 20,
    requests_in_flight: throttle::REQUESTS_MAX,
};

/// A file that was opened to see whether it exists is opened without a request within this time.
const PROBED_MAX: Duration = Duration::from_secs(2);

/// Object stores, or HTTP servers.
#[derive(Clone, Debug)]
pub struct CloudFileSystem {
    shared: Arc<Shared>,
    protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Objects,
    Http,
}

#[derive(Debug)]
struct Shared {
    stores: Stores,
    runtime: IoRuntime,
    tails: Tails,
    /// Files that were opened by [`FileSystem::entry`], for the opening that follows.
    probed: Mutex<HashMap<String, (Instant, Arc<RemoteFile>)>>,
}

/// The file systems of clouds by scheme, for [`FileSystems`](crate::FileSystems).
pub(crate) fn file_systems(
    runtime: &IoRuntime,
    environment: CloudEnvironment,
    secrets: Secrets,
) -> impl Iterator<Item = (&'static str, Arc<dyn FileSystem>)> {
    let shared = Arc::new(Shared {
        stores: Stores::new(environment, secrets),
        runtime: runtime.clone(),
        tails: Tails::default(),
        probed: Mutex::default(),
    });
    SCHEMES.iter().map(move |(scheme, kind)| {
        let protocol = if *kind == StoreKind::Http { Protocol::Http } else { Protocol::Objects };
        let shared = Arc::clone(&shared);
        (*scheme, Arc::new(CloudFileSystem { shared, protocol }) as Arc<dyn FileSystem>)
    })
}

impl Shared {
    fn find(&self, location: &str) -> Result<(Address, Arc<Store>)> {
        let address = Address::parse(location)?;
        let store = self.stores.get(location, &address.store)?;
        Ok((address, store))
    }

    async fn open(&self, location: &str, known: Option<&KnownFile>) -> Result<Arc<RemoteFile>> {
        let (address, store) = self.find(location)?;
        if address.is_folder(location) {
            return Err(Error::io(location, io::ErrorKind::IsADirectory.into()));
        }
        let shared = (store, self.runtime.clone(), &self.tails);
        RemoteFile::open(location.to_owned(), address, shared, known).await
    }

    /// A file that was opened a moment ago to see whether it exists.
    fn take_probed(&self, location: &str) -> Option<Arc<RemoteFile>> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        probed.retain(|_, it| it.0.elapsed() < PROBED_MAX);
        probed.remove(location).map(|it| it.1)
    }

    /// The size of a file that was opened a moment ago.
    fn probed_bytes(&self, location: &str) -> Option<u64> {
        let probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = probed.get(location).filter(|it| it.0.elapsed() < PROBED_MAX);
        recent.map(|it| it.1.size_bytes())
    }

    fn forget_probed(&self, location: &str) {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner).remove(location);
    }

    async fn entry(&self, location: &str) -> Result<Option<FileEntry>> {
        let (address, store) = self.find(location)?;
        let location = location.to_owned();
        if let Some(size_bytes) = self.probed_bytes(&location) {
            let size_bytes = Some(size_bytes);
            return Ok(Some(FileEntry {
                location,
                kind: EntryKind::File,
                size_bytes,
                version: None,
            }));
        }
        if !address.is_folder(&location) {
            match self.open(&location, None).await {
                Ok(file) => {
                    let size_bytes = Some(file.size_bytes());
                    let opened = (Instant::now(), file);
                    let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
                    probed.insert(location.clone(), opened);
                    return Ok(Some(FileEntry {
                        location,
                        kind: EntryKind::File,
                        size_bytes,
                        version: None,
                    }));
                }
                Err(error) if !is_missing(&error) => return Err(error),
                Err(_) if store.kind == StoreKind::Http => return Ok(None),
                Err(_) => {}
            }
        }
        let has_files = list::has_files(&store, &address.key).await;
        let has_files = has_files.map_err(|it| store_error(&location, &it))?;
        let folder =
            FileEntry { location, kind: EntryKind::Folder, size_bytes: None, version: None };
        Ok(has_files.then_some(folder))
    }
}

fn is_missing(error: &Error) -> bool {
    error.kind() == ErrorKind::Io && error.message().starts_with("no such file")
}

/// An operation that is not known for a protocol.
fn read_only(location: &str) -> Error {
    let message = format!("files of HTTP servers are not written: {location}");
    Error::unsupported(message).hint("write to a local file or to an object store")
}

impl CloudFileSystem {
    fn entry_of(&self, location: &str) -> Pending<Option<FileEntry>> {
        let (shared, location) = (Arc::clone(&self.shared), location.to_owned());
        self.shared.runtime.spawn(async move { shared.entry(&location).await })
    }
}

impl FileSystem for CloudFileSystem {
    fn capabilities(&self) -> Capabilities {
        let is_objects = self.protocol == Protocol::Objects;
        Capabilities {
            can_list: is_objects,
            can_write: is_objects,
            can_create_new: is_objects,
            can_append: false,
            has_folders: false,
            transfer: TRANSFER_LIMITS,
        }
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        self.entry_of(location)
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        match self.shared.find(folder) {
            Ok((address, store)) => {
                let runtime = &self.shared.runtime;
                Box::new(RemoteEntries::new(folder, address, store, scope, runtime))
            }
            Err(error) => Box::new(FailedList(Some(error))),
        }
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        if let Some(file) = self.shared.take_probed(location) {
            return ready(Ok(file));
        }
        let (shared, location) = (Arc::clone(&self.shared), location.to_owned());
        self.shared.runtime.spawn(async move {
            shared.open(&location, None).await.map(|it| it as Arc<dyn RandomAccessFile>)
        })
    }

    fn reopen(&self, location: &str, known: &KnownFile) -> Pending<Arc<dyn RandomAccessFile>> {
        let (shared, location) = (Arc::clone(&self.shared), location.to_owned());
        let known = known.clone();
        self.shared.runtime.spawn(async move {
            shared.open(&location, Some(&known)).await.map(|it| it as Arc<dyn RandomAccessFile>)
        })
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        if self.protocol == Protocol::Http {
            return ready(Err(read_only(location)));
        }
        self.shared.forget_probed(location);
        let found = self.shared.find(location).and_then(|(address, store)| {
            if address.is_folder(location) {
                return Err(Error::io(location, io::ErrorKind::IsADirectory.into()));
            }
            Ok(RemoteWriter::new(location, address, store, mode, self.shared.runtime.clone()))
        });
        ready(found.map(|it| Box::new(it) as Box<dyn FileWriter>))
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        if self.protocol == Protocol::Http {
            return ready(Err(read_only(location)));
        }
        self.shared.forget_probed(location);
        let (shared, location) = (Arc::clone(&self.shared), location.to_owned());
        self.shared.runtime.spawn(async move {
            let (address, store) = shared.find(&location)?;
            writer::put(&location, &address.key, &store, bytes, mode).await
        })
    }

    fn remove(&self, location: &str) -> Pending<()> {
        if self.protocol == Protocol::Http {
            return ready(Err(read_only(location)));
        }
        self.shared.forget_probed(location);
        let (shared, location) = (Arc::clone(&self.shared), location.to_owned());
        self.shared.runtime.spawn(async move {
            let (address, store) = shared.find(&location)?;
            match store.objects.delete(&address.key).await {
                Err(error) if !matches!(error, object_store::Error::NotFound { .. }) => {
                    Err(store_error(&location, &error))
                }
                _ => Ok(()),
            }
        })
    }
}

/// A list that cannot begin.
struct FailedList(Option<Error>);

impl EntryStream for FailedList {
    fn poll_next(
        &mut self,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<Option<FileEntry>>> {
        std::task::Poll::Ready(match self.0.take() {
            Some(error) => Err(error),
            None => Ok(None),
        })
    }
}
