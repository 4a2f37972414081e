//! Writes rows to a folder of files, by the values of columns or by size.
//!
//! ```text
//! batch ── rows per folder ──> buffered rows ── FLUSH_ROWS, or memory ──> open file
//! open file ── its size, or more than OPEN_MAX open files ──> complete file
//! end: complete files are committed, then old files are removed (OVERWRITE)
//! ```
//!
//! Memory stays bounded with any number of folders: few files are open, and when the rows of all
//! folders take too much, all are written. A folder whose file was closed for others gets one more
//! file for the rows that follow.

use crate::{
    completed_files::CompletedFiles,
    folder_options::{ExistingFiles, FolderOptions},
    format_writer::FormatWriter,
    partition_rows::{FolderRows, PartitionColumns, StoredColumns},
    sink::FileToWrite,
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use volley_connector::{RowSink, TableWriter};
use volley_error::{Error, Result};
use volley_io::{WriteMode, wait};
use volley_types::Schema;
use volley_vector::Batch;

/// Files that are written at the same time, at most.
const OPEN_MAX: usize = 100;

/// Rows of a folder that are worth a write.
const FLUSH_ROWS: usize = 2048;

/// What a folder takes in memory apart from its rows, about.
const FOLDER_BYTES: usize = 256;

/// A folder of files that is not looked at yet.
pub(crate) struct FolderToWrite {
    shared: Arc<FolderShared>,
}

/// What is to be written where.
struct FolderShared {
    /// Its path is that of the folder, without a slash at the end.
    file: FileToWrite,
    options: FolderOptions,
    columns: PartitionColumns,
    /// The columns of the files.
    file_schema: Schema,
}

impl FolderToWrite {
    /// # Errors
    ///
    /// Invalid query: columns that do not fit.
    pub fn new(mut file: FileToWrite, options: FolderOptions) -> Result<FolderToWrite> {
        let stored = match options.writes_partition_columns {
            true => StoredColumns::All,
            false => StoredColumns::Others,
        };
        let columns = PartitionColumns::new(&options.partition_by, &file.columns, stored)?;
        let file_schema = columns.file_schema(&file.columns);
        file.path.truncate(file.path.trim_end_matches('/').len());
        let shared = FolderShared { file, options, columns, file_schema };
        Ok(FolderToWrite { shared: Arc::new(shared) })
    }
}

impl TableWriter for FolderToWrite {
    fn open(&self) -> Result<Box<dyn RowSink>> {
        Ok(Box::new(FolderSink::open(Arc::clone(&self.shared))?))
    }
}

struct FolderSink {
    shared: Arc<FolderShared>,
    /// Locations of files that were in the folder before.
    existing: HashSet<String>,
    /// By the part of their location below the folder.
    folders: HashMap<Arc<str>, Folder>,
    /// What `folders` have in memory.
    buffered_bytes: usize,
    open: HashMap<Arc<str>, OpenFile>,
    /// Counts writes to files.
    writes: u64,
    /// Taken when finished.
    completed: Option<CompletedFiles>,
}

/// A folder that rows go to.
#[derive(Default)]
struct Folder {
    batches: Vec<Batch>,
    rows: usize,
    /// The number of its next file.
    next_file: u64,
}

struct OpenFile {
    writer: FormatWriter,
    /// The number of the last write to it.
    last_write: u64,
}

impl FolderSink {
    fn open(shared: Arc<FolderShared>) -> Result<FolderSink> {
        let (files, path) = (&shared.file.files, &shared.file.path);
        let file_system = files.of(path)?;
        let existing: HashSet<String> = files.list_tree(path)?.into_iter().collect();
        if shared.options.existing == ExistingFiles::Refuse && !existing.is_empty() {
            let error = Error::invalid_query(format!("the folder is not empty: {path}"));
            return Err(error.hint(
                "OVERWRITE removes its files, APPEND keeps them, OVERWRITE_OR_IGNORE replaces \
                 those of equal names",
            ));
        }
        wait(file_system.create_folder(path))?;
        let part_bytes = file_system.capabilities().transfer.part_bytes;
        let part_bytes = if file_system.capabilities().has_folders { 0 } else { part_bytes };
        let completed = Some(CompletedFiles::new(files.clone(), part_bytes));
        let (folders, open) = (HashMap::new(), HashMap::new());
        Ok(FolderSink { shared, existing, folders, buffered_bytes: 0, open, writes: 0, completed })
    }

    fn add(&mut self, rows: FolderRows) -> Result<()> {
        let FolderRows { folder: name, batch } = rows;
        let is_new = !self.folders.contains_key(&name);
        let folder = self.folders.entry(Arc::clone(&name)).or_default();
        folder.rows += batch.rows();
        self.buffered_bytes += batch.retained_bytes() + if is_new { FOLDER_BYTES } else { 0 };
        folder.batches.push(batch);
        let has_room = self.open.len() < OPEN_MAX || self.open.contains_key(&name);
        if self.shared.columns.is_empty() || folder.rows >= FLUSH_ROWS && has_room {
            self.flush(&name)?;
        }
        Ok(())
    }

    /// Writes the rows of a folder to its file, which is opened if there is none.
    fn flush(&mut self, name: &Arc<str>) -> Result<()> {
        let Some(folder) = self.folders.get_mut(name) else { return Ok(()) };
        folder.rows = 0;
        for batch in std::mem::take(&mut folder.batches) {
            self.buffered_bytes = self.buffered_bytes.saturating_sub(batch.retained_bytes());
            self.write_batch(name, &batch)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, name: &Arc<str>, batch: &Batch) -> Result<()> {
        if !self.open.contains_key(name) {
            self.make_room()?;
            let writer = self.open_file(name)?;
            self.open.insert(Arc::clone(name), OpenFile { writer, last_write: 0 });
        }
        self.writes += 1;
        let Some(file) = self.open.get_mut(name) else { return Ok(()) };
        file.last_write = self.writes;
        let limit = self.shared.options.file_bytes;
        let written = write_and_measure(&mut file.writer, batch, limit);
        let is_full = written.map_err(|it| it.at("folder", &self.shared.file.path))?;
        if is_full { self.complete(name) } else { Ok(()) }
    }

    /// Completes the file that was not written to for longest, if as many are open as may be.
    fn make_room(&mut self) -> Result<()> {
        if self.open.len() < OPEN_MAX {
            return Ok(());
        }
        let oldest = self.open.iter().min_by_key(|it| it.1.last_write);
        match oldest.map(|it| Arc::clone(it.0)) {
            Some(oldest) => self.complete(&oldest),
            None => Ok(()),
        }
    }

    fn open_file(&mut self, name: &Arc<str>) -> Result<FormatWriter> {
        let FolderShared { file, options, file_schema, .. } = &*self.shared;
        let below = if name.is_empty() { String::new() } else { format!("/{name}") };
        let path = format!("{}{below}", file.path);
        let file_system = file.files.of(&path)?;
        let folder = self.folders.entry(Arc::clone(name)).or_default();
        if folder.next_file == 0 {
            wait(file_system.create_folder(&path))?;
        }
        let location = loop {
            let location = format!("{path}/{}", options.file_name(folder.next_file, file.format));
            folder.next_file += 1;
            // Files that were there stay as they are until the statement is through.
            let keeps = options.existing != ExistingFiles::Replace;
            if !keeps || !self.existing.contains(&location) {
                break location;
            }
        };
        let mode = match options.existing {
            ExistingFiles::Keep if file_system.capabilities().can_create_new => {
                WriteMode::CreateNew
            }
            _ => WriteMode::Replace,
        };
        let writer = wait(file.files.of(&location)?.create(&location, mode))?;
        file.begin(writer, file_schema).map_err(|it| it.at("file", &location))
    }

    /// Ends the open file of a folder.
    fn complete(&mut self, name: &Arc<str>) -> Result<()> {
        let Some(OpenFile { writer, .. }) = self.open.remove(name) else { return Ok(()) };
        let bytes = writer.written_bytes();
        let file = writer.finish().map_err(|it| it.at("folder", &self.shared.file.path))?;
        match &mut self.completed {
            Some(completed) => completed.add(file, bytes),
            None => Err(Error::internal("write after the end")),
        }
    }

    /// Writes the rows of all folders, those with open files first.
    fn flush_all(&mut self) -> Result<()> {
        let mut names: Vec<(bool, Arc<str>)> =
            self.folders.keys().cloned().map(|it| (!self.open.contains_key(&it), it)).collect();
        names.sort_unstable();
        names.iter().try_for_each(|(_, name)| self.flush(name))
    }
}

/// Writes a batch; whether the file has `limit` bytes now.
fn write_and_measure(writer: &mut FormatWriter, batch: &Batch, limit: Option<u64>) -> Result<bool> {
    writer.write(batch)?;
    let Some(limit) = limit else { return Ok(false) };
    let held = writer.held_bytes() as u64;
    // How much smaller the rows become which are held is not known: they are written when they
    // are a fourth of a file, so that a file is not much larger than the limit.
    if writer.written_bytes().saturating_add(held) >= limit && held >= limit / 4 {
        writer.end_group()?;
    }
    Ok(writer.written_bytes() >= limit)
}

impl RowSink for FolderSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        shared.columns.split(batch)?.into_iter().try_for_each(|it| self.add(it))
    }

    fn finish(&mut self) -> Result<()> {
        self.flush_all()?;
        if self.shared.columns.is_empty() && self.writes == 0 {
            // A file without rows has the columns.
            let name: Arc<str> = Arc::from("");
            let writer = self.open_file(&name)?;
            self.open.insert(name, OpenFile { writer, last_write: 0 });
        }
        let mut open: Vec<Arc<str>> = self.open.keys().cloned().collect();
        open.sort_unstable();
        open.iter().try_for_each(|it| self.complete(it))?;
        let completed = self.completed.take();
        let completed = completed.ok_or_else(|| Error::internal("finished twice"))?;
        let new: HashSet<String> = completed.finish()?.into_iter().collect();
        if self.shared.options.existing == ExistingFiles::Remove {
            let files = &self.shared.file.files;
            let old = self.existing.iter().filter(|it| !new.contains(*it));
            let removals = old.map(|it| Ok(files.of(it)?.remove(it)));
            let removals: Vec<Result<_>> = removals.collect();
            for removal in removals {
                removal
                    .and_then(wait)
                    .map_err(|it| it.at("old file of", &self.shared.file.path))?;
            }
        }
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        let open: usize = self.open.values().map(|it| it.writer.held_bytes()).sum();
        let waiting = self.completed.as_ref().map_or(0, CompletedFiles::held_bytes);
        self.buffered_bytes + open + waiting
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        // Rows are copied to those of their folders, and written then.
        flat_bytes.saturating_add(self.shared.file.write_bytes()(flat_bytes))
    }

    fn reclaim(&mut self) -> Result<()> {
        self.flush_all()?;
        let path = &self.shared.file.path;
        for file in self.open.values_mut() {
            file.writer.end_group().map_err(|it| it.at("folder", path))?;
        }
        self.completed.as_mut().map_or(Ok(()), CompletedFiles::commit_all)
    }
}
