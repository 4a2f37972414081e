//! The build side's sink.

use super::{
    Collected, Shared,
    blocks::BuildSide,
    lookup::{Lookup, LookupBuilder, LookupSpec},
};
use crate::{
    BatchCharge, Operator, OperatorContext, OperatorMetrics, Spill, Step, StepContext, Ticket,
    column_concat::{ColumnConcat, concat_bytes},
    spill::{SPILL_BYTES_MIN, SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillWriter},
};
use std::sync::{Arc, MutexGuard, PoisonError, atomic::Ordering};
use volley_error::{ErrorKind, Result};
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::Encoder;

/// Fewer rows are looked at one by one.
const LOOKUP_ROWS_MIN: usize = 16;

/// Collects the build side; the driver that ends last joins everything to one batch, unless a part
/// of it was written to disk: then all of it is.
pub(super) struct NestedLoopBuild {
    shared: Arc<Shared>,
    types: Vec<Type>,
    can_spill: bool,
    ticket: Option<Ticket>,
    /// Where rows of this driver and what it was asked to give back go.
    writer: Option<SpillWriter>,
    /// What rows are to be found by.
    lookup: Option<LookupSpec>,
    /// In the driver that ends last.
    concat: Option<ColumnConcat>,
    /// There, after that.
    index: Option<(Arc<Batch>, LookupBuilder)>,
    input_done: bool,
    pool: Pool,
    space: SpillSpace,
    metrics: Arc<OperatorMetrics>,
}

impl NestedLoopBuild {
    pub(super) fn new(
        shared: &Arc<Shared>,
        types: Vec<Type>,
        lookup: Option<LookupSpec>,
        ticket: Option<Ticket>,
        cx: &OperatorContext,
    ) -> NestedLoopBuild {
        NestedLoopBuild {
            shared: Arc::clone(shared),
            // What is on disk cannot be looked up in.
            can_spill: Encoder::new(&types).is_ok()
                && !lookup.as_ref().is_some_and(LookupSpec::is_needed),
            types,
            lookup,
            ticket,
            writer: None,
            concat: None,
            index: None,
            input_done: false,
            pool: cx.pool.clone(),
            space: cx.task.spill.clone(),
            metrics: Arc::clone(&cx.metrics),
        }
    }

    /// Joins the next column of all batches; when there is none, shows the result to the probes, or
    /// begins to make its index.
    fn advance(&mut self, mut concat: ColumnConcat) -> Result<()> {
        let mut collected = self.lock();
        let Some(rows) = concat.step(&mut collected.charge)? else {
            drop(collected);
            self.concat = Some(concat);
            return Ok(());
        };
        collected.ahead.clear();
        drop(collected);
        let rows = Arc::new(rows);
        let spec = self.lookup.clone();
        match spec.filter(|it| it.is_needed() || rows.rows() >= LOOKUP_ROWS_MIN) {
            Some(spec) => {
                let begun = LookupBuilder::new(spec, &rows, &self.pool).map(Err);
                self.continue_index(rows, begun)
            }
            None => {
                self.show(BuildSide::Memory(rows, None));
                Ok(())
            }
        }
    }

    /// Shows a finished index to the probes, or the rows without one where there is no memory for
    /// it.
    fn continue_index(
        &mut self,
        rows: Arc<Batch>,
        made: Result<Result<Lookup, LookupBuilder>>,
    ) -> Result<()> {
        let is_needed = self.lookup.as_ref().is_some_and(LookupSpec::is_needed);
        let lookup = match made {
            Ok(Err(builder)) => {
                self.index = Some((rows, builder));
                return Ok(());
            }
            Ok(Ok(lookup)) => Some(Arc::new(lookup)),
            Err(error) if error.kind() == ErrorKind::OutOfMemory && !is_needed => None,
            Err(error) => return Err(error),
        };
        self.show(BuildSide::Memory(rows, lookup));
        Ok(())
    }

    fn show(&self, side: BuildSide) {
        // There is one last driver, so the value cannot be there already.
        let _ = self.shared.build.set(side);
    }

    /// Writes all that was collected; the lock is not held meanwhile. The last driver comes after
    /// that: whoever spills has not ended.
    fn write_collected(&mut self) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let writer = SpillWriter::new(&self.space, &self.types, &self.pool)?;
                self.writer.insert(writer)
            }
        };
        let (batches, _charge) = self.shared.take_batches(&self.pool);
        batches.iter().try_for_each(|it| writer.write(it))
    }

    /// Hands over what this driver wrote.
    fn finish_writer(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let run = writer.finish()?;
            self.metrics.add(SPILLED_RUNS, u64::from(run.rows() > 0));
            self.metrics.add(SPILLED_ROWS, run.rows() as u64);
            self.metrics.add(SPILLED_BYTES, run.bytes());
            self.lock().runs.push(run);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Operator for NestedLoopBuild {
    fn name(&self) -> &'static str {
        "nested loop join build"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return writer.write(&input);
        }
        let input = input.loaded()?;
        let mut collected = self.lock();
        let input = collected.charge.keep(input)?;
        collected.ahead.grow(concat_bytes(&input))?;
        collected.batches.push(input);
        let bytes = collected.charge.bytes() + collected.ahead.bytes();
        self.shared.held_bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        self.finish_writer()?;
        if !self.ticket.as_mut().is_some_and(Ticket::arrive) {
            return Ok(());
        }
        if !self.lock().runs.is_empty() {
            // What drivers collected that did not write themselves.
            self.write_collected()?;
            self.finish_writer()?;
            let runs = std::mem::take(&mut self.lock().runs);
            self.show(BuildSide::Disk(runs.into()));
            return Ok(());
        }
        self.shared.held_bytes.store(0, Ordering::Relaxed);
        let batches = std::mem::take(&mut self.lock().batches);
        self.concat = Some(ColumnConcat::new(&self.types, batches));
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(concat) = self.concat.take() {
            self.advance(concat)?;
            return Ok(Step::Yield);
        }
        if let Some((rows, builder)) = self.index.take() {
            let made = builder.step(&rows);
            self.continue_index(rows, made)?;
            return Ok(Step::Yield);
        }
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.can_spill { Some(self) } else { None }
    }
}

impl Spill for NestedLoopBuild {
    fn reclaimable_bytes(&self) -> usize {
        let bytes = self.shared.held_bytes.load(Ordering::Relaxed);
        if bytes < SPILL_BYTES_MIN || self.input_done { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        let has_some = !self.input_done && self.shared.held_bytes.load(Ordering::Relaxed) > 0;
        if has_some { self.write_collected() } else { Ok(()) }
    }
}

impl Shared {
    /// All that was collected, and its charge.
    fn take_batches(&self, pool: &Pool) -> (Vec<Batch>, BatchCharge) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        self.held_bytes.store(0, Ordering::Relaxed);
        collected.ahead.clear();
        let charge = std::mem::replace(&mut collected.charge, BatchCharge::new(pool));
        (std::mem::take(&mut collected.batches), charge)
    }
}
