//! The sorted runs of a sort that did not fit in memory.

use std::{sync::Arc, task::Waker};
use volley_error::Result;
use volley_exec::{OperatorContext, OperatorMetrics};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::SortKey;
use volley_state::{
    sort::{MergeStep, RunMerge},
    spill::{SpillReader, SpillRun, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;

/// Runs in the order of their rows, and what becomes of them.
pub(super) struct Runs {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    /// The most runs that are merged at once.
    fan_in: usize,
    pool: Pool,
    space: SpillSpace,
    metrics: Arc<OperatorMetrics>,
    runs: Vec<SpillRun>,
    /// Where among the runs the one goes that is being made of some of them.
    place: usize,
    merge: Option<Merge>,
}

/// A merge that goes on.
struct Merge {
    rows: RunMerge<SpillReader>,
    /// Where the rows go, unless they are emitted.
    writer: Option<SpillWriter>,
}

/// What a step of merging did.
pub(super) enum RunsStep {
    /// The next rows of all.
    Output(Batch),
    /// Some runs are on their way to a longer one.
    Progress,
    /// All rows were emitted.
    End,
}

impl Runs {
    pub(super) fn new(types: &[Type], keys: &[SortKey], cx: &OperatorContext) -> Runs {
        Runs {
            types: types.to_vec(),
            keys: keys.to_vec(),
            batch_rows: cx.task.batch_rows,
            fan_in: cx.task.sizes.merge_fan_in,
            pool: cx.pool.clone(),
            space: cx.task.spill.clone(),
            metrics: Arc::clone(&cx.metrics),
            runs: Vec::new(),
            place: 0,
            merge: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// A writer of the next run.
    pub(super) fn writer(&self) -> Result<SpillWriter> {
        SpillWriter::new(&self.space, &self.types, &self.pool)
    }

    /// Adds a run of rows that came after those of all others.
    pub(super) fn push(&mut self, writer: SpillWriter) -> Result<()> {
        let run = self.finish(writer)?;
        self.runs.push(run);
        Ok(())
    }

    fn finish(&self, writer: SpillWriter) -> Result<SpillRun> {
        let run = writer.finish()?;
        self.metrics.add_spilled(run.spilled());
        Ok(run)
    }

    /// Merges some rows.
    pub(super) fn step(&mut self) -> Result<RunsStep> {
        let Some(merge) = &mut self.merge else {
            if self.runs.is_empty() {
                return Ok(RunsStep::End);
            }
            self.merge = Some(self.start()?);
            return Ok(RunsStep::Progress);
        };
        match (merge.rows.next(Waker::noop())?, &mut merge.writer) {
            (MergeStep::Batch(batch), None) => return Ok(RunsStep::Output(batch)),
            (MergeStep::Batch(batch), Some(writer)) => writer.write(&batch)?,
            (MergeStep::End, None) => self.merge = None,
            (MergeStep::End, Some(_)) => self.end_run()?,
            // Files do not let wait.
            (MergeStep::Wait, _) => {}
        }
        Ok(RunsStep::Progress)
    }

    /// Begins to merge all runs, or, where these are too many, as many neighbors as make few enough
    /// of them. Rows with equal keys stay in order, because the new run takes their place; the next
    /// merge is of the runs behind it, so that each is written again about equally often.
    fn start(&mut self) -> Result<Merge> {
        let too_many = self.runs.len().saturating_sub(self.fan_in);
        if self.place + 1 >= self.runs.len() {
            self.place = 0;
        }
        let range = match too_many {
            0 => 0..self.runs.len(),
            _ => self.place..self.runs.len().min(self.place + self.fan_in.min(too_many + 1)),
        };
        // A run's file goes with its last reader.
        let runs: Vec<SpillRun> = self.runs.drain(range).collect();
        let readers = runs.iter().map(|it| it.read(&self.pool, self.batch_rows));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        Ok(Merge {
            rows: RunMerge::new(&self.types, &self.keys, readers, self.batch_rows),
            writer: if too_many == 0 { None } else { Some(self.writer()?) },
        })
    }

    /// Keeps the run that a merge has written.
    fn end_run(&mut self) -> Result<()> {
        if let Some(writer) = self.merge.take().and_then(|it| it.writer) {
            let run = self.finish(writer)?;
            self.runs.insert(self.place, run);
            self.place += 1;
        }
        Ok(())
    }
}
