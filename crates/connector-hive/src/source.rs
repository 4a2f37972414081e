//! Reads splits.

use crate::{
    converted::ConvertedSource,
    group_reader::GroupReader,
    part::{Part, PartFile},
    split::ScanFiles,
};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_expression::filter::FilterCounts;
use volley_types::{Schema, Type};

/// Reads splits of any format: row groups that have the columns as the table has them where
/// filters are applied while they are decoded, all else by a [`ConvertedSource`].
pub(crate) struct FileSource {
    schema: Arc<Schema>,
    files: Arc<ScanFiles>,
    request: ScanRequest,
    /// The columns that the output and the filters use.
    needed: Vec<usize>,
    /// One per format.
    groups: Vec<GroupReader>,
    converted: Option<ConvertedSource>,
    current: Current,
    /// Row groups that dynamic filters ruled out.
    skipped: u64,
}

enum Current {
    Nothing,
    /// One of the readers of row groups.
    Group(usize),
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
    pub fn new(schema: Arc<Schema>, files: Arc<ScanFiles>, request: ScanRequest) -> FileSource {
        let needed = needed_columns(&request);
        let (groups, converted, current) = (Vec::new(), None, Current::Nothing);
        FileSource { schema, files, request, needed, groups, converted, current, skipped: 0 }
    }

    /// Whether the file has row groups that can be read as they are.
    fn is_plain(&self, part: &Part) -> bool {
        part.file.has_row_groups() && part.has(&self.needed)
    }

    /// The position of the reader of row groups of files like `file`, if there is one.
    fn reader_of(&self, file: &PartFile) -> Option<usize> {
        self.groups.iter().position(|it| it.reads(file))
    }
}

/// Where a column is in a file of a table with `schema`, and the type that it is read as.
fn place_of<'s>(part: &Part, schema: &'s Schema, column: usize) -> (usize, Option<&'s Type>) {
    (part.place(column), schema.fields.get(column).map(|it| &it.data_type))
}

impl Source for FileSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let split = self.files.start(&split, &self.request)?;
        if !split.may_be_needed(&self.request) {
            self.skipped += 1;
            self.current = Current::Nothing;
            return Ok(());
        }
        if !self.is_plain(&split.part) {
            self.current = Current::Converted;
            let converted = match &mut self.converted {
                Some(converted) => converted,
                None => {
                    let new = ConvertedSource::new(&self.schema, &self.request, &self.needed)?;
                    self.converted.insert(new)
                }
            };
            return converted.start(&split);
        }
        let file = &split.part.file;
        let place = match self.reader_of(file) {
            Some(place) => place,
            None => {
                self.groups.extend(GroupReader::new(file, &self.request)?);
                self.groups.len().saturating_sub(1)
            }
        };
        self.current = Current::Group(place);
        let reader = self.groups.get_mut(place);
        let reader = reader.ok_or_else(|| Error::internal("row group without a reader"))?;
        reader.start(file, split.group, &|column| place_of(&split.part, &self.schema, column))
    }

    fn prepare(&mut self, split: &Split) -> Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let split = self.files.file_split(split, &self.request.registry)?;
        let reader = self.reader_of(&split.part.file).and_then(|it| self.groups.get(it));
        match reader {
            Some(reader) if self.is_plain(&split.part) && split.may_be_needed(&self.request) => {
                let place = |column: usize| place_of(&split.part, &self.schema, column);
                reader.prepare(&split.part.file, split.group, &place)
            }
            _ => Ok(()),
        }
    }

    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let step = match (&self.current, &mut self.converted) {
            (Current::Group(place), _) => match self.groups.get_mut(*place) {
                Some(reader) => reader.step(waker)?,
                None => SourceStep::NeedSplit,
            },
            (Current::Converted, Some(converted)) => converted.step(waker)?,
            _ => SourceStep::NeedSplit,
        };
        if matches!(step, SourceStep::NeedSplit) {
            self.current = Current::Nothing;
        }
        Ok(step)
    }

    fn chunk(&self) -> u32 {
        match self.current {
            Current::Converted => self.converted.as_ref().map_or(0, ConvertedSource::chunk),
            _ => 0,
        }
    }

    fn split_share(&self) -> f64 {
        match self.current {
            Current::Nothing => 0.0,
            Current::Group(place) => self.groups.get(place).map_or(0.0, GroupReader::group_share),
            Current::Converted => self.converted.as_ref().map_or(0.0, ConvertedSource::split_share),
        }
    }

    fn filters(&self) -> Vec<FilterCounts> {
        let of_groups = self.groups.iter().flat_map(GroupReader::filters);
        of_groups.chain(self.converted.iter().flat_map(ConvertedSource::filters)).collect()
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = ScanMetrics::default();
        self.groups.iter().for_each(|it| metrics += it.metrics());
        metrics += self.converted.as_ref().map(ConvertedSource::metrics).unwrap_or_default();
        metrics.groups_skipped += self.skipped;
        metrics
    }
}
