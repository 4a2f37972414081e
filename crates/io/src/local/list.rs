//! Lists folders.

use super::path_of;
use crate::{EntryKind, EntryStream, FileEntry, ListScope, list::is_hidden};
use std::{
    fs::{self, DirEntry, ReadDir},
    task::{Context, Poll},
};
use volley_error::{Error, Result};

/// The entries of a folder; folders below are read one after the other, without recursion.
pub(super) struct LocalEntries {
    scope: ListScope,
    /// The folder that is read.
    current: Option<(String, ReadDir)>,
    /// Folders to read.
    folders: Vec<String>,
}

impl LocalEntries {
    pub fn new(folder: &str, scope: ListScope) -> LocalEntries {
        LocalEntries { scope, current: None, folders: vec![folder.to_owned()] }
    }

    fn next(&mut self) -> Result<Option<FileEntry>> {
        loop {
            let Some((folder, entries)) = &mut self.current else {
                let Some(folder) = self.folders.pop() else { return Ok(None) };
                let path = if folder.is_empty() { "." } else { &folder };
                let entries = fs::read_dir(path_of(path)).map_err(|it| Error::io(&folder, it))?;
                self.current = Some((folder, entries));
                continue;
            };
            let Some(entry) = entries.next() else {
                self.current = None;
                continue;
            };
            let entry = entry.map_err(|it| Error::io(&*folder, it))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.scope == ListScope::VisibleTree && is_hidden(&name) {
                continue;
            }
            let location = joined(folder, &name);
            match kind_of(&entry, self.scope).map_err(|it| Error::io(&location, it))? {
                EntryKind::Folder if self.scope != ListScope::Children => {
                    self.folders.push(location);
                }
                kind => {
                    return Ok(Some(FileEntry { location, kind, size_bytes: None, version: None }));
                }
            }
        }
    }
}

impl EntryStream for LocalEntries {
    fn poll_next(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        Poll::Ready(self.next())
    }
}

/// A name in a folder.
fn joined(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ if folder.ends_with('/') => format!("{folder}{name}"),
        _ => format!("{folder}/{name}"),
    }
}

/// What an entry is. A tree is not followed through links, which could form a cycle: there, a link
/// is a file.
fn kind_of(entry: &DirEntry, scope: ListScope) -> std::io::Result<EntryKind> {
    let file_type = entry.file_type()?;
    Ok(match scope {
        _ if file_type.is_dir() => EntryKind::Folder,
        ListScope::Children if file_type.is_symlink() => EntryKind::Link,
        _ => EntryKind::File,
    })
}
