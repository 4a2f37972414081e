//! Splits: row groups of Parquet files and stripes of ORC files that the filters do not rule out,
//! and text files, of which several drivers may read one.
//!
//! ```text
//! path, version of the file, row group or stripe (u64; all bits set for a text file)
//! ```
//!
//! Footers are read once, when the table is opened; the sources of a scan find files by path. The
//! version tells a file from one that was written to the same path later.

use crate::{
    declared::FileRange,
    part::{Part, PartColumn},
    source::{FileSource, needed_columns},
};
use std::{
    cmp::{Ordering, Reverse},
    collections::HashMap,
    iter,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::Waker,
};
use volley_connector::{
    ListedSplits, Scan, ScanMetrics, ScanRequest, Source, Split, SplitReader, SplitSource,
    SplitStep, SplitWriter, compare_values, may_join, may_match,
};
use volley_error::{Error, Result};
use volley_expression::filter::BoundOrder;
use volley_function::Registry;
use volley_text::FileChunks;
use volley_types::{Schema, Value};

/// The number of this connector in the bytes of splits.
const CONNECTOR: u8 = 16;

/// A scan of a table's files.
pub(crate) struct FileScan {
    schema: Arc<Schema>,
    request: ScanRequest,
    range: FileRange,
    files: Arc<ScanFiles>,
}

/// What the sources of a scan share.
pub(crate) struct ScanFiles {
    /// The files with what their footers say.
    parts: Arc<[Part]>,
    /// The places of `parts` by path; made when the first split is read.
    by_path: OnceLock<HashMap<String, usize>>,
    /// Text files that several drivers read, by their splits.
    shared: Mutex<HashMap<Arc<[u8]>, SharedFile>>,
    /// What listing the splits left out.
    pruned: Mutex<ScanMetrics>,
}

/// A text file that several drivers read.
struct SharedFile {
    chunks: Arc<FileChunks>,
    /// How many drivers will still take its split.
    starts_left: u32,
}

/// What a split reads.
pub(crate) struct FileSplit {
    pub part: Part,
    /// The row group or stripe.
    pub group: usize,
    /// Of a CSV file that several drivers read: each takes what the others do not.
    pub chunks: Option<Arc<FileChunks>>,
}

/// Drivers that read one text file, at most.
const READERS_MAX: u64 = 64;

/// The row group of a text file, which is read as a whole.
const WHOLE_FILE: u64 = u64::MAX;

impl FileSplit {
    /// Whether some row of it may pass the dynamic filters, as they are now.
    pub fn may_be_needed(&self, request: &ScanRequest) -> bool {
        request.dynamic_filters.iter().all(|it| {
            let (rows, bounds) =
                (self.part.rows(self.group), self.part.bounds(self.group, it.column));
            let condition = it.filter.bound().map(|bound| bound.condition(it.column));
            it.filter.get().is_none_or(|filter| may_join(filter, rows, &bounds))
                && condition.is_none_or(|it| may_match(&it, rows, &|_| bounds.clone()))
        })
    }
}

impl ScanFiles {
    fn new(parts: Arc<[Part]>) -> ScanFiles {
        let (by_path, shared) = (OnceLock::new(), Mutex::default());
        ScanFiles { parts, by_path, shared, pruned: Mutex::default() }
    }

    /// What a split reads, for a driver that starts it. A text file is shared by as many drivers as
    /// its split says.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes than those of a split of this scan's files. Invalid query: a file
    /// that the table does not have, or that has changed.
    pub fn start(&self, split: &Split, request: &ScanRequest) -> Result<FileSplit> {
        let mut file = self.file_split(split, &request.registry)?;
        if split.readers_max > 1 {
            let mut shared = lock(&self.shared);
            let starts_left = match shared.get_mut(&split.bytes) {
                Some(known) => {
                    file.chunks = Some(Arc::clone(&known.chunks));
                    known.starts_left = known.starts_left.saturating_sub(1);
                    known.starts_left
                }
                None => {
                    let Some(chunks) = file.part.file.chunks(&request.pool).map(Arc::new) else {
                        let message = "a split for several readers of a file that has one";
                        return Err(Error::corruption(message));
                    };
                    file.chunks = Some(Arc::clone(&chunks));
                    let starts_left = split.readers_max - 1;
                    shared.insert(Arc::clone(&split.bytes), SharedFile { chunks, starts_left });
                    starts_left
                }
            };
            if starts_left == 0 {
                shared.remove(&split.bytes);
            }
        }
        Ok(file)
    }

    /// What the bytes of a split say.
    pub fn file_split(&self, split: &Split, registry: &Registry) -> Result<FileSplit> {
        let mut reader = SplitReader::new(split, CONNECTOR, registry)?;
        let (path, version, group) = (reader.text()?, reader.text()?, reader.number()?);
        reader.finish()?;
        let part = self.part(path)?;
        if part.file.version() != version {
            let error =
                Error::invalid_query(format!("file was changed since it was listed: {path}"));
            return Err(error.hint("run the query again"));
        }
        let group = match part.file.groups() {
            Some(groups) => {
                let found = usize::try_from(group).ok().filter(|it| *it < groups);
                let missing = || format!("no {} {group} in {path}", part.file.group_name());
                found.ok_or_else(|| Error::corruption(missing()))?
            }
            None if group == WHOLE_FILE => 0,
            None => return Err(Error::corruption(format!("a row group of a text file: {path}"))),
        };
        Ok(FileSplit { part: part.clone(), group, chunks: None })
    }

    fn part(&self, path: &str) -> Result<&Part> {
        let by_path = self.by_path.get_or_init(|| {
            let parts = self.parts.iter().enumerate();
            parts.map(|(place, it)| (it.file.path().to_owned(), place)).collect()
        });
        let part = by_path.get(path).and_then(|it| self.parts.get(*it));
        part.ok_or_else(|| Error::invalid_query(format!("the table has no such file: {path}")))
    }
}

impl FileScan {
    /// Of the row groups that begin in `range`.
    pub fn new(
        parts: Arc<[Part]>,
        schema: Arc<Schema>,
        range: FileRange,
        request: ScanRequest,
    ) -> FileScan {
        FileScan { schema, request, range, files: Arc::new(ScanFiles::new(parts)) }
    }

    fn listing(&self) -> FileSplits {
        FileSplits {
            files: Arc::clone(&self.files),
            request: self.request.clone(),
            range: self.range,
            part: 0,
            group: 0,
        }
    }
}

/// Lists splits in the order of the files.
struct FileSplits {
    files: Arc<ScanFiles>,
    request: ScanRequest,
    range: FileRange,
    /// The file and the row group or stripe that come next.
    part: usize,
    group: usize,
}

impl FileSplits {
    /// The next split that filters do not rule out.
    fn next_split(&mut self) -> Option<Split> {
        let parts = Arc::clone(&self.files.parts);
        while let Some(part) = parts.get(self.part) {
            let group = self.group;
            if group >= part.file.groups().unwrap_or(1) {
                (self.part, self.group) = (self.part + 1, 0);
                continue;
            }
            self.group += 1;
            if part.rows(group) == 0 || !self.range.contains(part.file.group_start(group)) {
                continue;
            }
            if !self.may_match(part, group) {
                lock(&self.files.pruned).groups_skipped += 1;
                continue;
            }
            return Some(self.split(part, group));
        }
        None
    }

    fn may_match(&self, part: &Part, group: usize) -> bool {
        let bounds = |column: usize| part.bounds(group, column);
        self.request.filters.iter().all(|it| may_match(it, part.rows(group), &bounds))
    }

    fn split(&self, part: &Part, group: usize) -> Split {
        let path = part.file.path();
        let writer = SplitWriter::new(CONNECTOR).text(path).text(&part.file.version());
        if part.file.groups().is_none() {
            let bytes = writer.number(WHOLE_FILE).finish();
            let (size_bytes, readers_max) = (part.file.size_bytes(), self.readers_max(part));
            return Split { size_bytes, readers_max, ..Split::new(bytes, path) };
        }
        let label = format!("{path}, {} {group}", part.file.group_name());
        Split {
            size_bytes: part.bytes(group, &needed_columns(&self.request)),
            ..Split::new(writer.number(group as u64).finish(), label)
        }
    }

    /// How many drivers can read a text file together: one if rows are numbered.
    fn readers_max(&self, part: &Part) -> u32 {
        let mut needed = needed_columns(&self.request).into_iter();
        let is_ordered = needed.any(|it| part.columns.get(it) == Some(&PartColumn::RowNumber));
        let chunks_max = part.file.chunks_max();
        if is_ordered || chunks_max <= 1 || part.file.chunks(&self.request.pool).is_none() {
            return 1;
        }
        u32::try_from(chunks_max.min(READERS_MAX)).unwrap_or(1)
    }
}

impl SplitSource for FileSplits {
    fn next(&mut self, max: usize, _waker: &Waker) -> Result<SplitStep> {
        let splits: Vec<Split> = iter::from_fn(|| self.next_split()).take(max.max(1)).collect();
        Ok(if splits.is_empty() { SplitStep::End } else { SplitStep::Splits(splits) })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes first of a split in the order of one of its columns, as far as statistics tell.
#[derive(Default)]
struct First {
    /// If they come first.
    nulls: u64,
    /// The least value, or the greatest one.
    value: Option<Value>,
}

impl First {
    fn of_split(split: &FileSplit, column: usize, order: BoundOrder) -> First {
        let bounds = split.part.noted_bounds(split.group, column);
        First {
            nulls: bounds.nulls.filter(|_| order.nulls_first).unwrap_or_default(),
            value: if order.descending { bounds.max } else { bounds.min },
        }
    }

    /// Less is better. What nothing is known of comes last: it cannot be ruled out by statistics,
    /// but fewer of its rows are kept the later it is read.
    fn compare(&self, other: &First, order: BoundOrder) -> Ordering {
        let values = match (&self.value, &other.value) {
            (Some(a), Some(b)) => {
                let values = compare_values(a, b).unwrap_or(Ordering::Equal);
                if order.descending { values.reverse() } else { values }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        Reverse(self.nulls).cmp(&Reverse(other.nulls)).then(values)
    }
}

impl Scan for FileScan {
    /// The splits in the order of the files, or with a bound to come, in the order that it is of:
    /// then it is tight after the first ones, and rules out the others.
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let mut listing = self.listing();
        let ordered = self.request.dynamic_filters.iter();
        let ordered = ordered.filter_map(|it| Some((it.column, it.filter.order()?))).next();
        let Some((column, order)) = ordered else { return Ok(Box::new(listing)) };
        let mut splits = Vec::new();
        while let Some(split) = listing.next_split() {
            let file = self.files.file_split(&split, &self.request.registry)?;
            splits.push((First::of_split(&file, column, order), split));
        }
        splits.sort_by(|(a, _), (b, _)| a.compare(b, order));
        Ok(ListedSplits::boxed(splits.into_iter().map(|(_, it)| it).collect()))
    }

    fn pruned(&self) -> ScanMetrics {
        *lock(&self.files.pruned)
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let files = Arc::clone(&self.files);
        Ok(Box::new(FileSource::new(Arc::clone(&self.schema), files, self.request.clone())))
    }
}
