//! Windows over more rows than fit in memory: rows that were sorted on disk come back some whole
//! partitions at a time, and each such unit is answered for by itself.

use super::spec::WindowSpec;
use crate::{BatchCharge, Operator, OperatorContext, Spill, Step, StepContext, order_by::OrderBy};
use std::{sync::Arc, task::Waker};
use volley_error::{Error, Result};
use volley_vector::{Batch, Comparator, comparator};

/// Partitions are put together until they have so many rows.
const UNIT_ROWS: usize = if cfg!(test) { 50 } else { 64 << 10 };

/// Rows on their way through a sort by partition and order, and back.
pub(super) struct Units {
    sort: OrderBy,
    partition_by: Vec<usize>,
    /// Rows that came back and belong to no unit yet.
    pending: Vec<Batch>,
    rows: usize,
    charge: BatchCharge,
}

/// What a step of [`Units`] did.
pub(super) enum UnitsStep {
    /// Whole partitions, charged no more.
    Unit(Vec<Batch>),
    /// Some work.
    Progress,
    /// There are no more rows.
    End,
}

impl Units {
    pub(super) fn new(spec: &Arc<WindowSpec>, cx: &OperatorContext) -> Units {
        Units {
            sort: OrderBy::new(spec.types.clone(), spec.sort_keys(), cx),
            partition_by: spec.partition_by.clone(),
            pending: Vec::new(),
            rows: 0,
            charge: BatchCharge::new(&cx.pool),
        }
    }

    /// Takes a batch of the input.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        self.sort.accept(batch)
    }

    /// The input has ended.
    pub(super) fn finish_input(&mut self) -> Result<()> {
        self.sort.finish_input()
    }

    /// What the sort could give back.
    pub(super) fn reclaimable_bytes(&self) -> usize {
        self.sort.reclaimable_bytes()
    }

    /// Writes what the sort holds.
    pub(super) fn spill(&mut self) -> Result<()> {
        self.sort.spill()
    }

    /// Goes on after the end of the input.
    pub(super) fn step(&mut self) -> Result<UnitsStep> {
        match self.sort.step(&mut StepContext { waker: Waker::noop() })? {
            Step::Output(batch) => self.add(batch),
            Step::Yield => Ok(UnitsStep::Progress),
            Step::Finished if self.pending.is_empty() => Ok(UnitsStep::End),
            Step::Finished => Ok(self.take()),
            Step::NeedInput | Step::Blocked(_) => Err(Error::internal("a sort that waits")),
        }
    }

    /// Adds sorted rows; the partitions before the last one, once there are enough rows.
    fn add(&mut self, batch: Batch) -> Result<UnitsStep> {
        let border = match self.rows + batch.rows() < UNIT_ROWS {
            true => None,
            false => self.last_border(&batch)?,
        };
        let Some(border) = border else {
            self.keep(batch)?;
            return Ok(UnitsStep::Progress);
        };
        if border > 0 {
            self.keep(batch.slice(0, border))?;
        }
        let unit = self.take();
        self.keep(batch.slice(border, batch.rows() - border))?;
        Ok(unit)
    }

    fn keep(&mut self, batch: Batch) -> Result<()> {
        self.charge.add(&batch)?;
        self.rows += batch.rows();
        self.pending.push(batch);
        Ok(())
    }

    fn take(&mut self) -> UnitsStep {
        self.rows = 0;
        self.charge.clear();
        UnitsStep::Unit(std::mem::take(&mut self.pending))
    }

    /// The last row of the batch whose partition is not that of the row before it.
    fn last_border(&self, batch: &Batch) -> Result<Option<usize>> {
        let within = self.comparators(batch, batch)?;
        let border =
            (1..batch.rows()).rev().find(|row| within.iter().any(|it| !it.is_equal(row - 1, *row)));
        let (Some(last), None) = (self.pending.last(), border) else { return Ok(border) };
        let between = self.comparators(last, batch)?;
        Ok(between.iter().any(|it| !it.is_equal(last.rows() - 1, 0)).then_some(0))
    }

    /// What compares the partitions of rows of two batches.
    fn comparators(&self, left: &Batch, right: &Batch) -> Result<Vec<Comparator>> {
        let columns = self.partition_by.iter();
        columns.map(|it| comparator(left.column(*it), right.column(*it))).collect()
    }
}
