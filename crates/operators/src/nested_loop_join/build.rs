//! The build side's sink.

use super::{
    Collected, Shared,
    blocks::BuildSide,
    lookup::{Lookup, LookupBuilder, LookupSpec},
    nearest::RunSort,
};
use std::sync::{Arc, MutexGuard, PoisonError, atomic::Ordering};
use volley_error::{ErrorKind, Result};
use volley_exec::{Operator, OperatorContext, Spill, Step, StepContext};
use volley_memory::Pool;
use volley_state::{
    BatchCharge, Ticket,
    column_concat::{ColumnConcat, concat_bytes},
    spill::{SPILL_BYTES_MIN, SpillWriter, can_spill},
};
use volley_types::Type;
use volley_vector::Batch;

/// Fewer rows are looked at one by one.
const LOOKUP_ROWS_MIN: usize = 16;

/// Collects the build side; the driver that ends last joins everything to one batch, unless a part
/// of it was written to disk: then all of it is.
pub(super) struct NestedLoopBuild {
    shared: Arc<Shared>,
    types: Vec<Type>,
    can_spill: bool,
    ticket: Option<Ticket>,
    /// The files of rows that this driver spills.
    writer: Option<SpillWriter>,
    /// What rows are to be found by.
    lookup: Option<LookupSpec>,
    /// In the driver that ends last.
    concat: Option<ColumnConcat>,
    /// There, after that.
    index: Option<(Arc<Batch>, LookupBuilder)>,
    /// There, where nearest rows are to be found on disk.
    sort: Option<RunSort>,
    input_done: bool,
    cx: OperatorContext,
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
            can_spill: can_spill(&types),
            types,
            lookup,
            ticket,
            writer: None,
            concat: None,
            index: None,
            sort: None,
            input_done: false,
            cx: cx.clone(),
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
                let begun = LookupBuilder::new(spec, &rows, &self.cx.pool).map(Err);
                self.continue_index(rows, begun)
            }
            None => {
                self.show(BuildSide::Memory(rows, None));
                Ok(())
            }
        }
    }

    /// Shows a finished index to the probes, or the rows without one where there is no memory for
    /// it; those that cannot do without it go to disk.
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
            Err(error) if error.kind() != ErrorKind::OutOfMemory => return Err(error),
            Err(error) if is_needed && !self.can_spill => return Err(error),
            Err(_) if is_needed => return self.write_rows(&rows),
            Err(_) => None,
        };
        self.show(BuildSide::Memory(rows, lookup));
        Ok(())
    }

    /// Writes all rows, which were in memory.
    fn write_rows(&mut self, rows: &Batch) -> Result<()> {
        let mut writer = SpillWriter::new(&self.cx.task.spill, &self.types, &self.cx.pool)?;
        let batch_rows = self.cx.task.batch_rows;
        for start in (0..rows.rows()).step_by(batch_rows) {
            writer.write(&rows.slice(start, batch_rows.min(rows.rows() - start)))?;
        }
        self.writer = Some(writer);
        self.finish_writer()?;
        self.lock().charge.clear();
        self.show_runs()
    }

    /// Shows what is on disk to the probes; in order, where nearest rows are looked for.
    fn show_runs(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.lock().runs);
        match self.lookup.as_ref().and_then(LookupSpec::asof) {
            Some(asof) => self.sort = Some(RunSort::new(runs, asof, &self.types, &self.cx)),
            None => self.show(BuildSide::Disk(runs.into())),
        }
        Ok(())
    }

    fn show(&self, side: BuildSide) {
        // There is one last driver, so the value cannot be there already.
        let _ = self.shared.build.set(side);
    }

    /// Writes all that was collected; the lock is not held meanwhile. The last driver comes after
    /// that: a driver that spills has not ended.
    fn write_collected(&mut self) -> Result<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let writer = SpillWriter::new(&self.cx.task.spill, &self.types, &self.cx.pool)?;
                self.writer.insert(writer)
            }
        };
        let (batches, _charge) = self.shared.take_batches(&self.cx.pool);
        batches.iter().try_for_each(|it| writer.write(it))
    }

    /// Hands over what this driver wrote.
    fn finish_writer(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let run = writer.finish()?;
            self.cx.metrics.add_spilled(run.spilled());
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
            return self.show_runs();
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
        if let Some(sort) = &mut self.sort {
            if let Some(run) = sort.step()? {
                self.sort = None;
                self.show(BuildSide::Disk(vec![run].into()));
            }
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
        if let Some(sort) = &self.sort {
            return sort.reclaimable_bytes();
        }
        let bytes = self.shared.held_bytes.load(Ordering::Relaxed);
        if bytes < SPILL_BYTES_MIN || self.input_done { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        if let Some(sort) = &mut self.sort {
            return sort.spill();
        }
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
