//! A store that calls a function before each operation.

use crate::{Abilities, AppendFile, Expected, Listed, LocalStore, Name, Put, Store};
use std::{fmt, sync::Arc};
use volley_error::Result;
use volley_io::RandomAccessFile;

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Append,
    Sync,
    Open,
    Put,
}

type Hook = Arc<dyn Fn(Operation, &Name) -> Result<()> + Send + Sync>;

/// A store whose operations fail if the function fails.
pub struct Hooked {
    store: LocalStore,
    hook: Hook,
}

impl Hooked {
    pub fn new(
        store: LocalStore,
        hook: impl Fn(Operation, &Name) -> Result<()> + Send + Sync + 'static,
    ) -> Arc<Hooked> {
        Arc::new(Hooked { store, hook: Arc::new(hook) })
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Store for Hooked {
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>> {
        (self.hook)(Operation::Create, name)?;
        let (name, file) = (name.clone(), self.store.create(name)?);
        Ok(Box::new(HookedFile { name, file, hook: Arc::clone(&self.hook) }))
    }

    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
        (self.hook)(Operation::Open, name)?;
        self.store.open(name)
    }

    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        (self.hook)(Operation::Put, name)?;
        self.store.put(name, bytes, expected)
    }

    fn list(&self, folder: &Name) -> Result<Vec<Listed>> {
        self.store.list(folder)
    }

    fn remove(&self, name: &Name) -> Result<()> {
        self.store.remove(name)
    }

    fn sync_names(&self, folder: &Name) -> Result<()> {
        self.store.sync_names(folder)
    }

    fn abilities(&self) -> Abilities {
        self.store.abilities()
    }
}

struct HookedFile {
    name: Name,
    file: Box<dyn AppendFile>,
    hook: Hook,
}

impl fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl AppendFile for HookedFile {
    fn append(&mut self, bytes: &[u8]) -> Result<usize> {
        (self.hook)(Operation::Append, &self.name)?;
        self.file.append(bytes)
    }

    fn sync(&mut self) -> Result<()> {
        (self.hook)(Operation::Sync, &self.name)?;
        self.file.sync()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}
