//! Files of one statement that are complete, but may have to disappear again.
//!
//! A file appears with its commit. Commits wait until the statement has written all rows, as far as
//! memory and open files permit: of many files, the oldest are committed earlier. If the statement
//! fails, files that were not committed never appear, and those that were are removed.

use std::collections::VecDeque;
use volley_error::Result;
use volley_io::{FileSystems, FileWriter, wait};
use volley_memory::{CancellationToken, with_cancellation};

/// Files that wait for their commit, at most: each has an open file or an unfinished upload.
const WAITING_MAX: usize = 64;

/// What these hold in memory, at most: stores keep up to a part of a file until it is committed.
const WAITING_BYTES_MAX: u64 = 32 << 20;

/// What a file that waits holds in any case: the buffer of its writer.
const BUFFER_BYTES: u64 = 256 << 10;

/// The files of a statement. Dropping it removes them, unless it is finished.
pub(crate) struct CompletedFiles {
    files: FileSystems,
    /// The size of the parts of a file that are sent while it is written.
    part_bytes: u64,
    waiting: VecDeque<WaitingFile>,
    waiting_bytes: u64,
    /// Locations.
    committed: Vec<String>,
}

struct WaitingFile {
    location: String,
    file: Box<dyn FileWriter>,
    held_bytes: u64,
}

impl CompletedFiles {
    /// No files yet, of a store with these parts.
    pub fn new(files: FileSystems, part_bytes: u64) -> CompletedFiles {
        let (waiting, committed) = (VecDeque::new(), Vec::new());
        CompletedFiles { files, part_bytes, waiting, waiting_bytes: 0, committed }
    }

    /// Adds a file of this number of bytes; commits the oldest ones if too many wait.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn add(&mut self, file: Box<dyn FileWriter>, bytes: u64) -> Result<()> {
        let held_bytes = bytes.min(self.part_bytes) + BUFFER_BYTES;
        let location = file.location().to_owned();
        self.waiting_bytes += held_bytes;
        self.waiting.push_back(WaitingFile { location, file, held_bytes });
        while self.waiting.len() > WAITING_MAX || self.waiting_bytes > WAITING_BYTES_MAX {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= oldest.held_bytes;
            let outcome = wait(oldest.file.commit())?;
            outcome.written(&oldest.location)?;
            self.committed.push(oldest.location);
        }
        Ok(())
    }

    /// Commits all files that wait, to hold no memory.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn commit_all(&mut self) -> Result<()> {
        self.waiting_bytes = 0;
        let commits = self.waiting.drain(..).map(|it| (it.location, it.file.commit()));
        let commits: Vec<_> = commits.collect();
        let mut failed = Ok(());
        for (location, commit) in commits {
            // A failed commit does not stop the others, which were begun: each one is known.
            match wait(commit).and_then(|it| it.written(&location)) {
                Ok(_) => self.committed.push(location),
                Err(error) if failed.is_ok() => failed = Err(error),
                Err(_) => {}
            }
        }
        failed
    }

    /// Bytes of memory that files hold which wait.
    pub fn held_bytes(&self) -> usize {
        self.waiting_bytes as usize
    }

    /// Commits all files, and returns the locations of all of the statement, which stay.
    ///
    /// # Errors
    ///
    /// I/O; then none stays.
    pub fn finish(mut self) -> Result<Vec<String>> {
        self.commit_all()?;
        Ok(std::mem::take(&mut self.committed))
    }
}

impl Drop for CompletedFiles {
    fn drop(&mut self) {
        self.waiting.clear();
        let committed = std::mem::take(&mut self.committed);
        if committed.is_empty() {
            return;
        }
        // The statement may be cancelled; its files are removed nevertheless.
        with_cancellation(&CancellationToken::new(), || {
            let removals = committed.iter().map(|it| Ok(self.files.of(it)?.remove(it)));
            let removals: Vec<Result<_>> = removals.collect();
            for removal in removals {
                // The statement fails with an error of its own.
                let _ = removal.and_then(wait);
            }
        });
    }
}
