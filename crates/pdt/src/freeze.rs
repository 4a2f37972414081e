//! Freezing: committed changes up to a stamp become a run, the later ones stay in memory.
//!
//! The run and the old part of the write layer are flattened as for a scan, and the plan is
//! written. Later entries keep their names, ids and stamps. They get new values without those that
//! were overwritten, and lose the tombstones of rows that the run does not have: a row that is not
//! known was deleted.

use crate::{
    Budget, Change, Entry, Layers, MergePlan, Pdt, Run, Stamp, ValueChunk,
    plan::Flatten,
    run::{RunColumn, RunContents, RunInserts, write},
    values::{Chunk, copy_vector},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_vector::{Batch, Parts, Pick, Vector};

/// What freezing makes of a version.
#[derive(Debug)]
pub struct Frozen {
    /// The bytes of the new run, in place of the old one's.
    pub bytes: Vec<u8>,
    /// The version with the new run and the later changes.
    pub layers: Layers,
}

impl Layers {
    /// Moves the changes of commits up to `bound` to a new run. Transactions that began before
    /// `bound` can no longer commit changes of rows that the run changes.
    ///
    /// The stamp of later freezes must not be less: otherwise the old bound is used. The run, and
    /// what it takes to make it, are charged to `cache`, so that freezing is possible when the
    /// write layer's budget is used up.
    ///
    /// # Errors
    ///
    /// Out of memory; unsupported: opaque types. This version is unchanged.
    pub fn freeze(&self, bound: Stamp, cache: &Arc<Budget>) -> Result<Frozen> {
        let bound = self.run.as_ref().map_or(bound, |it| it.bound().max(bound));
        let plan = Flatten::new(self.view(), Some(bound), cache).finish()?;
        let bytes = plan.to_run(bound, &self.write)?;
        let types = &self.write.types;
        let run = Run::open(&bytes, types, self.write.base_rows, cache)?;
        let write = self.write.later_than(bound)?;
        Ok(Frozen { bytes, layers: Layers { run: Some(Arc::new(run)), write } })
    }
}

impl MergePlan {
    fn to_run(&self, bound: Stamp, write_layer: &Pdt) -> Result<Vec<u8>> {
        let deleted: Vec<Range<u32>> = self.deleted.iter().map(|it| it.start..it.end).collect();
        let modified: Vec<RunColumn<'_>> = (0..)
            .zip(&self.columns)
            .filter_map(|(column, it)| {
                let it = it.as_ref()?;
                Some(RunColumn { column, sids: &it.sids, values: &it.values })
            })
            .collect();
        let mut inserts: Vec<(u32, u32, Pick)> = Vec::new();
        for run in &self.runs {
            inserts.extend((0..run.rows).map(|it| {
                let pick = Pick { part: run.chunk, row: run.row + it };
                (run.key.id() + it, run.key.sid(), pick)
            }));
        }
        inserts.sort_unstable_by_key(|it| it.0);
        let ids: Vec<u32> = inserts.iter().map(|it| it.0).collect();
        let sids: Vec<u32> = inserts.iter().map(|it| it.1).collect();
        let picks: Vec<Pick> = inserts.iter().map(|it| it.2).collect();
        let mut parts = Parts::new(&write_layer.types, self.chunks.len());
        for (number, chunk) in self.chunks.iter().enumerate() {
            parts.set(number, &chunk.rows)?;
        }
        write(&RunContents {
            base_rows: self.base_rows,
            bound,
            columns: write_layer.types.len(),
            deleted: &deleted,
            modified: &modified,
            inserts: RunInserts { ids: &ids, sids: &sids, rows: &parts.gather(&picks)? },
        })
    }
}

impl Pdt {
    /// The changes of commits later than `bound`, with the values that they need.
    fn later_than(&self, bound: Stamp) -> Result<Pdt> {
        let mut later =
            Pdt::new(Arc::clone(&self.types), self.base_rows, Arc::clone(&self.budget))?;
        later.next_id = self.next_id;
        let entries = || self.tree.iter().filter(|it| it.stamp > bound);
        let is_insert = |it: &&Entry| matches!(it.change(), Change::Insert { .. });
        let first_id = entries().filter(is_insert).map(|it| it.key.id()).min();
        for (first, chunk) in self.values.inserts.iter() {
            if first_id.is_some_and(|it| it < first + chunk.span()) {
                later.values.inserts.push(first, Arc::clone(chunk), &later.budget)?;
            }
        }
        let numbers = later.take_values(self, entries())?;
        let mut numbers = numbers.into_iter();
        for entry in entries() {
            let entry = match entry.change() {
                // No transaction that can commit names the row once its insert is gone.
                Change::Tombstone if later.values.find(entry.key.id()).is_none() => continue,
                Change::Modify { column, .. } => {
                    let value = numbers.next().ok_or_else(no_number)?;
                    Entry::new(entry.key, Change::Modify { column, value }, entry.stamp)
                }
                _ => *entry,
            };
            later.budget.ensure(later.tree.change_bytes())?;
            later.tree.put(entry);
        }
        Ok(later)
    }

    /// Copies the values of modified columns from `from`; their new numbers, one per entry.
    pub(crate) fn take_values<'a>(
        &mut self,
        from: &Pdt,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> Result<Vec<u32>> {
        let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); self.types.len()];
        let mut numbers = Vec::new();
        for entry in entries {
            if let Change::Modify { column, value } = entry.change() {
                let of_column = wanted.get_mut(column as usize).ok_or_else(no_number)?;
                numbers.push(of_column.len() as u32);
                of_column.push(value);
            }
        }
        for (column, wanted) in (0..).zip(&wanted) {
            let Some(values) = from.values.column(column).filter(|_| !wanted.is_empty()) else {
                continue;
            };
            let mut parts =
                Parts::new(&self.types[column as usize..=column as usize], values.len());
            for (number, (_, chunk)) in values.iter().enumerate() {
                let part = Batch::new(vec![chunk.values.clone()], chunk.values.len());
                parts.set(number, &part)?;
            }
            let pick = |value: &u32| {
                let (part, first) = values.find(*value).ok_or_else(no_number)?;
                Ok(Pick { part: part as u32, row: value - first })
            };
            let picks = wanted.iter().map(pick).collect::<Result<Vec<_>>>()?;
            let column_values: Vector = parts.gather_column(0, &picks)?;
            self.budget.ensure(column_values.retained_bytes())?;
            let chunk = ValueChunk::new(copy_vector(&[column_values])?, &self.budget);
            let budget = Arc::clone(&self.budget);
            self.values.append_column(column, Arc::new(chunk), &budget)?;
        }
        Ok(numbers)
    }
}

#[cold]
fn no_number() -> Error {
    Error::internal("an entry of a delta without its value")
}
