//! Reading the log of a database that another process writes.
//!
//! Files are listed before they are read. A file is created after all groups of the files before
//! it were appended, so the groups before the first one of a listed file can be read. A group that
//! is still being appended is read the next time; one that a later group follows is damaged.

use super::{
    FOLDER, HEADER_BYTES, damaged, file_name,
    read::{LogFile, LogStart},
};
use crate::{Name, Store};
use volley_error::{Error, Result};

/// Where a reader goes on in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogCursor {
    start: LogStart,
    /// The file that was read last, and the offset of the next group there.
    file: Option<(u32, u64)>,
    /// The number of the next group.
    next: u64,
}

impl LogCursor {
    /// A cursor at the start of a log.
    pub(crate) fn new(start: LogStart) -> LogCursor {
        LogCursor { start, file: None, next: start.group }
    }

    /// The number of the next group.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Reads the groups that were appended since the last call. `replay` gets their payloads.
    ///
    /// # Errors
    ///
    /// I/O; corruption: a group is missing; those of `replay`. The cursor is of no use then.
    pub(crate) fn follow(
        &mut self,
        store: &dyn Store,
        mut replay: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for number in self.files(store)? {
            let offset = self.file.filter(|it| it.0 == number).map_or(0, |it| it.1);
            let file = read_file(store, number, offset)?;
            let mut at = 0;
            if offset == 0 {
                match file.first_group(self.start.salt)? {
                    Some(first) if first == self.next => at = HEADER_BYTES,
                    Some(first) => {
                        let what = format!("group {} is missing, {first} follows", self.next);
                        return Err(damaged(&file.name, 0, &what));
                    }
                    // The file is new, and its header is not written yet.
                    None => continue,
                }
            }
            while let Some(payload) = file.group(at, self.next, self.start.salt) {
                let place = offset + at as u64;
                replay(payload)
                    .map_err(|it: Error| it.at("file", &file.name).at("offset", place))?;
                at += HEADER_BYTES + payload.len();
                self.next += 1;
            }
            let place = offset + at as u64;
            // All bytes up to the size that the file had are final.
            if file.has_group(at, self.next + 1, self.start.salt) {
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                let what = "a group that was durable cannot be read";
                return Err(damaged(&file.name, place, what));
            }
            self.file = Some((number, place));
        }
        Ok(())
    }

    /// The numbers of the files that may have groups, ascending.
    fn files(&self, store: &dyn Store) -> Result<Vec<u32>> {
        let least = self.file.map_or(self.start.file, |it| it.0);
        let listed = store.list(&Name::new(FOLDER)?)?;
        let numbers = listed.iter().filter_map(|it| u32::from_str_radix(it.name.file(), 16).ok());
        let mut numbers: Vec<u32> = numbers.filter(|it| *it >= least).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// The bytes of a file from `offset` on.
fn read_file(store: &dyn Store, number: u32, offset: u64) -> Result<LogFile> {
    let name = file_name(number)?;
    let file = store.open(&name)?;
    let bytes = match file.size_bytes() {
        size if size <= offset => Vec::new(),
        size => file.read(offset..size)?.to_vec(),
    };
    Ok(LogFile { name, number, bytes })
}
