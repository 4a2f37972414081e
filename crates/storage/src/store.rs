//! The port to files.
//!
//! What is durable, and when:
//!
//! ```text
//! create   nothing: the file and its name may vanish
//! append   nothing: any part of the bytes may be lost, old or torn after a crash
//! sync     the bytes appended before, if the name is durable, too
//! sync_names  the names of files created or removed in a folder before
//! put all of it when the call returns: either the old file or the new one exists after a crash
//! remove nothing: the name may return
//! ```
//!
//! A sync that failed has lost the bytes: a later sync that succeeds says nothing about them, and
//! reads may show them nevertheless. Callers stop writing and recover.

mod name;

pub use name::Name;

use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;

/// Files that are only appended to, or replaced as a whole.
///
/// Calls block. Implementations may be called from several threads.
pub trait Store: Send + Sync + fmt::Debug {
    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// I/O: the name is taken, the disk is full.
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>>;

    /// Opens a file for reading, with the bytes that it has now. It can be read after it was
    /// removed.
    ///
    /// # Errors
    ///
    /// I/O: no such file.
    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>>;

    /// Writes a whole file, atomically and durably, if what is there is as `expected`.
    ///
    /// # Errors
    ///
    /// I/O: the old content or the new one is there afterwards.
    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put>;

    /// The files in a folder and those below it, by name.
    ///
    /// # Errors
    ///
    /// I/O.
    fn list(&self, folder: &Name) -> Result<Vec<Listed>>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    ///
    /// I/O.
    fn remove(&self, name: &Name) -> Result<()>;

    /// Makes the names in a folder durable, as files were created and removed there.
    ///
    /// # Errors
    ///
    /// I/O: any of the names may be as before or as after, whatever later calls say.
    fn sync_names(&self, folder: &Name) -> Result<()>;

    /// What the store can do beyond this.
    fn abilities(&self) -> Abilities;
}

/// A file that grows at its end.
pub trait AppendFile: Send + fmt::Debug {
    /// Appends some of `bytes`, at least one if there are any; how many.
    ///
    /// # Errors
    ///
    /// I/O: full disk. None of the bytes was appended.
    fn append(&mut self, bytes: &[u8]) -> Result<usize>;

    /// Makes everything that was appended durable.
    ///
    /// # Errors
    ///
    /// I/O: what was appended since the last sync may be lost, whatever later syncs say.
    fn sync(&mut self) -> Result<()>;

    /// Bytes of the file.
    fn len(&self) -> u64;

    /// Whether nothing was appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends all of `bytes`.
    ///
    /// # Errors
    ///
    /// As [`AppendFile::append`]; a part of the bytes may have been appended.
    fn append_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let count = self.append(bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }
}

/// What must be there for [`Store::put`] to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected<'a> {
    /// Anything.
    Any,
    /// No file of this name.
    Nothing,
    /// A file of exactly these bytes.
    Bytes(&'a [u8]),
}

/// What [`Store::put`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The file has the new bytes.
    Written,
    /// What was there was not as expected; it is unchanged.
    Refused,
}

/// A file of a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Its full name.
    pub name: Name,
    /// Its bytes.
    pub bytes: u64,
}

/// Which writes a store takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// A file that was created can be appended to until it is closed.
    AppendOnce,
    /// Files can be opened again to be appended to.
    AppendAgain,
}

/// What a store can do beyond what all can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Which writes it takes.
    pub writes: WriteKind,
    /// Bytes that are written as one: after a crash each is old or new. 0: unknown.
    pub sector_bytes: u32,
}

/// Opens a file that a database cannot be without.
///
/// # Errors
///
/// I/O; corruption: it is missing.
pub(crate) fn open_existing(store: &dyn Store, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
    store.open(name).map_err(|error| {
        // An error of the listing says nothing about the file.
        let is_missing = |it: Vec<Listed>| it.iter().all(|it| it.name != *name);
        if !store.list(&name.folder()).is_ok_and(is_missing) {
            return error;
        }
        let missing = Error::corruption("a file of the database is missing").at("file", name);
        missing.caused_by(error).hint(crate::RESTORE)
    })
}
