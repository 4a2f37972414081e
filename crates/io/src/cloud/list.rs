//! Lists objects. A list is read ahead on a thread of the runtime, by at most one page.

use super::{
    address::{Address, StoreAddress},
    error::store_error,
    file::version_of,
    stores::Store,
};
use crate::{EntryKind, EntryStream, FileEntry, IoRuntime, ListScope, Pending, is_hidden};
use futures_util::StreamExt;
use object_store::{ObjectMeta, path::Path};
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use volley_error::{Error, Result};

/// The entries of a page of a list.
const PAGE_ENTRIES: usize = 1000;

/// Entries as they arrive.
pub(super) struct RemoteEntries {
    entries: Receiver<Result<FileEntry>>,
    /// Dropped with the stream, which ends the task.
    task: Pending<()>,
    is_done: bool,
}

impl RemoteEntries {
    pub fn new(
        location: &str,
        address: Address,
        store: Arc<Store>,
        scope: ListScope,
        runtime: &IoRuntime,
    ) -> RemoteEntries {
        let (sender, entries) = channel(PAGE_ENTRIES);
        let location = location.to_owned();
        let task = runtime.spawn(async move {
            let list = List { location, address, store };
            let listed = match scope {
                ListScope::Children => list.children(&sender).await,
                ListScope::VisibleTree | ListScope::Tree => list.tree(scope, &sender).await,
            };
            if let Err(error) = listed {
                // Nothing is lost if the receiver does not exist.
                let _ = sender.send(Err(error)).await;
            }
            Ok(())
        });
        RemoteEntries { entries, task, is_done: false }
    }
}

impl EntryStream for RemoteEntries {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        if self.is_done {
            return Poll::Ready(Ok(None));
        }
        match self.entries.poll_recv(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(entry)) => Poll::Ready(entry.map(Some)),
            // The task has ended: by itself, or because it could not run.
            Poll::Ready(None) => self.task.as_mut().poll(cx).map(|it| {
                self.is_done = true;
                it.map(|()| None)
            }),
        }
    }
}

struct List {
    location: String,
    address: Address,
    store: Arc<Store>,
}

impl List {
    async fn children(&self, sender: &Sender<Result<FileEntry>>) -> Result<()> {
        let prefix = prefix_of(&self.address.key);
        let listed = self.store.objects.list_with_delimiter(prefix).await;
        let listed = listed.map_err(|it| self.error(&it))?;
        let folders = listed.common_prefixes.iter().map(|it| FileEntry {
            location: self.address.store.location(it),
            kind: EntryKind::Folder,
            size_bytes: None,
            version: None,
        });
        let own = &self.address.key;
        let files = listed.objects.iter().filter(|it| it.location != *own);
        let files = files.map(|it| file_entry(&self.address.store, it));
        for entry in folders.chain(files) {
            if sender.send(Ok(entry)).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    async fn tree(&self, scope: ListScope, sender: &Sender<Result<FileEntry>>) -> Result<()> {
        let folder = &self.address.key;
        let mut objects = self.store.objects.list(prefix_of(folder));
        while let Some(object) = objects.next().await {
            let object = object.map_err(|it| self.error(&it))?;
            let Some(mut below) = object.location.prefix_match(folder) else { continue };
            let is_skipped =
                scope == ListScope::VisibleTree && below.any(|it| is_hidden(it.as_ref()));
            // A marker of the folder itself is no file in it.
            if is_skipped || object.location == *folder {
                continue;
            }
            let entry = file_entry(&self.address.store, &object);
            if sender.send(Ok(entry)).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    fn error(&self, error: &object_store::Error) -> Error {
        store_error(&self.location, error)
    }
}

/// Whether an object is in the folder.
pub(super) async fn has_files(store: &Store, folder: &Path) -> object_store::Result<bool> {
    match store.objects.list(prefix_of(folder)).next().await {
        Some(object) => object.map(|_| true),
        None => Ok(false),
    }
}

fn prefix_of(folder: &Path) -> Option<&Path> {
    (!folder.is_root()).then_some(folder)
}

fn file_entry(store: &StoreAddress, object: &ObjectMeta) -> FileEntry {
    FileEntry {
        location: store.location(&object.location),
        kind: EntryKind::File,
        size_bytes: Some(object.size),
        version: version_of(object),
    }
}
