//! The sorted runs of a sort that did not fit in memory.

use crate::{
    OperatorContext, OperatorMetrics,
    sort::RunMerge,
    spill::{SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillRun, SpillWriter},
};
use std::{collections::VecDeque, sync::Arc};
use volley_error::Result;
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::Batch;

/// The most runs that are merged at once; a reader takes a quarter of a MiB.
const FAN_IN: usize = if cfg!(test) { 4 } else { 32 };

/// Runs in the order of their rows, and what becomes of them.
pub(super) struct Runs {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    pool: Pool,
    space: SpillSpace,
    metrics: Arc<OperatorMetrics>,
    runs: VecDeque<SpillRun>,
    merge: Option<Merge>,
}

/// A merge that goes on.
struct Merge {
    rows: RunMerge,
    /// Where the rows go, unless they are put out.
    writer: Option<SpillWriter>,
    /// How many runs are left to be merged before those that were.
    left_in_pass: usize,
}

/// What a step of merging did.
pub(super) enum RunsStep {
    /// The next rows of all.
    Output(Batch),
    /// Some runs are on their way to a longer one.
    Progress,
    /// All rows were put out.
    End,
}

impl Runs {
    pub(super) fn new(types: &[Type], keys: &[SortKey], cx: &OperatorContext) -> Runs {
        Runs {
            types: types.to_vec(),
            keys: keys.to_vec(),
            batch_rows: cx.task.batch_rows,
            pool: cx.pool.clone(),
            space: cx.task.spill.clone(),
            metrics: Arc::clone(&cx.metrics),
            runs: VecDeque::new(),
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
        let run = writer.finish()?;
        self.metrics.add(SPILLED_RUNS, 1);
        self.metrics.add(SPILLED_ROWS, run.rows() as u64);
        self.metrics.add(SPILLED_BYTES, run.bytes());
        self.runs.push_back(run);
        Ok(())
    }

    /// Merges some rows.
    pub(super) fn step(&mut self) -> Result<RunsStep> {
        let Some(merge) = &mut self.merge else {
            if self.runs.is_empty() {
                return Ok(RunsStep::End);
            }
            self.merge = Some(self.start(0)?);
            return Ok(RunsStep::Progress);
        };
        let batch = merge.rows.next()?;
        match (batch, &mut merge.writer) {
            (Some(batch), None) => return Ok(RunsStep::Output(batch)),
            (Some(batch), Some(writer)) => writer.write(&batch)?,
            (None, None) => self.merge = None,
            (None, Some(_)) => self.end_run()?,
        }
        Ok(RunsStep::Progress)
    }

    /// Begins to merge the first runs, `left_in_pass` of which (0: all) belong to this pass.
    fn start(&mut self, left_in_pass: usize) -> Result<Merge> {
        let is_last = left_in_pass == 0 && self.runs.len() <= FAN_IN;
        let left = if left_in_pass == 0 { self.runs.len() } else { left_in_pass };
        let count = left.min(FAN_IN);
        // A run's file goes with its last reader.
        let runs: Vec<SpillRun> = self.runs.drain(..count).collect();
        let readers = runs.iter().map(|it| it.read(&self.pool, self.batch_rows));
        let readers = readers.collect::<Result<Vec<_>>>()?;
        Ok(Merge {
            rows: RunMerge::new(&self.types, &self.keys, readers, self.batch_rows)?,
            writer: if is_last { None } else { Some(self.writer()?) },
            left_in_pass: left - count,
        })
    }

    /// Keeps the run that a merge has written, and goes on with the next ones. The runs of a pass
    /// stay in order, because all of them are merged before those that it makes.
    fn end_run(&mut self) -> Result<()> {
        let Some(merge) = self.merge.take() else { return Ok(()) };
        if let Some(writer) = merge.writer {
            self.push(writer)?;
        }
        if merge.left_in_pass > 0 {
            self.merge = Some(self.start(merge.left_in_pass)?);
        }
        Ok(())
    }
}
