//! Scanning: one split per batch of the table.

use std::{sync::Arc, task::Waker};
use volley_connector::{Conjuncts, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_vector::Batch;

/// A scan of a table's batches.
pub(crate) struct MemoryScan {
    batches: Arc<[Batch]>,
    request: ScanRequest,
}

impl MemoryScan {
    pub(crate) fn new(batches: Arc<[Batch]>, request: ScanRequest) -> MemoryScan {
        MemoryScan { batches, request }
    }
}

impl Scan for MemoryScan {
    fn splits(&self) -> Vec<Split> {
        let split = |(index, batch): (usize, &Batch)| Split {
            data: Arc::new(index),
            label: format!("batch {index}"),
            rows: Some(batch.rows() as u64),
        };
        self.batches.iter().enumerate().map(split).collect()
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let request = &self.request;
        Ok(Box::new(MemorySource {
            batches: Arc::clone(&self.batches),
            columns: request.columns.clone(),
            batch_rows: request.batch_rows.max(1),
            conjuncts: Conjuncts::new(request)?,
            current: None,
            metrics: ScanMetrics::default(),
        }))
    }
}

struct MemorySource {
    batches: Arc<[Batch]>,
    columns: Vec<usize>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    /// The batch being read, and how many of its rows were.
    current: Option<(Batch, usize)>,
    metrics: ScanMetrics,
}

impl Source for MemorySource {
    fn start(&mut self, split: Split) -> Result<()> {
        let batch = split.data.downcast_ref::<usize>().and_then(|it| self.batches.get(*it));
        let batch = batch.ok_or_else(|| Error::internal("split of another connector"))?;
        self.metrics.groups_read += 1;
        self.current = Some((batch.clone(), 0));
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some((batch, read)) = &mut self.current else { return Ok(SourceStep::NeedSplit) };
        let rows = self.batch_rows.min(batch.rows() - *read);
        if rows == 0 {
            self.current = None;
            return Ok(SourceStep::NeedSplit);
        }
        let part = batch.slice(*read, rows);
        *read += rows;
        self.metrics.rows_read += rows as u64;
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(part.project(&self.columns)));
        };
        let selected = conjuncts.select(part.project(conjuncts.columns()))?.rows;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(part.project(&self.columns).select(&selected)))
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }
}
