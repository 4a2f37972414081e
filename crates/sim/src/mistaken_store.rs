//! A store that makes a mistake, which the simulation must find.

use crate::SimDisk;
use std::sync::Arc;
use volley_error::Result;
use volley_io::RandomAccessFile;
use volley_storage::{Abilities, AppendFile, Expected, Listed, Name, Put, Store};

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMistake {
    /// Files in this folder are not synced.
    NoSync(&'static str),
    /// Names in this folder are not synced.
    NoNameSync(&'static str),
    /// Files that are replaced as a whole are not durable when the call returns.
    PutNotDurable,
    /// An append that took some of the bytes says that it took all.
    ShortWriteIgnored,
    /// A sync that failed is tried again, and then said to have succeeded.
    SyncRetried,
}

/// A simulated disk with a mistake.
#[derive(Debug)]
pub struct MistakenStore {
    disk: SimDisk,
    mistake: StoreMistake,
}

impl MistakenStore {
    /// The disk with the mistake.
    pub fn new(disk: SimDisk, mistake: StoreMistake) -> MistakenStore {
        MistakenStore { disk, mistake }
    }
}

impl Store for MistakenStore {
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>> {
        let file = self.disk.create(name)?;
        let (mistake, folder) = (self.mistake, name.folder());
        Ok(Box::new(MistakenFile { file, mistake, folder }))
    }

    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
        self.disk.open(name)
    }

    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        if self.mistake != StoreMistake::PutNotDurable {
            return self.disk.put(name, bytes, expected);
        }
        let listed = self.disk.list(&name.folder())?;
        if listed.iter().any(|it| it.name == *name) {
            self.disk.remove(name)?;
        }
        self.disk.create(name)?.append_all(bytes)?;
        Ok(Put::Written)
    }

    fn list(&self, folder: &Name) -> Result<Vec<Listed>> {
        self.disk.list(folder)
    }

    fn remove(&self, name: &Name) -> Result<()> {
        self.disk.remove(name)
    }

    fn sync_names(&self, folder: &Name) -> Result<()> {
        match self.mistake {
            StoreMistake::NoNameSync(of) if of == folder.as_str() => Ok(()),
            _ => self.disk.sync_names(folder),
        }
    }

    fn abilities(&self) -> Abilities {
        self.disk.abilities()
    }
}

#[derive(Debug)]
struct MistakenFile {
    file: Box<dyn AppendFile>,
    mistake: StoreMistake,
    folder: Name,
}

impl AppendFile for MistakenFile {
    fn append(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = self.file.append(bytes)?;
        let is_ignored = self.mistake == StoreMistake::ShortWriteIgnored;
        Ok(if is_ignored { bytes.len() } else { count })
    }

    fn sync(&mut self) -> Result<()> {
        match self.mistake {
            StoreMistake::NoSync(folder) if folder == self.folder.as_str() => Ok(()),
            StoreMistake::SyncRetried => self.file.sync().or_else(|_| self.file.sync()),
            _ => self.file.sync(),
        }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}
