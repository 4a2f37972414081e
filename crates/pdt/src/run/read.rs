//! Opening runs. Any bytes are a run that keeps all invariants, or an error.

use super::{BATCH_ROWS, MAGIC, Run, SUM_ENTRIES, VERSION_MAJOR, VERSION_MINOR};
use crate::{
    Budget, Change, Charge, Entry, InsertChunk, Key, LayerValues, PROVISIONAL, Sid, Stamp,
    ValueChunk, bytes::Input,
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::decode;

/// What memory a byte of a run may take at most when it is opened: an entry, and its values' views.
const BYTES_PER_BYTE: usize = 48;

impl Run {
    /// Opens a run of a segment of `base_rows` rows with columns of `types`. Everything is checked.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes than a run's, or of another segment; unsupported: a newer format;
    /// out of memory.
    pub fn open(bytes: &[u8], types: &[Type], base_rows: Sid, budget: &Arc<Budget>) -> Result<Run> {
        budget.ensure(bytes.len().saturating_mul(BYTES_PER_BYTE))?;
        let mut reader = Reader::new(bytes, types, budget);
        let bound = reader.header(base_rows)?;
        let deleted = reader.deleted()?;
        let modified = reader.modified(bound)?;
        let inserted = reader.inserts(bound)?;
        reader.input.finish()?;
        let mut entries = modified;
        split_deletes(&deleted, &inserted, bound, &mut entries);
        entries.extend_from_slice(&inserted);
        entries.sort_by_key(Entry::position);
        check_apart(&entries).map_err(|what| reader.input.corrupt(what))?;
        Ok(Run::new(base_rows, bound, entries, reader.values, budget))
    }

    fn new(
        base_rows: Sid,
        bound: Stamp,
        entries: Vec<Entry>,
        values: LayerValues,
        budget: &Arc<Budget>,
    ) -> Run {
        let (mut sums, mut delta) = (Vec::new(), 0);
        for block in entries.chunks(SUM_ENTRIES) {
            sums.push(delta);
            delta += block.iter().map(Entry::delta).sum::<i64>();
        }
        let bytes = entries.capacity() * size_of::<Entry>() + size_of_val(&*sums);
        let charge = Charge::new(budget, bytes + size_of::<Run>());
        Run { base_rows, bound, entries, sums, delta, values, charge }
    }
}

struct Reader<'a> {
    input: Input<'a>,
    types: &'a [Type],
    base_rows: Sid,
    values: LayerValues,
    budget: &'a Arc<Budget>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], types: &'a [Type], budget: &'a Arc<Budget>) -> Reader<'a> {
        let values = LayerValues::default();
        Reader { input: Input::new(bytes, "run of changes"), types, base_rows: 0, values, budget }
    }

    fn header(&mut self, base_rows: Sid) -> Result<Stamp> {
        if self.input.raw(MAGIC.len())? != MAGIC {
            return Err(self.input.corrupt("it does not begin as one"));
        }
        let (major, minor) = (self.input.byte()?, self.input.byte()?);
        if major != VERSION_MAJOR || minor > VERSION_MINOR {
            let message = format!("a run of changes of format {major}.{minor}");
            return Err(Error::unsupported(message).hint("use a newer version of volley"));
        }
        let bound = Stamp(self.input.number()?);
        if self.input.u32()? != base_rows {
            return Err(self.input.corrupt("another segment's number of rows"));
        }
        if self.input.number()? != self.types.len() as u64 {
            return Err(self.input.corrupt("another table's number of columns"));
        }
        self.base_rows = base_rows;
        Ok(bound)
    }

    fn deleted(&mut self) -> Result<Vec<Range<Sid>>> {
        let count = self.input.count()?;
        let (mut deleted, mut last) = (Vec::with_capacity(count), 0u32);
        for number in 0..count {
            let (gap, rows) = (self.input.u32()?, self.input.u32()?);
            let start = last.checked_add(gap);
            let end = start.and_then(|it| it.checked_add(rows));
            let within = end.filter(|it| *it <= self.base_rows && rows > 0);
            let is_apart = gap > 0 || number == 0;
            let (Some(start), Some(end), true) = (start, within, is_apart) else {
                return Err(self.input.corrupt("deleted rows that do not exist"));
            };
            deleted.push(start..end);
            last = end;
        }
        Ok(deleted)
    }

    fn modified(&mut self, bound: Stamp) -> Result<Vec<Entry>> {
        let (mut entries, mut next) = (Vec::new(), 0);
        for _ in 0..self.input.count()? {
            let column = self.input.u32()?;
            let data_type = self.types.get(column as usize);
            let Some(data_type) = data_type.filter(|_| column >= next) else {
                return Err(self.input.corrupt("columns that are not in order"));
            };
            next = column + 1;
            let count = self.input.count()?;
            let sids = self.ascending(count, self.base_rows)?;
            for rows in batch_lengths(count) {
                let batch = self.rows(std::slice::from_ref(data_type), rows)?;
                let values = batch.column(0).flatten()?;
                let chunk = Arc::new(ValueChunk::new(values, self.budget));
                self.values.append_column(column, chunk, self.budget)?;
            }
            entries.extend((0..).zip(sids).map(|(value, sid)| {
                Entry::new(Key::base(sid), Change::Modify { column, value }, bound)
            }));
        }
        Ok(entries)
    }

    /// The entries of inserts in order.
    fn inserts(&mut self, bound: Stamp) -> Result<Vec<Entry>> {
        let count = self.input.count()?;
        let ids = self.ascending(count, PROVISIONAL)?;
        let (mut sids, mut sid) = (Vec::with_capacity(count), 0i64);
        for _ in 0..count {
            sid = sid.saturating_add(self.input.signed()?);
            let valid = u32::try_from(sid).ok().filter(|it| *it <= self.base_rows);
            sids.push(valid.ok_or_else(|| self.input.corrupt("an insert beyond the end"))?);
        }
        let mut start = 0;
        for rows in batch_lengths(count) {
            let batch = self.rows(self.types, rows)?;
            let columns = batch.columns().iter().map(|it| it.flatten());
            let batch = Batch::new(columns.collect::<Result<_>>()?, rows);
            let (ids, sids) = (&ids[start..start + rows], &sids[start..start + rows]);
            let chunk = Arc::new(InsertChunk::sparse(batch, ids, sids, self.budget));
            self.values.inserts.push(ids[0], chunk, self.budget)?;
            start += rows;
        }
        let mut keys: Vec<Key> =
            sids.iter().zip(&ids).map(|(sid, id)| Key::new(*sid, *id)).collect();
        keys.sort_unstable();
        let runs = keys.chunk_by(|a, b| a.0 + 1 == b.0);
        Ok(runs
            .map(|it| Entry::new(it[0], Change::Insert { rows: it.len() as u32 }, bound))
            .collect())
    }

    /// Numbers that ascend, below `end`.
    fn ascending(&mut self, count: usize, end: u32) -> Result<Vec<u32>> {
        let (mut numbers, mut next) = (Vec::with_capacity(count), 0u32);
        for _ in 0..count {
            let number = next.checked_add(self.input.u32()?).filter(|it| *it < end);
            let number = number.ok_or_else(|| self.input.corrupt("a row that does not exist"))?;
            numbers.push(number);
            next = number + 1;
        }
        Ok(numbers)
    }

    fn rows(&mut self, types: &[Type], rows: usize) -> Result<Batch> {
        let bytes = self.input.block()?;
        let batch = decode(bytes, types)?;
        if batch.rows() != rows {
            return Err(self.input.corrupt("a batch of another number of rows"));
        }
        Ok(batch)
    }
}

/// The lengths of the batches that `count` rows are written in.
fn batch_lengths(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(BATCH_ROWS).map(move |it| BATCH_ROWS.min(count - it))
}

/// Adds the entries of deleted ranges: none covers a row on both sides of an insert.
fn split_deletes(
    deleted: &[Range<Sid>],
    inserted: &[Entry],
    bound: Stamp,
    entries: &mut Vec<Entry>,
) {
    let mut inserts = inserted.iter().map(|it| it.key.sid()).peekable();
    for range in deleted {
        let mut start = range.start;
        let mut push = |start: Sid, end: Sid| {
            let change = Change::Delete { rows: end - start };
            entries.push(Entry::new(Key::base(start), change, bound));
        };
        while inserts.next_if(|it| *it <= start).is_some() {}
        while let Some(sid) = inserts.next_if(|it| *it < range.end) {
            if sid > start {
                push(start, sid);
                start = sid;
            }
        }
        push(start, range.end);
    }
}

/// Checks that no entry lies within another, and that there is one per position.
fn check_apart(entries: &[Entry]) -> Result<(), &'static str> {
    for pair in entries.windows(2) {
        let last = pair[0].key.0 + key_span(&pair[0]);
        if last > pair[1].key.0 || (last == pair[1].key.0 && !is_column(&pair[0])) {
            return Err("a deleted row is modified, or a row is there twice");
        }
    }
    Ok(())
}

fn is_column(entry: &Entry) -> bool {
    matches!(entry.change(), Change::Modify { .. })
}

/// How far the last key that an entry covers is from the first.
fn key_span(entry: &Entry) -> u64 {
    match entry.change() {
        Change::Delete { rows } => u64::from(rows - 1) << 32,
        Change::Insert { rows } => u64::from(rows - 1),
        _ => 0,
    }
}
