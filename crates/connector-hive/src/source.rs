//! Reads splits.

use crate::{
    converted::ConvertedSource,
    part::{Part, PartFile},
    split::FileSplit,
};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_parquet::RowGroupReader;
use volley_types::Schema;

/// Reads splits of any format: row groups that have the columns as the table has them where
/// filters are applied while they are decoded, all else by a [`ConvertedSource`].
pub(crate) struct FileSource {
    schema: Arc<Schema>,
    request: ScanRequest,
    /// The columns that the output and the filters use.
    needed: Vec<usize>,
    parquet: Option<RowGroupReader>,
    converted: Option<ConvertedSource>,
    current: Current,
    /// Row groups that dynamic filters ruled out.
    skipped: u64,
}

enum Current {
    Nothing,
    Parquet,
    Converted,
}

/// The columns that the output and the filters use, ascending.
pub(crate) fn needed_columns(request: &ScanRequest) -> Vec<usize> {
    let mut needed = request.columns.clone();
    for filter in &request.filters {
        filter.for_each_column(&mut |column| needed.push(column));
    }
    needed.extend(request.dynamic_filters.iter().map(|it| it.column));
    needed.sort_unstable();
    needed.dedup();
    needed
}

impl FileSource {
    pub fn new(schema: Arc<Schema>, request: ScanRequest) -> FileSource {
        let needed = needed_columns(&request);
        let (parquet, converted, current) = (None, None, Current::Nothing);
        FileSource { schema, request, needed, parquet, converted, current, skipped: 0 }
    }

    /// The file, when its row groups can be read as they are.
    fn plain<'p>(&self, part: &'p Part) -> Option<&'p volley_parquet::ParquetFile> {
        match &part.file {
            PartFile::Parquet(file) if part.has(&self.needed) => Some(file),
            _ => None,
        }
    }
}

impl Source for FileSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let split = split.data.downcast_ref::<FileSplit>();
        let split = split.ok_or_else(|| Error::internal("split of another connector"))?;
        if !split.may_be_needed(&self.request) {
            self.skipped += 1;
            self.current = Current::Nothing;
            return Ok(());
        }
        let Some(file) = self.plain(&split.part) else {
            self.current = Current::Converted;
            let converted = match &mut self.converted {
                Some(converted) => converted,
                None => {
                    let new = ConvertedSource::new(&self.schema, &self.request, &self.needed)?;
                    self.converted.insert(new)
                }
            };
            return converted.start(split);
        };
        let reader = match &mut self.parquet {
            Some(reader) => reader,
            None => self.parquet.insert(RowGroupReader::new(&self.request)?),
        };
        self.current = Current::Parquet;
        reader.start(file.clone(), split.group, &|column| split.part.place(column))
    }

    fn prepare(&mut self, split: &Split) -> Result<()> {
        let split = split.data.downcast_ref::<FileSplit>();
        let (Some(split), Some(reader)) = (split, &self.parquet) else { return Ok(()) };
        match self.plain(&split.part) {
            Some(file) if split.may_be_needed(&self.request) => {
                reader.prepare(file, split.group, &|column| split.part.place(column))
            }
            _ => Ok(()),
        }
    }

    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let step = match (&self.current, &mut self.parquet, &mut self.converted) {
            (Current::Parquet, Some(reader), _) => reader.step(waker)?,
            (Current::Converted, _, Some(converted)) => converted.step(waker)?,
            _ => SourceStep::NeedSplit,
        };
        if matches!(step, SourceStep::NeedSplit) {
            self.current = Current::Nothing;
        }
        Ok(step)
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.parquet.as_ref().map(RowGroupReader::metrics).unwrap_or_default();
        metrics += self.converted.as_ref().map(ConvertedSource::metrics).unwrap_or_default();
        metrics.groups_skipped += self.skipped;
        metrics
    }
}
