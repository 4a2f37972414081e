//! Reads splits.

use crate::{
    split::FileSplit,
    table::{Part, PartFile},
};
use std::task::Waker;
use volley_connector::{Conjuncts, ScanMetrics, ScanRequest, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_parquet::RowGroupReader;
use volley_text::{TextReader, TextStep};
use volley_vector::Batch;

/// Reads splits of any format.
pub(crate) struct FileSource {
    request: ScanRequest,
    parquet: Option<RowGroupReader>,
    text: Option<TextSource>,
    current: Current,
    /// Row groups that dynamic filters ruled out.
    skipped: u64,
}

enum Current {
    Nothing,
    Parquet,
    Text,
}

impl FileSource {
    pub fn new(request: ScanRequest) -> Result<FileSource> {
        Ok(FileSource { request, parquet: None, text: None, current: Current::Nothing, skipped: 0 })
    }

    fn start_text(&mut self, part: &Part) -> Result<()> {
        let text = match &mut self.text {
            Some(text) => text,
            None => self.text.insert(TextSource::new(&self.request)?),
        };
        text.start(part)
    }
}

impl Source for FileSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let split = split.data.downcast_ref::<FileSplit>();
        let split = split.ok_or_else(|| Error::internal("split of another connector"))?;
        let PartFile::Parquet(file) = &split.part.file else {
            self.current = Current::Text;
            return self.start_text(&split.part);
        };
        if !split.may_be_needed(&self.request) {
            self.skipped += 1;
            self.current = Current::Nothing;
            return Ok(());
        }
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
        match &split.part.file {
            PartFile::Parquet(file) if split.may_be_needed(&self.request) => {
                reader.prepare(file, split.group, &|column| split.part.place(column))
            }
            _ => Ok(()),
        }
    }

    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let step = match (&self.current, &mut self.parquet, &mut self.text) {
            (Current::Parquet, Some(reader), _) => reader.step(waker)?,
            (Current::Text, _, Some(reader)) => reader.step()?,
            _ => SourceStep::NeedSplit,
        };
        if matches!(step, SourceStep::NeedSplit) {
            self.current = Current::Nothing;
        }
        Ok(step)
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.parquet.as_ref().map(RowGroupReader::metrics).unwrap_or_default();
        metrics += self.text.as_ref().map(TextSource::metrics).unwrap_or_default();
        metrics.groups_skipped += self.skipped;
        metrics
    }
}

/// Reads text files: all columns that are needed, then the filters, then the projection.
struct TextSource {
    request: ScanRequest,
    conjuncts: Option<Conjuncts>,
    /// Columns to read, by position in the table, ascending.
    needed: Vec<usize>,
    reader: Option<TextReader>,
    metrics: ScanMetrics,
}

impl TextSource {
    fn new(request: &ScanRequest) -> Result<TextSource> {
        let conjuncts = Conjuncts::new(request)?;
        let mut needed = request.columns.clone();
        needed.extend(conjuncts.iter().flat_map(|it| it.columns()));
        needed.sort_unstable();
        needed.dedup();
        let metrics = ScanMetrics::default();
        Ok(TextSource { request: request.clone(), conjuncts, needed, reader: None, metrics })
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }

    fn start(&mut self, part: &Part) -> Result<()> {
        let place = |column: &usize| part.places.get(*column).copied();
        let places: Option<Vec<usize>> = self.needed.iter().map(place).collect();
        let places = places.ok_or_else(|| Error::internal("no such column"))?;
        let (rows, pool) = (self.request.batch_rows.max(1), &self.request.pool);
        self.reader = Some(match &part.file {
            PartFile::Csv(file) => file.read(&places, rows, pool)?,
            PartFile::Json(file) => file.read(&places, rows, pool)?,
            PartFile::Parquet(_) => return Err(Error::internal("Parquet is no text")),
        });
        self.metrics.groups_read += 1;
        Ok(())
    }

    fn step(&mut self) -> Result<SourceStep> {
        let Some(reader) = &mut self.reader else { return Ok(SourceStep::NeedSplit) };
        let step = reader.step()?;
        self.metrics.bytes_read += reader.take_bytes_read();
        let batch = match step {
            TextStep::Batch(batch) => batch,
            TextStep::Progress => return Ok(SourceStep::Progress),
            TextStep::End => {
                self.reader = None;
                return Ok(SourceStep::NeedSplit);
            }
        };
        self.metrics.rows_read += batch.rows() as u64;
        let batch = self.filter(batch)?;
        Ok(if batch.rows() == 0 { SourceStep::Progress } else { SourceStep::Batch(batch) })
    }

    fn filter(&mut self, batch: Batch) -> Result<Batch> {
        let places = |columns: &[usize]| -> Vec<usize> {
            columns.iter().filter_map(|it| self.needed.binary_search(it).ok()).collect()
        };
        let output = batch.project(&places(&self.request.columns));
        let Some(used) = self.conjuncts.as_ref().map(|it| places(it.columns())) else {
            return Ok(output);
        };
        let Some(conjuncts) = &mut self.conjuncts else { return Ok(output) };
        let rows = conjuncts.select(batch.project(&used))?.rows;
        Ok(output.select(&rows))
    }
}
