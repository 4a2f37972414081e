//! Lists of folders, kept to begin statements with while they are asked for again.

use super::validation::{Answering, Validations};
use crate::{EntryStream, FileEntry, FileSystem, ListScope};
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use volley_error::Result;

/// Entries of all lists that are kept: about 10 MB.
const ENTRIES_MAX: usize = 50_000;

/// The lists of one file system.
#[derive(Debug, Default)]
pub(super) struct Listings(Mutex<HashMap<(String, ListScope), Listing>>);

/// A whole list.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    pub entries: Arc<Vec<FileEntry>>,
    /// When the file system was asked for it.
    asked_at: Instant,
}

impl Listing {
    /// Whether it is at most this old.
    pub fn is_younger(&self, age: Duration) -> bool {
        self.asked_at.elapsed() < age
    }
}

impl Listings {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, ListScope), Listing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, folder: &str, scope: ListScope) -> Option<Listing> {
        self.lock().get(&(folder.to_owned(), scope)).cloned()
    }

    fn keep(&self, folder: String, scope: ListScope, listing: Listing) {
        let mut kept = self.lock();
        let entries = |kept: &HashMap<_, Listing>| kept.values().map(|it| it.entries.len()).sum();
        if listing.entries.len() > ENTRIES_MAX {
            kept.remove(&(folder, scope));
            return;
        }
        let sum: usize = entries(&kept);
        if sum + listing.entries.len() > ENTRIES_MAX {
            kept.clear();
        }
        kept.insert((folder, scope), listing);
    }

    /// Drops the lists that a file is in, or would be.
    pub fn forget(&self, location: &str) {
        self.lock().retain(|(folder, _), _| !location.starts_with(folder.trim_end_matches('/')));
    }
}

/// A list that is kept when it is complete. Its files are noted in the statement that lists them.
pub(super) struct RecordedEntries {
    inner: Box<dyn EntryStream>,
    listings: Arc<Listings>,
    folder: String,
    scope: ListScope,
    asked_at: Instant,
    entries: Vec<FileEntry>,
    statement: Option<Validations>,
}

impl RecordedEntries {
    pub fn new(
        inner: Box<dyn EntryStream>,
        listings: &Arc<Listings>,
        folder: &str,
        scope: ListScope,
    ) -> RecordedEntries {
        RecordedEntries {
            inner,
            listings: Arc::clone(listings),
            folder: folder.to_owned(),
            scope,
            asked_at: Instant::now(),
            entries: Vec::new(),
            statement: Validations::current(),
        }
    }
}

impl EntryStream for RecordedEntries {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        let next = self.inner.poll_next(cx);
        match &next {
            Poll::Ready(Ok(Some(entry))) => {
                if let (Some(statement), Some(version)) = (&self.statement, &entry.version) {
                    statement.keep_listed(&entry.location, version);
                }
                if self.entries.len() <= ENTRIES_MAX {
                    self.entries.push(entry.clone());
                }
            }
            Poll::Ready(Ok(None)) => {
                let entries = Arc::new(std::mem::take(&mut self.entries));
                let listing = Listing { entries, asked_at: self.asked_at };
                self.listings.keep(std::mem::take(&mut self.folder), self.scope, listing);
            }
            _ => {}
        }
        next
    }
}

/// The entries of a list that is kept.
pub(super) struct KeptEntries {
    entries: Arc<Vec<FileEntry>>,
    next: usize,
}

impl KeptEntries {
    /// Its entries; the statement that this thread begins takes the versions of its files.
    pub fn new(listing: Listing) -> KeptEntries {
        if let Some(statement) = Validations::current() {
            for entry in listing.entries.iter() {
                if let Some(version) = &entry.version {
                    statement.keep_listed(&entry.location, version);
                }
            }
        }
        KeptEntries { entries: listing.entries, next: 0 }
    }
}

impl EntryStream for KeptEntries {
    fn poll_next(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        let entry = self.entries.get(self.next).cloned();
        self.next += 1;
        Poll::Ready(Ok(entry))
    }
}

/// Lists a folder again, keeps the list, and answers whether it is the same.
pub(super) async fn ask_again(
    file_system: Arc<dyn FileSystem>,
    listings: Arc<Listings>,
    (folder, scope): (String, ListScope),
    before: Listing,
    answering: Answering,
) {
    let inner = file_system.list(&folder, scope);
    let mut list = RecordedEntries {
        statement: None,
        ..RecordedEntries::new(inner, &listings, &folder, scope)
    };
    let mut rest = before.entries.iter();
    loop {
        match poll_fn(|cx| list.poll_next(cx)).await {
            Ok(Some(entry)) if rest.next() == Some(&entry) => {}
            // The list is not complete, and not kept.
            Ok(Some(_)) | Err(_) => return,
            Ok(None) => break,
        }
    }
    if rest.next().is_none() {
        answering.0.answer(super::Validity::Unchanged);
    }
}
