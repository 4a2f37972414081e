//! Files of blocks.

use super::{
    Fault, SpillSpace,
    block::{HEADER_BYTES, Header, corruption, pack},
    folder::Folder,
    space::disk_error,
};
use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::Result;

/// A file that grows by blocks and is read from its start. It is gone when the file and all its
/// readers are dropped.
///
/// ```
/// use volley_memory::spill::SpillSpace;
///
/// let space = SpillSpace::new(std::env::temp_dir(), None);
/// let mut file = space.create_file()?;
/// file.append(b"some")?;
/// file.append(b"bytes")?;
/// let (mut reader, mut block) = (file.reader(), Vec::new());
/// assert!(reader.next(&mut block)?);
/// assert_eq!(block, b"some");
/// assert!(reader.next(&mut block)?);
/// assert!(!reader.next(&mut block)?);
/// # Ok::<(), volley_error::Error>(())
/// ```
#[derive(Debug)]
pub struct SpillFile(pub(super) Arc<OpenFile>);

/// Reads the blocks of a file, one after the other, at a place of its own.
#[derive(Debug)]
pub struct SpillFileReader {
    open: Arc<OpenFile>,
    position: u64,
    /// Where the file ended when the reader was made.
    end: u64,
    /// Of the block at the position, when it was read already.
    header: Option<Header>,
}

#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: Arc<File>,
    /// Its length, all of which counts in the space.
    bytes: AtomicU64,
    space: SpillSpace,
    /// Stays as long as its files do.
    folder: Arc<Folder>,
}

impl SpillFile {
    pub(super) fn new(file: Arc<File>, folder: Arc<Folder>, space: SpillSpace) -> SpillFile {
        SpillFile(Arc::new(OpenFile { file, bytes: AtomicU64::new(0), space, folder }))
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Writes a block of at most [`super::BLOCK_BYTES_MAX`] bytes at the end; returns the bytes
    /// that it takes on disk. After an error the file is as it was before.
    ///
    /// # Errors
    ///
    /// The space's limit; a full disk and whatever else the file system reports; unsupported: a
    /// larger block.
    pub fn append(&mut self, block: &[u8]) -> Result<u64> {
        let OpenFile { space, bytes, .. } = &*self.0;
        let mut packed = space.buffer();
        pack(block, &mut packed)?;
        let added = packed.len() as u64;
        space.reserve(added)?;
        if let Err(error) = self.0.write(&mut packed, self.bytes()) {
            space.give_back(added);
            return Err(disk_error("write to a spill file", self.0.folder.path(), error));
        }
        bytes.fetch_add(added, Ordering::Relaxed);
        Ok(added)
    }

    /// Reads the blocks that there are now, from the first one on.
    pub fn reader(&self) -> SpillFileReader {
        SpillFileReader { open: Arc::clone(&self.0), position: 0, end: self.bytes(), header: None }
    }
}

impl SpillFileReader {
    /// Makes `block` the next block; false at the end. Takes memory for `block` alone.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes than were written, or fewer; whatever the file system reports.
    pub fn next(&mut self, block: &mut Vec<u8>) -> Result<bool> {
        self.next_bytes()?;
        let Some(header) = self.header.take() else { return Ok(false) };
        let mut stored = self.open.space.buffer();
        stored.resize(header.stored_bytes, 0);
        self.read(&mut stored)?;
        header.unpack(&stored, block)?;
        Ok(true)
    }

    /// The bytes that the next block will have; `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`SpillFileReader::next`].
    pub fn next_bytes(&mut self) -> Result<Option<usize>> {
        if self.header.is_none() && self.position < self.end {
            let mut header = [0; HEADER_BYTES];
            self.read(&mut header)?;
            self.header = Some(Header::read(header, self.end - self.position)?);
        }
        Ok(self.header.map(|it| it.bytes))
    }

    /// Fills `out` with what comes next.
    fn read(&mut self, out: &mut [u8]) -> Result<()> {
        match self.open.read(out, self.position) {
            Ok(()) => {
                self.position += out.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(corruption("it is shorter than what was written").caused_by(error))
            }
            Err(error) => Err(disk_error("read a spill file", self.open.folder.path(), error)),
        }
    }
}

impl OpenFile {
    fn write(&self, bytes: &mut [u8], position: u64) -> io::Result<()> {
        match self.space.next_fault() {
            None => self.file.write_all_at(bytes, position),
            Some(Fault::Error(kind)) => Err(kind.into()),
            Some(Fault::Short) => {
                self.file.write_all_at(&bytes[..bytes.len() / 2], position)?;
                Err(ErrorKind::WriteZero.into())
            }
            Some(Fault::FlippedBit) => {
                flip_bit(bytes);
                self.file.write_all_at(bytes, position)
            }
        }
    }

    fn read(&self, out: &mut [u8], position: u64) -> io::Result<()> {
        let fault = self.space.next_fault();
        match fault {
            Some(Fault::Error(kind)) => return Err(kind.into()),
            Some(Fault::Short) => return Err(ErrorKind::UnexpectedEof.into()),
            None | Some(Fault::FlippedBit) => self.file.read_exact_at(out, position)?,
        }
        if fault.is_some() {
            flip_bit(out);
        }
        Ok(())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        self.folder.keep_file(&self.file);
        self.space.give_back(self.bytes.load(Ordering::Relaxed));
    }
}

fn flip_bit(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
}
