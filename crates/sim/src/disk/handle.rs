//! Open files.

use super::{SimDisk, state::FileId};
use volley_error::Result;
use volley_io::RandomAccessFile;
use volley_storage::{AppendFile, Name};

/// A file that was created.
#[derive(Debug)]
pub(super) struct SimAppend {
    disk: SimDisk,
    name: Name,
    file: FileId,
    generation: u64,
}

impl SimAppend {
    pub(super) fn new(disk: SimDisk, name: Name, file: FileId, generation: u64) -> SimAppend {
        SimAppend { disk, name, file, generation }
    }
}

impl AppendFile for SimAppend {
    fn append(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut state = self.disk.state();
        state.check_generation(self.generation)?;
        state.append(&self.name, self.file, bytes)
    }

    fn sync(&mut self) -> Result<()> {
        let mut state = self.disk.state();
        state.check_generation(self.generation)?;
        state.sync(&self.name, self.file)
    }

    fn len(&self) -> u64 {
        self.disk.state().file_len(self.file)
    }
}

/// A file that was opened for reading.
#[derive(Debug)]
pub(super) struct SimRead {
    disk: SimDisk,
    name: Name,
    file: FileId,
    bytes: u64,
    generation: u64,
}

impl SimRead {
    pub(super) fn new(
        disk: SimDisk,
        name: &Name,
        file: FileId,
        bytes: u64,
        generation: u64,
    ) -> SimRead {
        SimRead { disk, name: name.clone(), file, bytes, generation }
    }
}

impl RandomAccessFile for SimRead {
    fn path(&self) -> &str {
        self.name.as_str()
    }

    fn size_bytes(&self) -> u64 {
        self.bytes
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.check_range(&(start..start.saturating_add(out.len() as u64)))?;
        let mut state = self.disk.state();
        state.check_generation(self.generation)?;
        state.read(&self.name, self.file, start, out)
    }
}
