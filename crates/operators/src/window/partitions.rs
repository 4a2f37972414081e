//! Rows that wait for their windows by the hash of their partition: more than the caches hold, or
//! than fit in memory.
//!
//! ```text
//! push    rows are split: each part has whole partitions
//! spill   parts with the most rows in memory are written, each to a file of its own
//! next    part after part is taken, those without a file first: their memory is needed
//! ```
//!
//! A part is sorted and answered for by itself: in the caches, and with memory for one part's order
//! and columns instead of all rows'.

use super::spec::WindowSpec;
use volley_error::Result;
use volley_exec::OperatorContext;
use volley_memory::Reservation;
use volley_state::{
    BatchCharge,
    column_concat::concat_bytes,
    partition::PartitionBuffer,
    spill::{
        SPILL_BYTES_MIN, SPILLED_BYTES, SPILLED_PARTITIONS, SPILLED_ROWS, SpillReader, SpillRun,
        SpillWriter,
    },
};
use volley_vector::Batch;

/// With rows in fewer parts than this fraction of all, splitting is not worth it.
const PARTS_SHARE: usize = 4;

/// Rows by part.
pub(super) struct Parts {
    cx: OperatorContext,
    input: PartitionBuffer,
    parts: Vec<Part>,
    /// The part whose file is being read.
    reading: Option<usize>,
    charge: BatchCharge,
    /// What it will take to answer for the part with the most rows, or to write a part.
    ahead: Reservation,
    bytes_per_row: usize,
}

/// Rows of some partitions.
#[derive(Default)]
struct Part {
    /// The first rows, if any were written.
    run: Option<SpillRun>,
    /// Those that are in memory.
    batches: Vec<Batch>,
    rows: usize,
    /// What joining these takes.
    concat_bytes: usize,
}

/// The next part.
pub(super) enum PartRows {
    /// Its rows, charged no more.
    Here(Vec<Batch>),
    /// Rows that were written; [`Parts::rest`] comes behind them.
    Written(SpillReader),
}

impl Parts {
    /// No rows; answering for one takes `bytes_per_row`, joined with others.
    pub(super) fn new(spec: &WindowSpec, bytes_per_row: usize, cx: &OperatorContext) -> Parts {
        let keys = spec.partition_by.clone();
        Parts {
            input: PartitionBuffer::new(
                keys,
                cx.task.sizes.window_partitions,
                cx.task.batch_rows,
                &cx.pool,
            ),
            parts: (0..cx.task.sizes.window_partitions).map(|_| Part::default()).collect(),
            reading: None,
            charge: BatchCharge::new(&cx.pool),
            ahead: cx.pool.reserve_ahead(),
            bytes_per_row,
            cx: cx.clone(),
        }
    }

    /// Takes loaded rows.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        let split = self.input.split(batch)?;
        self.add(split)
    }

    /// Takes what waits to be split, after the last batch or to see where rows are.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn flush(&mut self) -> Result<()> {
        let split = self.input.finish()?;
        self.add(split)
    }

    fn add(&mut self, split: Vec<(usize, Batch)>) -> Result<()> {
        if split.is_empty() {
            return Ok(());
        }
        self.keep(split)?;
        self.charge_ahead()
    }

    fn keep(&mut self, split: Vec<(usize, Batch)>) -> Result<()> {
        for (index, batch) in split {
            let batch = self.charge.keep(batch)?;
            let part = &mut self.parts[index];
            part.rows += batch.rows();
            part.concat_bytes += concat_bytes(&batch);
            part.batches.push(batch);
        }
        Ok(())
    }

    /// Charges what the largest part will take.
    fn charge_ahead(&mut self) -> Result<()> {
        let bytes = |it: &Part| it.rows * self.bytes_per_row + it.concat_bytes;
        let most = self.parts.iter().map(bytes).max().unwrap_or(0);
        self.ahead.resize(if most > 0 { most.max(SpillWriter::BYTES) } else { 0 })
    }

    /// Whether rows are in many parts, as far as they were split.
    pub(super) fn is_spread(&self) -> bool {
        self.parts.iter().filter(|it| it.rows > 0 || it.run.is_some()).count()
            >= self.parts.len() / PARTS_SHARE
    }

    /// Whether some rows were written.
    pub(super) fn has_written(&self) -> bool {
        self.parts.iter().any(|it| it.run.is_some())
    }

    /// All rows, none of which was written, and what is charged for them.
    pub(super) fn take_all(self) -> (Vec<Batch>, BatchCharge) {
        (self.parts.into_iter().flat_map(|it| it.batches).collect(), self.charge)
    }

    /// The rows of the next part; `None` after the last.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn next(&mut self) -> Result<Option<PartRows>> {
        // The code that computes their results reserves that.
        self.ahead.clear();
        let here = self.parts.iter().position(|it| it.rows > 0 && it.run.is_none());
        if let Some(index) = here {
            return Ok(Some(PartRows::Here(self.take(index))));
        }
        let written = self.parts.iter_mut().enumerate();
        let mut written = written.filter_map(|(index, it)| Some((index, it.run.take()?)));
        let Some((index, run)) = written.next() else { return Ok(None) };
        self.reading = Some(index);
        Ok(Some(PartRows::Written(run.read(&self.cx.pool, self.cx.task.batch_rows)?)))
    }

    /// The last rows of the part that was read, charged no more.
    pub(super) fn rest(&mut self) -> Vec<Batch> {
        self.reading.take().map_or_else(Vec::new, |it| self.take(it))
    }

    /// What a part has in memory, charged no more.
    fn take(&mut self, index: usize) -> Vec<Batch> {
        let Part { batches, .. } = std::mem::take(&mut self.parts[index]);
        batches.iter().for_each(|it| self.charge.remove(it));
        batches
    }

    /// The minimum that a spill frees: it writes partitions until half of the rows' memory is free.
    pub(super) fn reclaimable_bytes(&self) -> usize {
        let bytes = (self.charge.bytes() + self.input.bytes()) / 2;
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    /// Writes the parts with the most rows in memory.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled; types that cannot be written.
    pub(super) fn spill(&mut self) -> Result<()> {
        let is_collecting = self.ahead.bytes() > 0;
        self.ahead.clear();
        let split = self.input.finish()?;
        self.keep(split)?;
        let goal = self.charge.bytes() / 2;
        while self.charge.bytes() > goal {
            let can_go = |it: &usize| self.parts[*it].rows > 0 && self.reading != Some(*it);
            let largest =
                (0..self.parts.len()).filter(can_go).max_by_key(|it| self.parts[*it].rows);
            let Some(index) = largest else { break };
            self.write(index)?;
        }
        if is_collecting { self.charge_ahead() } else { Ok(()) }
    }

    /// Writes what a part has in memory.
    fn write(&mut self, index: usize) -> Result<()> {
        let Part { batches, rows, run, .. } = std::mem::take(&mut self.parts[index]);
        let before = run.as_ref().map_or(0, SpillRun::bytes);
        let mut writer = match (run, batches.first()) {
            (Some(run), _) => run.append_to(&self.cx.pool)?,
            (None, Some(batch)) => {
                let types: Vec<_> =
                    batch.columns().iter().map(|it| it.data_type().clone()).collect();
                self.cx.metrics.add(SPILLED_PARTITIONS, 1);
                SpillWriter::new(&self.cx.task.spill, &types, &self.cx.pool)?
            }
            (None, None) => return Ok(()),
        };
        for batch in batches {
            writer.write(&batch)?;
            self.charge.remove(&batch);
        }
        let run = writer.finish()?;
        self.cx.metrics.add(SPILLED_ROWS, rows as u64);
        self.cx.metrics.add(SPILLED_BYTES, run.bytes() - before);
        self.parts[index].run = Some(run);
        Ok(())
    }
}
