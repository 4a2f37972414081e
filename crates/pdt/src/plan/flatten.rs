//! Flattening layers: deletes, modified columns, inserts; then the offsets of blocks.

use super::{BLOCK_ROWS, Block, Counts, DeletedRange, InsertRun, MergePlan, PlanChunk, PlanColumn};
use crate::{
    Budget, Change, Charge, Column, ColumnValues, Entry, Key, Layer, Sid, Stamp, View,
    merge::JoinedDictionary, pdt::Pdt,
};
use std::{collections::HashMap, ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Batch, CopyRange, Parts, Pick, Rows, Vector};

/// What a layer's entry takes in a plan at most.
const ENTRY_BYTES: usize = 64;

/// A modified value: where it applies, and where it is.
#[derive(Clone, Copy, Debug)]
struct Modified {
    key: Key,
    /// From the lowest layer on.
    layer: u32,
    value: u32,
}

/// A plan in the making.
pub(crate) struct Flatten<'a> {
    layers: Vec<Layer<'a>>,
    write: &'a Pdt,
    budget: &'a Arc<Budget>,
    /// Entries of later commits are left out.
    bound: Option<Stamp>,
    deleted: Vec<Range<Sid>>,
    /// By column: of base rows, and of inserted rows.
    modified: Vec<[Vec<Modified>; 2]>,
    /// With the numbers of their layers.
    inserted: Vec<(Key, u32, usize)>,
    removed: Vec<Key>,
    chunks: Vec<PlanChunk>,
    /// Layer and chunk of each of `chunks`.
    chunk_numbers: HashMap<(usize, usize), u32>,
    runs: Vec<InsertRun>,
}

impl<'a> Flatten<'a> {
    /// Of the changes up to the commit `bound`, if there is one. The plan is charged to `budget`.
    pub(crate) fn new(
        view: View<'a>,
        bound: Option<Stamp>,
        budget: &'a Arc<Budget>,
    ) -> Flatten<'a> {
        Flatten {
            layers: view.layers().collect(),
            write: &view.layers.write,
            budget,
            bound,
            deleted: Vec::new(),
            modified: Vec::new(),
            inserted: Vec::new(),
            removed: Vec::new(),
            chunks: Vec::new(),
            chunk_numbers: HashMap::new(),
            runs: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> Result<MergePlan> {
        let entries: usize = self.layers.iter().map(|it| it.len()).sum();
        let blocks = self.write.base_rows() as usize / BLOCK_ROWS as usize + 2;
        self.budget.ensure(entries * ENTRY_BYTES + blocks * size_of::<Block>())?;
        for number in 0..self.layers.len() {
            self.collect(number);
        }
        let deleted = self.joined_deletes();
        let columns = self.modified_columns(&deleted)?;
        self.insert_runs()?;
        self.modify_inserts()?;
        let base_rows = self.write.base_rows();
        let mut plan = MergePlan {
            base_rows,
            deleted,
            columns,
            chunks: self.chunks,
            runs: self.runs,
            blocks: Vec::new(),
            changed: Vec::new(),
            counts: Counts::default(),
            charge: Charge::new(self.budget, 0),
        };
        plan.add_blocks();
        plan.charge = Charge::new(self.budget, plan.bytes());
        Ok(plan)
    }

    /// Sorts the entries of one layer by what they say.
    fn collect(&mut self, number: usize) {
        let layer = self.layers[number];
        let is_wanted = |it: &&Entry| match layer {
            Layer::Run(_) => true,
            Layer::Tree(_) => self.bound.is_none_or(|bound| it.stamp <= bound),
        };
        for entry in layer.from(Default::default()).filter(is_wanted) {
            let key = entry.key;
            match entry.change() {
                Change::Insert { rows } => self.inserted.push((key, rows, number)),
                Change::Delete { rows } => self.deleted.push(key.sid()..key.sid() + rows),
                Change::Tombstone => {}
                Change::Remove => self.removed.push(key),
                Change::Modify { column, value } => {
                    let column = column as usize;
                    if column >= self.modified.len() {
                        self.modified.resize_with(column + 1, Default::default);
                    }
                    let of_column = &mut self.modified[column][usize::from(!key.is_base())];
                    of_column.push(Modified { key, layer: number as u32, value });
                }
            }
        }
    }

    fn joined_deletes(&mut self) -> Vec<DeletedRange> {
        self.deleted.sort_unstable_by_key(|it| it.start);
        let mut joined: Vec<DeletedRange> = Vec::new();
        for Range { start, end } in self.deleted.drain(..) {
            match joined.last_mut() {
                Some(last) if last.end == start => last.end = end,
                last => {
                    let before = last.map_or(0, |it| it.before + (it.end - it.start));
                    joined.push(DeletedRange { start, end, before });
                }
            }
        }
        joined
    }

    fn modified_columns(&mut self, deleted: &[DeletedRange]) -> Result<Vec<Option<PlanColumn>>> {
        let mut columns = Vec::new();
        for column in 0..self.modified.len() {
            let mut of_base = std::mem::take(&mut self.modified[column][0]);
            keep_highest(&mut of_base);
            remove_deleted(&mut of_base, deleted);
            if of_base.is_empty() {
                columns.push(None);
                continue;
            }
            let values = self.values(column, &of_base)?;
            let sids: Vec<Sid> = of_base.iter().map(|it| it.key.sid()).collect();
            let (offsets, dictionary) = (Vec::new(), JoinedDictionary::default());
            columns.push(Some(PlanColumn { sids, values, offsets, dictionary }));
        }
        Ok(columns)
    }

    /// The values of `modified` in their order.
    fn values(&self, column: usize, modified: &[Modified]) -> Result<Vector> {
        let data_type = self.write.types().get(column).cloned().unwrap_or(Type::Unknown);
        let (mut parts, mut numbers) = (Vec::new(), HashMap::new());
        let mut picks = Vec::with_capacity(modified.len());
        let mut last: Option<(u32, usize, u32)> = None;
        for it in modified {
            let values = self.column_values(it.layer, column).ok_or_else(no_value)?;
            let (chunk, first) = values.find(it.value).ok_or_else(no_value)?;
            let row = it.value - first;
            let part = match last {
                Some((layer, before, part)) if (layer, before) == (it.layer, chunk) => part,
                _ => *numbers.entry((it.layer, chunk)).or_insert_with(|| {
                    parts.extend(values.get(chunk).map(|it| it.values.clone()));
                    parts.len() as u32 - 1
                }),
            };
            last = Some((it.layer, chunk, part));
            picks.push(Pick { part, row });
        }
        gather(&data_type, &parts, &picks)
    }

    fn column_values(&self, layer: u32, column: usize) -> Option<&ColumnValues> {
        self.layers.get(layer as usize)?.values().column(column as Column)
    }

    /// Finds the rows of inserts that were not removed, in the order of keys.
    fn insert_runs(&mut self) -> Result<()> {
        self.inserted.sort_unstable_by_key(|it| it.0);
        self.removed.sort_unstable();
        let inserted = std::mem::take(&mut self.inserted);
        let removed = std::mem::take(&mut self.removed);
        let mut removed = removed.iter().peekable();
        for (key, rows, layer) in inserted {
            let end = Key(key.0 + u64::from(rows));
            let mut start = key;
            while removed.next_if(|it| **it < key).is_some() {}
            while let Some(hole) = removed.next_if(|it| **it < end) {
                self.insert_range(layer, start, (hole.0 - start.0) as u32)?;
                start = Key(hole.0 + 1);
            }
            self.insert_range(layer, start, (end.0 - start.0) as u32)?;
        }
        let mut live: Vec<Vec<u64>> =
            self.chunks.iter().map(|it| vec![0; it.rows.rows().div_ceil(64)]).collect();
        for run in &self.runs {
            let words = &mut live[run.chunk as usize];
            let rows = run.row as usize..(run.row + run.rows) as usize;
            rows.for_each(|row| words[row / 64] |= 1 << (row % 64));
        }
        for (chunk, words) in self.chunks.iter_mut().zip(live) {
            chunk.live = Rows::from_words(words, chunk.rows.rows());
        }
        Ok(())
    }

    /// Adds `rows` inserted rows with consecutive ids from `key` on, chunk by chunk.
    fn insert_range(&mut self, layer: usize, mut key: Key, mut rows: u32) -> Result<()> {
        let inserts = &self.layers[layer].values().inserts;
        while rows > 0 {
            let (number, first) = inserts.find(key.id()).ok_or_else(no_value)?;
            let inserted = inserts.get(number).ok_or_else(no_value)?;
            let (row, count) = inserted.rows_of(key.id() - first, rows);
            if count == 0 {
                return Err(no_value());
            }
            let chunks = &mut self.chunks;
            let chunk = *self.chunk_numbers.entry((layer, number)).or_insert_with(|| {
                let rows = inserted.rows.clone();
                chunks.push(PlanChunk { live: Rows::none(rows.rows()), rows });
                chunks.len() as u32 - 1
            });
            let before = self.runs.last().map_or(0, |it| it.before + u64::from(it.rows));
            self.runs.push(InsertRun { key, chunk, row, rows: count, before });
            key = Key(key.0 + u64::from(count));
            rows -= count;
        }
        Ok(())
    }

    /// Overwrites modified values of inserted rows in the chunks that have any.
    fn modify_inserts(&mut self) -> Result<()> {
        for column in 0..self.modified.len() {
            let mut of_inserts = std::mem::take(&mut self.modified[column][1]);
            keep_highest(&mut of_inserts);
            let mut by_chunk: HashMap<u32, Vec<(u32, Modified)>> = HashMap::new();
            for it in of_inserts {
                let Some((chunk, row)) = self.place(it.key) else { continue };
                by_chunk.entry(chunk).or_default().push((row, it));
            }
            for (chunk, modified) in by_chunk {
                let only: Vec<Modified> = modified.iter().map(|it| it.1).collect();
                let values = self.values(column, &only)?;
                let ranges: Vec<CopyRange> = (0..)
                    .zip(&modified)
                    .map(|(from, (row, _))| CopyRange { from, to: *row as usize, rows: 1 })
                    .collect();
                let chunk = &mut self.chunks[chunk as usize];
                let rows = chunk.rows.rows();
                let mut columns = std::mem::take(&mut chunk.rows).into_columns();
                let before = columns.get(column).cloned().ok_or_else(no_value)?;
                columns[column] = before.copy_ranges(&values, &ranges)?;
                chunk.rows = Batch::new(columns, rows);
            }
        }
        Ok(())
    }

    /// The chunk and row of an inserted row that exists.
    fn place(&self, key: Key) -> Option<(u32, u32)> {
        let after = self.runs.partition_point(|it| it.key <= key);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let within = key.0 - run.key.0;
        (within < run.rows.into()).then(|| (run.chunk, run.row + within as u32))
    }
}

/// Of several values of a row, the one of the highest layer; sorts them by row.
fn keep_highest(modified: &mut Vec<Modified>) {
    if !modified.is_sorted_by(|a, b| a.key < b.key) {
        modified.sort_by_key(|it| (it.key, u32::MAX - it.layer));
        modified.dedup_by_key(|it| it.key);
    }
}

fn remove_deleted(modified: &mut Vec<Modified>, deleted: &[DeletedRange]) {
    let mut ranges = deleted.iter().peekable();
    modified.retain(|it| {
        let sid = it.key.sid();
        while ranges.next_if(|range| range.end <= sid).is_some() {}
        ranges.peek().is_none_or(|range| sid < range.start)
    });
}

fn gather(data_type: &Type, parts: &[Vector], picks: &[Pick]) -> Result<Vector> {
    let mut columns = Parts::new(std::slice::from_ref(data_type), parts.len());
    for (number, part) in parts.iter().enumerate() {
        columns.set(number, &Batch::new(vec![part.clone()], part.len()))?;
    }
    let mut gathered = columns.gather(picks)?.into_columns();
    gathered.pop().ok_or_else(no_value)?.flatten()
}

impl MergePlan {
    /// Finds where blocks begin in the lists.
    fn add_blocks(&mut self) {
        let count = self.base_rows.div_ceil(BLOCK_ROWS) as usize + 1;
        let mut changed = vec![0u64; count.div_ceil(64)];
        let mut mark = |sid: Sid| {
            let block = (sid / BLOCK_ROWS) as usize;
            changed[block / 64] |= 1 << (block % 64);
        };
        for range in &self.deleted {
            let blocks = range.start / BLOCK_ROWS..=(range.end - 1) / BLOCK_ROWS;
            blocks.for_each(|it| mark(it * BLOCK_ROWS));
        }
        self.runs.iter().for_each(|it| mark(it.key.sid()));
        for column in self.columns.iter_mut().flatten() {
            column.sids.iter().for_each(|it| mark(*it));
            let mut next = 0;
            for block in 0..count as u32 {
                let start = block.saturating_mul(BLOCK_ROWS);
                let rest = &column.sids[next..];
                next += rest.iter().take_while(|it| **it < start).count();
                column.offsets.push(next as u32);
            }
        }
        self.changed = changed;
        let (mut deleted, mut run) = (0, 0);
        for block in 0..count as u32 {
            let start = block.saturating_mul(BLOCK_ROWS);
            deleted += self.deleted[deleted..].iter().take_while(|it| it.end <= start).count();
            let is_before = |it: &&InsertRun| it.key < Key::first(start);
            run += self.runs[run..].iter().take_while(is_before).count();
            let rows = self.rank(Key::first(start.min(self.base_rows)));
            self.blocks.push(Block { deleted: deleted as u32, run: run as u32, rows });
        }
    }

    /// About the bytes of memory that the plan has for itself.
    fn bytes(&self) -> usize {
        let columns = self.columns.iter().flatten();
        size_of_val(&*self.deleted)
            + size_of_val(&*self.runs)
            + size_of_val(&*self.blocks)
            + columns.map(|it| it.sids.len() * 4 + it.values.retained_bytes()).sum::<usize>()
    }
}

#[cold]
fn no_value() -> Error {
    Error::internal("an entry of a delta without its value")
}
