//! Scanning: one split per batch of the table.

use crate::{batch::StoredBatch, row_id::row_id};
use std::{sync::Arc, task::Waker};
use volley_connector::{Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split};
use volley_error::{Error, Result};
use volley_expression::filter::Conjuncts;
use volley_types::Type;
use volley_vector::{Batch, Rows, Vector};

/// Whether the rows' ids are a column behind the last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowIds {
    None,
    Appended,
}

/// A scan of a table's batches.
pub(crate) struct MemoryScan {
    batches: Arc<[StoredBatch]>,
    row_ids: RowIds,
    request: ScanRequest,
}

impl MemoryScan {
    pub(crate) fn new(
        batches: Arc<[StoredBatch]>,
        row_ids: RowIds,
        request: ScanRequest,
    ) -> MemoryScan {
        MemoryScan { batches, row_ids, request }
    }
}

impl Scan for MemoryScan {
    fn splits(&self) -> Vec<Split> {
        let split = |(index, batch): (usize, &StoredBatch)| Split {
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
            row_ids: self.row_ids,
            columns: request.columns.clone(),
            batch_rows: request.batch_rows.max(1),
            conjuncts: request.conjuncts()?,
            current: None,
            metrics: ScanMetrics::default(),
        }))
    }
}

struct MemorySource {
    batches: Arc<[StoredBatch]>,
    row_ids: RowIds,
    columns: Vec<usize>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    current: Option<Current>,
    metrics: ScanMetrics,
}

/// The batch being read.
struct Current {
    index: usize,
    batch: Batch,
    live: Option<Rows>,
    /// How many of its rows were read.
    read: usize,
}

impl Current {
    /// The next rows, at most `rows_max`, without those that were deleted; `None` at the end.
    fn next(&mut self, rows_max: usize, row_ids: RowIds) -> Option<Batch> {
        let (start, rows) = (self.read, rows_max.min(self.batch.rows() - self.read));
        if rows == 0 {
            return None;
        }
        self.read += rows;
        let mut part = self.batch.slice(start, rows);
        if row_ids == RowIds::Appended {
            let ids: Vec<i64> = (start..self.read).map(|row| row_id(self.index, row)).collect();
            let mut columns = part.into_columns();
            columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
            part = Batch::new(columns, rows);
        }
        Some(match &self.live {
            Some(live) => {
                let left = (0..rows).filter(|row| live.contains(start + row));
                part.select(&Rows::from_indices(rows, left))
            }
            None => part,
        })
    }
}

impl Source for MemorySource {
    fn start(&mut self, split: Split) -> Result<()> {
        let index = split.data.downcast_ref::<usize>();
        let found = index.and_then(|it| Some((*it, self.batches.get(*it)?)));
        let (index, batch) = found.ok_or_else(|| Error::internal("split of another connector"))?;
        self.metrics.groups_read += 1;
        let (batch, live) = (batch.batch().clone(), batch.live().cloned());
        self.current = Some(Current { index, batch, live, read: 0 });
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(current) = &mut self.current else { return Ok(SourceStep::NeedSplit) };
        let Some(part) = current.next(self.batch_rows, self.row_ids) else {
            self.current = None;
            return Ok(SourceStep::NeedSplit);
        };
        self.metrics.rows_read += part.rows() as u64;
        if part.rows() == 0 {
            return Ok(SourceStep::Progress);
        }
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
