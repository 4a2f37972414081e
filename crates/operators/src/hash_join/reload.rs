//! Partitions of a build side that come back from disk before rows are probed: memory was short for
//! a while only.

use super::{
    HashJoinSpec,
    build_disk::BuildDisk,
    shared::{BuildContext, BuildPart},
};
use volley_error::{ErrorKind, Result};
use volley_memory::Reservation;
use volley_state::spill::{SpillReader, SpillRun};

/// A build side whose rows have all come, on its way to tables.
pub(super) struct Reload {
    parts: Vec<BuildPart>,
    /// The partitions that stay on disk.
    runs: Vec<Option<SpillRun>>,
    /// Those that do not.
    loading: Vec<SpillRun>,
    reader: Option<SpillReader>,
    /// Rows that are still to be read, what they take each, and memory for them.
    missing_rows: usize,
    row_bytes: usize,
    ahead: Reservation,
}

impl Reload {
    /// Chooses the partitions of `runs` that fit, the smallest first. `parts` are all rows in
    /// memory, of at least one driver.
    ///
    /// # Errors
    ///
    /// None but those of the pool that are not about its limit.
    pub(super) fn new(
        spec: &HashJoinSpec,
        disk: &BuildDisk,
        mut parts: Vec<BuildPart>,
        mut runs: Vec<Option<SpillRun>>,
        cx: &BuildContext,
    ) -> Result<Reload> {
        let row_bytes = disk.row_bytes();
        let mut order: Vec<usize> = (0..runs.len()).filter(|it| runs[*it].is_some()).collect();
        let rows_of = |run: &Option<SpillRun>| run.as_ref().map_or(0, SpillRun::rows);
        order.sort_by_key(|it| rows_of(&runs[*it]));
        // As many as leave as much memory as the table takes then.
        let bytes: usize = parts.iter().map(|it| it.rows.bytes()).sum();
        let rows_max = cx.pool.spare_bytes().saturating_sub(bytes) / 2 / row_bytes;
        let (mut missing_rows, mut loading) = (0, Vec::new());
        let mut ahead = cx.pool.reserve_ahead();
        for partition in order {
            let rows = rows_of(&runs[partition]);
            let fits = match cx.spill_always {
                true => partition % 2 == 1,
                false => missing_rows + rows <= rows_max,
            };
            if fits && reserve(&mut ahead, rows * row_bytes)? {
                missing_rows += rows;
                loading.extend(runs[partition].take());
            }
        }
        parts.push(BuildPart::new(spec, &cx.pool));
        Ok(Reload { parts, runs, loading, reader: None, missing_rows, row_bytes, ahead })
    }

    /// Reads a batch; false when there is none left.
    ///
    /// # Errors
    ///
    /// Those of reading runs; out of memory.
    pub(super) fn step(&mut self, cx: &BuildContext) -> Result<bool> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => match self.loading.pop() {
                Some(run) => self.reader.insert(run.read(&cx.pool, cx.batch_rows)?),
                None => {
                    self.ahead.clear();
                    return Ok(false);
                }
            },
        };
        let Some(batch) = reader.next()? else {
            self.reader = None;
            return Ok(true);
        };
        self.missing_rows = self.missing_rows.saturating_sub(batch.rows());
        let ahead = self.missing_rows * self.row_bytes;
        self.ahead.shrink(self.ahead.bytes().saturating_sub(ahead));
        if let Some(part) = self.parts.last_mut() {
            part.rows.append(batch.columns(), batch.rows())?;
        }
        Ok(true)
    }

    /// All rows in memory, and the partitions on disk.
    pub(super) fn into_parts(self) -> (Vec<BuildPart>, Vec<Option<SpillRun>>) {
        (self.parts, self.runs)
    }
}

/// Whether there is memory for this number of additional bytes: others may have reserved it.
fn reserve(ahead: &mut Reservation, bytes: usize) -> Result<bool> {
    match ahead.grow(bytes) {
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Ok(false),
        grown => grown.map(|()| true),
    }
}
