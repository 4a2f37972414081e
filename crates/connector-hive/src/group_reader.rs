//! Reads row groups of any format that has them: row groups of Parquet files, stripes of ORC files.

use crate::part::PartFile;
use std::task::Waker;
use volley_connector::{ScanMetrics, ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_expression::filter::FilterCounts;
use volley_orc::StripeReader;
use volley_parquet::RowGroupReader;
use volley_types::Type;

/// Where a column of the table is in a file, and the type that it is read as; `None`: the file's.
pub(crate) type Place<'a> = &'a dyn Fn(usize) -> (usize, Option<&'a Type>);

/// Reads row groups of files of one format, one after the other.
pub(crate) enum GroupReader {
    Parquet(RowGroupReader),
    Orc(StripeReader),
}

impl GroupReader {
    /// A reader of row groups of files like `file`; `None` if its format has none.
    pub fn new(file: &PartFile, request: &ScanRequest) -> Result<Option<GroupReader>> {
        Ok(match file {
            PartFile::Parquet(_) => Some(GroupReader::Parquet(RowGroupReader::new(request)?)),
            PartFile::Orc(_) => Some(GroupReader::Orc(StripeReader::new(request)?)),
            PartFile::Csv(_) | PartFile::Json(_) | PartFile::Added(_) => None,
        })
    }

    /// Whether it reads files like `file`.
    pub fn reads(&self, file: &PartFile) -> bool {
        matches!(
            (self, file),
            (GroupReader::Parquet(_), PartFile::Parquet(_))
                | (GroupReader::Orc(_), PartFile::Orc(_))
        )
    }

    /// Begins a row group.
    pub fn start(&mut self, file: &PartFile, group: usize, place: Place) -> Result<()> {
        match (self, file) {
            (GroupReader::Parquet(reader), PartFile::Parquet(file)) => {
                reader.start(file.clone(), group, &|column| place(column).0)
            }
            (GroupReader::Orc(reader), PartFile::Orc(file)) => {
                reader.start(file.clone(), group, place)
            }
            _ => Err(Error::internal("row group of another format")),
        }
    }

    /// Says which row group will most likely be read next.
    pub fn prepare(&self, file: &PartFile, group: usize, place: Place) -> Result<()> {
        match (self, file) {
            (GroupReader::Parquet(reader), PartFile::Parquet(file)) => {
                reader.prepare(file, group, &|column| place(column).0)
            }
            (GroupReader::Orc(reader), PartFile::Orc(file)) => reader.prepare(file, group),
            _ => Ok(()),
        }
    }

    /// Advances by at most one batch.
    pub fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        match self {
            GroupReader::Parquet(reader) => reader.step(waker),
            GroupReader::Orc(reader) => reader.step(waker),
        }
    }

    /// How much of the row group is returned, from 0 to 1.
    pub fn group_share(&self) -> f64 {
        match self {
            GroupReader::Parquet(reader) => reader.group_share(),
            GroupReader::Orc(reader) => reader.stripe_share(),
        }
    }

    /// What each filter did so far.
    pub fn filters(&self) -> Vec<FilterCounts> {
        match self {
            GroupReader::Parquet(reader) => reader.filters(),
            GroupReader::Orc(reader) => reader.filters(),
        }
    }

    /// What was read and skipped so far.
    pub fn metrics(&self) -> ScanMetrics {
        match self {
            GroupReader::Parquet(reader) => reader.metrics(),
            GroupReader::Orc(reader) => reader.metrics(),
        }
    }
}
