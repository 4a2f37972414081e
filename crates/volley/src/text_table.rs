//! The text of a CSV file as a table, which is read as it is scanned.

use std::{sync::Arc, task::Waker};
use volley_connector::{
    Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitSource, SplitStep, Table,
    TableStatistics,
};
use volley_error::Result;
use volley_expression::filter::Conjuncts;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_plan::TableHandle;
use volley_text::{CsvReadOptions, CsvRows};
use volley_types::Schema;

/// Rows of text that are read at once.
const READ_ROWS: usize = 1 << 14;

/// The number of each row's line, and its fields.
#[derive(Clone)]
pub(crate) struct TextTable {
    pub(crate) handle: TableHandle,
    /// A BIGINT, and VARCHAR for each field.
    pub(crate) schema: Schema,
    pub(crate) files: FileSystems,
    pub(crate) path: String,
    pub(crate) options: CsvReadOptions,
    /// What the text that is read is charged to.
    pub(crate) pool: Pool,
}

impl std::fmt::Debug for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TextTable").field(&self.path).finish()
    }
}

impl Table for TextTable {
    fn handle(&self) -> TableHandle {
        self.handle.clone()
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(TextScan { table: self.clone(), request }))
    }
}

struct TextScan {
    table: TextTable,
    request: ScanRequest,
}

impl Scan for TextScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        Ok(Box::new(OneSplit { path: self.table.path.clone(), is_listed: false }))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(TextSource {
            table: self.table.clone(),
            columns: self.request.columns.clone(),
            batch_rows: self.request.batch_rows.clamp(1, READ_ROWS),
            conjuncts: self.request.conjuncts()?,
            rows: None,
            metrics: ScanMetrics::default(),
        }))
    }
}

/// The whole file. It is read in this process alone.
struct OneSplit {
    path: String,
    is_listed: bool,
}

impl SplitSource for OneSplit {
    fn next(&mut self, _max: usize, _waker: &Waker) -> Result<SplitStep> {
        if self.is_listed {
            return Ok(SplitStep::End);
        }
        self.is_listed = true;
        Ok(SplitStep::Splits(vec![Split::new(Vec::new(), self.path.clone())]))
    }
}

struct TextSource {
    table: TextTable,
    columns: Vec<usize>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    /// The file, once it is open.
    rows: Option<CsvRows>,
    metrics: ScanMetrics,
}

impl Source for TextSource {
    fn start(&mut self, _split: Split) -> Result<()> {
        let TextTable { files, path, schema, options, pool, .. } = &self.table;
        let rows = CsvRows::open(files.open(path)?, schema.len() - 1, options.clone(), pool)?;
        self.rows = Some(rows);
        self.metrics.groups_read += 1;
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(rows) = &mut self.rows else { return Ok(SourceStep::NeedSplit) };
        let Some(batch) = rows.next(self.batch_rows)? else {
            self.rows = None;
            return Ok(SourceStep::NeedSplit);
        };
        self.metrics.rows_read += batch.rows() as u64;
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(batch.project(&self.columns)));
        };
        let selected = conjuncts.select_rows(batch.project(conjuncts.columns()))?;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(batch.project(&self.columns).select(&selected)))
    }

    fn split_share(&self) -> f64 {
        self.rows.as_ref().map_or(0.0, CsvRows::file_share)
    }

    fn metrics(&self) -> ScanMetrics {
        self.metrics
    }
}
