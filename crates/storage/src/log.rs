//! The log: groups of records, appended and synced.
//!
//! ```text
//! file  log/<number, 8 hexadecimal digits>
//!   0  "VLOG"
//!   4  u8   major version: 1
//!   5  u8   minor version: 0
//!   6  u16  0
//!   8  u32  number of the file
//!  12  u32  0
//!  16  u64  number of its first group
//!  24  u64  XXH3-64 of bytes 0 to 23, with the database's salt as seed
//!  32  groups
//!
//! group
//!   0  "VGRP"
//!   4  u32  bytes of the payload
//!   8  u64  number: one more than that of the group before
//!  16  u32  number of the file
//!  20  u32  0
//!  24  u64  XXH3-64 of bytes 0 to 23 and the payload, with the database's salt as seed
//!  32  payload: records
//! ```
//!
//! A group is appended when the one before it is durable. So a group that cannot be read was not
//! acknowledged, if no later one can be read: it is the torn end of the log, and ignored. Otherwise
//! it is damage. After an append that failed, the group's number is used again in a new file.

mod follow;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use follow::LogCursor;

#[cfg(test)]
use read::LogEnd;
pub(crate) use read::{LogStart, read};

use crate::{AppendFile, Ids, Name, Store};
use std::{hash::Hasher, sync::Arc};
use twox_hash::XxHash3_64;
use volley_error::{Error, ErrorKind, Result};

/// The folder of log files.
pub(crate) const FOLDER: &str = "log";

/// Bytes of the headers of files and of groups.
const HEADER_BYTES: usize = 32;

const FILE_MAGIC: [u8; 4] = *b"VLOG";
const GROUP_MAGIC: [u8; 4] = *b"VGRP";
const VERSION_MAJOR: u8 = 1;
const VERSION_MINOR: u8 = 1;

/// A file that is longer gets no more groups.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The longest payload of a group.
const GROUP_BYTES_MAX: usize = 1 << 31;

/// Appends groups.
#[derive(Debug)]
pub(crate) struct Log {
    store: Arc<dyn Store>,
    ids: Arc<Ids>,
    salt: u64,
    /// The number of the next group.
    next: u64,
    open: Option<OpenLog>,
    /// Bytes that no manifest contains.
    bytes: u64,
}

#[derive(Debug)]
struct OpenLog {
    number: u32,
    file: Box<dyn AppendFile>,
}

/// What an append of a group that failed has left.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The group does not exist; others can be appended.
    Refused(Error),
    /// The group may exist: nothing can be appended before a recovery.
    Unknown(Error),
}

impl Log {
    /// A log that goes on with group `next` in a new file.
    pub(crate) fn new(store: &Arc<dyn Store>, ids: &Arc<Ids>, salt: u64, next: u64) -> Log {
        let (store, ids) = (Arc::clone(store), Arc::clone(ids));
        Log { store, ids, salt, next, open: None, bytes: 0 }
    }

    /// The number of the next group.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes of groups that no manifest contains.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From now on, groups are in files with larger numbers than all before, and at least with the
    /// one that this returns.
    pub(crate) fn begin_file(&mut self) -> u32 {
        self.open = None;
        self.ids.next_file()
    }

    /// Notes that a manifest contains the first `bytes` of [`Log::bytes`].
    pub(crate) fn forget_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Appends a group and makes it durable.
    pub(crate) fn append(&mut self, payload: &[u8]) -> std::result::Result<(), AppendError> {
        if payload.len() >= GROUP_BYTES_MAX {
            let error = Error::unsupported("a transaction of 2 GiB of changes");
            return Err(AppendError::Refused(error.hint("commit in smaller transactions")));
        }
        if self.open.as_ref().is_some_and(|it| it.file.len() >= FILE_BYTES_MAX) {
            self.open = None;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.create().map_err(AppendError::Refused)?,
        };
        let header = group_header(self.next, open.number, payload, self.salt);
        let mut append = || {
            open.file.append_all(&header)?;
            open.file.append_all(payload)
        };
        // The file is left: the group may be there in part.
        append().map_err(AppendError::Refused)?;
        open.file.sync().map_err(AppendError::Unknown)?;
        self.next += 1;
        self.bytes += (HEADER_BYTES + payload.len()) as u64;
        self.open = Some(open);
        Ok(())
    }

    fn create(&self) -> Result<OpenLog> {
        let number = self.ids.next_file();
        let mut file = self.store.create(&file_name(number)?)?;
        file.append_all(&file_header(VERSION_MINOR, number, self.next, self.salt))?;
        self.store.sync_names(&Name::new(FOLDER)?)?;
        Ok(OpenLog { number, file })
    }
}

impl AppendError {
    /// The error, and whether others can be appended.
    pub(crate) fn error(&self) -> &Error {
        match self {
            AppendError::Refused(error) | AppendError::Unknown(error) => error,
        }
    }
}

/// A file of the log with one group: its name and bytes.
pub(crate) fn one_group(
    file: u32,
    group: u64,
    payload: &[u8],
    salt: u64,
) -> Result<(Name, Vec<u8>)> {
    let mut bytes = file_header(VERSION_MINOR, file, group, salt).to_vec();
    bytes.extend_from_slice(&group_header(group, file, payload, salt));
    bytes.extend_from_slice(payload);
    Ok((file_name(file)?, bytes))
}

fn file_name(number: u32) -> Result<Name> {
    Name::new(format!("{FOLDER}/{number:08x}"))
}

fn file_header(minor: u8, number: u32, first: u64, salt: u64) -> [u8; HEADER_BYTES] {
    let version = [VERSION_MAJOR, minor, 0, 0];
    header(FILE_MAGIC, version, u64::from(number), first, &[], salt)
}

fn group_header(group: u64, file: u32, payload: &[u8], salt: u64) -> [u8; HEADER_BYTES] {
    let bytes = (payload.len() as u32).to_le_bytes();
    header(GROUP_MAGIC, bytes, group, u64::from(file), payload, salt)
}

/// A magic, 4 bytes, two numbers, the checksum.
fn header(
    magic: [u8; 4],
    second: [u8; 4],
    third: u64,
    fourth: u64,
    payload: &[u8],
    salt: u64,
) -> [u8; HEADER_BYTES] {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&second);
    bytes.extend_from_slice(&third.to_le_bytes());
    bytes.extend_from_slice(&fourth.to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes, payload, salt));
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(&bytes);
    header
}

/// Whether a header without a payload has the right checksum.
fn has_checksum(header: &[u8; HEADER_BYTES], salt: u64) -> bool {
    let (fields, sum) = header.split_at(HEADER_BYTES - 8);
    sum == checksum(fields, &[], salt)
}

fn checksum(fields: &[u8], payload: &[u8], salt: u64) -> [u8; 8] {
    let mut hasher = XxHash3_64::with_seed(salt);
    hasher.write(fields);
    hasher.write(payload);
    hasher.finish().to_le_bytes()
}

#[cold]
fn damaged(file: &Name, offset: usize, what: &str) -> Error {
    let error = Error::new(ErrorKind::Corruption, format!("damaged log: {what}"));
    let error = error.at("file", file).at("offset", offset);
    error.hint(crate::RESTORE)
}
