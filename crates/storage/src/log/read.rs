//! Reading the log after a restart.

use super::{
    FILE_MAGIC, FOLDER, GROUP_MAGIC, HEADER_BYTES, VERSION_MAJOR, VERSION_MINOR, damaged,
    file_header, group_header, has_checksum,
};
use crate::{
    Name, Store,
    canary::{self, Mistake},
};
use volley_error::{Error, Result};

/// Where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// The number of the next group.
    pub(crate) next: u64,
    /// The largest number of a file; 0 without one.
    pub(crate) last_file: u32,
    /// Whether there are files. Some may have a torn end.
    pub(crate) has_files: bool,
}

/// Which groups are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogStart {
    /// The first file: those with lower numbers are garbage.
    pub(crate) file: u32,
    /// The number of the first group.
    pub(crate) group: u64,
    pub(crate) salt: u64,
}

/// A file of the log.
pub(super) struct LogFile {
    pub(super) name: Name,
    pub(super) number: u32,
    /// From some offset on.
    pub(super) bytes: Vec<u8>,
}

/// Reads all groups in order. `replay` gets their payloads.
///
/// # Errors
///
/// I/O; corruption: a group that was durable cannot be read; those of `replay`.
pub(crate) fn read(
    store: &dyn Store,
    start: LogStart,
    mut replay: impl FnMut(&[u8]) -> Result<()>,
) -> Result<LogEnd> {
    let files = files(store, start.file)?;
    let mut end = LogEnd { next: start.group, last_file: 0, has_files: !files.is_empty() };
    for (index, file) in files.iter().enumerate() {
        end.last_file = file.number;
        let later = files.get(index + 1..).unwrap_or_default();
        let next_first = later.iter().find_map(|it| it.first_group(start.salt).transpose());
        let next_first = next_first.transpose()?;
        let mut offset = HEADER_BYTES;
        let mut torn_groups = 1;
        match file.first_group(start.salt)? {
            Some(first) if first == end.next => {
                while let Some(payload) = file.group(offset, end.next, start.salt) {
                    replay(payload)
                        .map_err(|it: Error| it.at("file", &file.name).at("offset", offset))?;
                    offset += HEADER_BYTES + payload.len();
                    end.next += 1;
                }
            }
            Some(first) => {
                let what = format!("group {} is missing, {first} follows", end.next);
                return Err(damaged(&file.name, 0, &what));
            }
            // A file that was created and never synced, or whose header is damaged.
            None => (offset, torn_groups) = (0, 0),
        }
        let is_whole = offset >= file.bytes.len();
        // The writer left the file after a group that it could not append.
        let was_left = next_first.is_some_and(|it| it == end.next);
        if is_whole || was_left {
            continue;
        }
        if next_first.is_some() || file.has_group(offset, end.next + torn_groups, start.salt) {
            return Err(damaged(&file.name, offset, "a group that was durable cannot be read"));
        }
    }
    Ok(end)
}

/// The files from `first` on, by number.
fn files(store: &dyn Store, first: u32) -> Result<Vec<LogFile>> {
    let mut files = Vec::new();
    for listed in store.list(&Name::new(FOLDER)?)? {
        let Ok(number) = u32::from_str_radix(listed.name.file(), 16) else { continue };
        if number < first {
            continue;
        }
        let file = store.open(&listed.name)?;
        let bytes = file.read(0..file.size_bytes())?.to_vec();
        files.push(LogFile { name: listed.name, number, bytes });
    }
    files.sort_by_key(|it| it.number);
    Ok(files)
}

impl LogFile {
    /// The number of the first group; `None` if the header is not that of this file.
    pub(super) fn first_group(&self, salt: u64) -> Result<Option<u64>> {
        let Some(header) = self.bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        if !header.starts_with(&FILE_MAGIC) || !has_checksum(header, salt) {
            return Ok(None);
        }
        let [_, _, _, _, major, minor, ..] = *header;
        if major != VERSION_MAJOR || minor > VERSION_MINOR {
            let error = Error::unsupported(format!("a log of format {major}.{minor}"));
            return Err(error.at("file", &self.name).hint("use a newer version of volley"));
        }
        let first = u64_at(header, 16);
        Ok(first.filter(|it| *header == file_header(minor, self.number, *it, salt)))
    }

    /// The payload of group `group` at `offset`, if it is there.
    pub(super) fn group(&self, offset: usize, group: u64, salt: u64) -> Option<&[u8]> {
        let (number, payload) = self.any_group(offset, salt)?;
        (number == group).then_some(payload)
    }

    /// The number and payload of the group at `offset`, if there is one.
    fn any_group(&self, offset: usize, salt: u64) -> Option<(u64, &[u8])> {
        let (header, rest) = self.bytes.get(offset..)?.split_first_chunk::<HEADER_BYTES>()?;
        if !header.starts_with(&GROUP_MAGIC) {
            return None;
        }
        let bytes = header.get(4..8)?.try_into().ok().map(u32::from_le_bytes)?;
        let payload = rest.get(..usize::try_from(bytes).ok()?)?;
        let number = u64_at(header, 8)?;
        let expected = group_header(number, self.number, payload, salt);
        let is_right = *header == expected || canary::makes(Mistake::NoChecksum);
        is_right.then_some((number, payload))
    }

    /// Whether a group from number `least` on can be read behind `offset`.
    pub(super) fn has_group(&self, offset: usize, least: u64, salt: u64) -> bool {
        let starts = self.bytes.get(offset..).unwrap_or_default().windows(GROUP_MAGIC.len());
        let mut starts = starts.enumerate().filter(|it| it.1 == GROUP_MAGIC).map(|it| it.0);
        starts.any(|it| self.any_group(offset + it, salt).is_some_and(|it| it.0 >= least))
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
