//! Which candidates of an iteration are new, where the rows that came before are on disk: a part
//! after the other, whose rows become a table.

use super::seen::{Part, SeenRows, for_each_batch, new_rows};
use volley_error::Result;
use volley_exec::OperatorMetrics;
use volley_state::{
    hash_table::GroupTable,
    queue::BatchQueue,
    spill::{SpillReader, SpillRun, SpillWriter},
};

/// A part in more files than this is written anew, as one.
const RUNS_MAX: usize = 16;

/// The parts of an iteration that are not settled yet.
pub(super) struct Settling {
    rows: SeenRows,
    part: Option<Open>,
}

/// A part being read.
struct Open {
    number: usize,
    table: GroupTable,
    seen: Vec<SpillRun>,
    /// The run of `seen` that is read next.
    next_run: usize,
    reader: Option<SpillReader>,
    /// Until they are read, too.
    candidates: Option<SpillRun>,
    /// New rows of the part.
    new: Option<SpillWriter>,
}

impl Settling {
    pub(super) fn new(rows: SeenRows) -> Settling {
        Settling { rows, part: None }
    }

    /// Goes on with a batch; true at the end. New rows are added to `next`.
    ///
    /// # Errors
    ///
    /// Out of memory, where the rows of a part do not fit; I/O; cancelled.
    pub(super) fn step(&mut self, next: &BatchQueue, metrics: &OperatorMetrics) -> Result<bool> {
        let Some(open) = &mut self.part else {
            let Some(part) = self.rows.take_part()? else { return Ok(true) };
            self.part = Some(Open::new(part, &self.rows, metrics));
            return Ok(false);
        };
        if open.step(&self.rows, next)? {
            return Ok(false);
        }
        if let Some(open) = self.part.take() {
            open.close(&self.rows, metrics)?;
        }
        Ok(false)
    }
}

impl Open {
    fn new(part: Part, rows: &SeenRows, metrics: &OperatorMetrics) -> Open {
        metrics.add_runs(&part.candidates);
        Open {
            number: part.number,
            table: GroupTable::new(rows.types.to_vec(), Vec::new(), rows.sizes, &rows.pool),
            seen: part.seen,
            next_run: 0,
            reader: None,
            candidates: part.candidates,
            new: None,
        }
    }

    /// Reads a batch; false at the end.
    fn step(&mut self, rows: &SeenRows, next: &BatchQueue) -> Result<bool> {
        let is_candidate = self.next_run > self.seen.len();
        if let Some(reader) = &mut self.reader
            && let Some(batch) = reader.next()?
        {
            let new = new_rows(&mut self.table, &batch)?;
            if let (true, Some(new)) = (is_candidate, new) {
                let writer = match &mut self.new {
                    Some(writer) => writer,
                    none => none.insert(SpillWriter::new(&rows.space, &rows.types, &rows.pool)?),
                };
                writer.write(&new)?;
                next.push(0, new)?;
            }
            return Ok(true);
        }
        let run = match self.seen.get(self.next_run) {
            Some(run) => Some(run),
            None if is_candidate => return Ok(false),
            None => self.candidates.as_ref(),
        };
        self.reader = run.map(|it| it.read(&rows.pool, rows.batch_rows)).transpose()?;
        self.next_run += 1;
        Ok(true)
    }

    /// Puts the part's rows back.
    fn close(mut self, rows: &SeenRows, metrics: &OperatorMetrics) -> Result<()> {
        if let Some(new) = self.new {
            self.seen.push(new.finish()?);
        }
        if self.seen.len() > RUNS_MAX {
            let mut writer = SpillWriter::new(&rows.space, &rows.types, &rows.pool)?;
            for_each_batch(&mut self.table, rows.batch_rows, |batch| writer.write(batch))?;
            self.seen = vec![writer.finish()?];
        }
        metrics.add_runs(self.seen.last());
        rows.put_back(self.number, self.seen);
        Ok(())
    }
}
