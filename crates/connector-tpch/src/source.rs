//! Scans: generated rows.

use crate::{TpchSplit, TpchTable};
use std::{sync::Arc, task::Waker};
use volley_connector::{
    ListedSplits, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitSource, Table,
};
use volley_error::Result;
use volley_expression::filter::{Conjuncts, FilterCounts};
use volley_tpch::{RowRange, TableBatches, table_batches};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector, arrow::from_arrow};

/// Rows of a generated batch; a step of a source generates one.
const BATCH_ROWS_MAX: usize = 8192;

/// Amounts are decimals with two digits after the point.
const AMOUNT_UNIT: f64 = 100.0;

/// A scan of a table.
pub(crate) struct TpchScan {
    table: TpchTable,
    request: ScanRequest,
}

impl TpchScan {
    pub(crate) fn new(table: TpchTable, request: ScanRequest) -> TpchScan {
        TpchScan { table, request }
    }
}

impl Scan for TpchScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let (table, parts) = (&self.table, self.table.parts());
        let split =
            |part| TpchSplit { table: table.name().to_owned(), scale: table.scale(), part, parts };
        Ok(ListedSplits::boxed((0..parts).map(|it| split(it).to_split()).collect()))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let conjuncts = self.request.conjuncts()?;
        // Filters see the columns that they read; the others come once rows are selected.
        let mut columns: Vec<usize> = conjuncts
            .iter()
            .flat_map(|it| it.columns())
            .chain(&self.request.columns)
            .copied()
            .collect();
        columns.sort_unstable();
        columns.dedup();
        Ok(Box::new(TpchSource {
            table: self.table.clone(),
            request: self.request.clone(),
            columns,
            conjuncts,
            rows: None,
            generated: (0, 0.0),
            pending: None,
            metrics: ScanMetrics::default(),
        }))
    }
}

struct TpchSource {
    table: TpchTable,
    request: ScanRequest,
    /// The columns that are used, ascending.
    columns: Vec<usize>,
    conjuncts: Option<Conjuncts>,
    rows: Option<TableBatches>,
    /// Rows of the split that were generated, and about all of them.
    generated: (u64, f64),
    /// Generated rows that were not returned: a generator may exceed the rows of a batch.
    pending: Option<Batch>,
    metrics: ScanMetrics,
}

impl TpchSource {
    /// The next rows of the split, at most as the request has in a batch.
    fn next_batch(&mut self) -> Result<Option<Batch>> {
        let batch = match self.pending.take() {
            Some(batch) => batch,
            None => match self.generate()? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let rows = self.request.batch_rows.max(1);
        if batch.rows() <= rows {
            return Ok(Some(batch));
        }
        self.pending = Some(batch.slice(rows, batch.rows() - rows));
        Ok(Some(batch.slice(0, rows)))
    }

    fn generate(&mut self) -> Result<Option<Batch>> {
        let generated = match self.rows.as_mut().and_then(Iterator::next) {
            Some(generated) => generated?,
            None => {
                self.rows = None;
                return Ok(None);
            }
        };
        self.metrics.rows_read += generated.num_rows() as u64;
        self.generated.0 += generated.num_rows() as u64;
        let column = |it: &usize| converted(generated.column(*it), self.table.schema(), *it);
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(Some(Batch::new(columns, generated.num_rows())))
    }

    /// Columns `wanted` of the table from a batch of the columns that are used.
    fn project(&self, batch: &Batch, wanted: &[usize]) -> Batch {
        let position = |it: &usize| self.columns.binary_search(it).unwrap_or(0);
        batch.project(&wanted.iter().map(position).collect::<Vec<_>>())
    }
}

impl Source for TpchSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let registry = Arc::clone(&self.request.registry);
        let split = TpchSplit::of_split(&split, self.table.name(), self.table.scale(), &registry)?;
        let range = RowRange { part: split.part + 1, parts: split.parts };
        let batch_rows = self.request.batch_rows.clamp(1, BATCH_ROWS_MAX);
        self.rows = Some(table_batches(self.table.name(), split.scale, range, batch_rows)?);
        let mut tables = volley_tpch::TABLES.iter().filter(|it| it.0 == self.table.name());
        let rows = tables.next().map_or(0.0, |it| it.1 as f64 * split.scale);
        self.generated = (0, rows / f64::from(split.parts.max(1)));
        self.metrics.groups_read += 1;
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(batch) = self.next_batch()? else { return Ok(SourceStep::NeedSplit) };
        if batch.rows() == 0 {
            return Ok(SourceStep::Progress);
        }
        let Some(mut conjuncts) = self.conjuncts.take() else {
            return Ok(SourceStep::Batch(self.project(&batch, &self.request.columns)));
        };
        let selected = conjuncts.select(self.project(&batch, conjuncts.columns()));
        self.conjuncts = Some(conjuncts);
        let rows = selected?.rows;
        if rows.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(self.project(&batch, &self.request.columns).select(&rows)))
    }

    fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
    }

    fn split_share(&self) -> f64 {
        match &self.rows {
            Some(_) => (self.generated.0 as f64 / self.generated.1.max(1.0)).min(1.0),
            None => 0.0,
        }
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }
}

/// A generated column as one of the table's type: amounts are generated as decimals.
fn converted(array: &volley_tpch::Column, schema: &Schema, column: usize) -> Result<Vector> {
    let vector = from_arrow(array)?;
    let is_amount = schema.fields.get(column).is_some_and(|it| it.data_type == Type::Double);
    match (is_amount, vector.flat_values().and_then(|it| it.native::<i64>())) {
        (true, Some(cents)) => {
            let amounts: Vec<f64> = cents.iter().map(|it| *it as f64 / AMOUNT_UNIT).collect();
            Ok(Vector::native::<f64>(Type::Double, amounts, None))
        }
        _ => Ok(vector),
    }
}
