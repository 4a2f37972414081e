//! Names after a segment was rewritten with its changes.
//!
//! A segment is written again from one of its versions while transactions go on. A row of that
//! version becomes the base row at its position in the version. Changes that were committed in the
//! meantime, and those of open transactions, are carried over: their rows get the new names, and
//! inserts are numbered again in the order of rows, because inserts before different base rows may
//! come to stand before the same one.
//!
//! Tombstones are not carried over. A transaction that is older than the new segment is checked
//! against the last version of the old one, which has them, and then translated; a name without a
//! translation is a row that was deleted.

use crate::{
    Change, Chunk, Conflict, Entry, InsertChunk, Key, Layers, PROVISIONAL, Pdt, RowName, Sid,
    Stamp, View,
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_vector::{Parts, Pick};

/// Rows of the chunks that inserts are copied to.
const CHUNK_ROWS: usize = 4096;

/// From the names of a segment to those of its successor.
#[derive(Clone, Debug)]
pub struct Translator {
    /// The version that was written.
    written: Layers,
    /// The last version.
    last: Layers,
    /// Inserts that are later than what was written.
    inserts: Vec<Renamed>,
    /// The new segment without changes.
    next: Pdt,
    /// Rows of the new segment before those of the old one.
    offset: Sid,
}

/// Inserts with consecutive ids, and their keys now.
#[derive(Clone, Copy, Debug)]
struct Renamed {
    id: u32,
    rows: u32,
    key: Key,
}

impl Layers {
    /// Carries the changes after commit `stamp` over to the segment that was written from
    /// `written`, the version of that commit. This version must be the last one of the old segment;
    /// nothing may have been frozen since `written`.
    ///
    /// # Errors
    ///
    /// Out of memory; internal: the version was frozen in between.
    pub fn translate(&self, written: &Layers, stamp: Stamp) -> Result<(Translator, Layers)> {
        let is_same = match (&self.run, &written.run) {
            (Some(run), Some(before)) => Arc::ptr_eq(run, before),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            return Err(Error::internal("changes were frozen while their segment was rewritten"));
        }
        let rows = Sid::try_from(written.view().rows())
            .map_err(|_| Error::internal("a segment of 2^32 rows"))?;
        let (types, budget) = (&self.write.types, &self.write.budget);
        let mut write = Pdt::new(Arc::clone(types), rows, Arc::clone(budget))?;
        let mut translator = Translator {
            written: written.clone(),
            last: self.clone(),
            inserts: Vec::new(),
            next: write.clone(),
            offset: 0,
        };
        translator.inserts = translator.carry_over(&self.write, stamp, &mut write)?;
        Ok((translator, Layers::new(write)))
    }
}

impl Translator {
    /// For a new segment of `rows` rows, whose rows from `offset` on are those of the old one.
    ///
    /// # Errors
    ///
    /// Out of memory; internal: fewer rows than the old segment has.
    pub fn within(self, offset: Sid, rows: Sid) -> Result<Translator> {
        if u64::from(offset) + u64::from(self.next.base_rows) > u64::from(rows) {
            return Err(Error::internal("a segment that is longer than what it is a part of"));
        }
        let (types, budget) = (Arc::clone(&self.next.types), Arc::clone(&self.next.budget));
        Ok(Translator { next: Pdt::new(types, rows, budget)?, offset, ..self })
    }

    /// The position in the new segment of a row that `rank` rows precede in the old one.
    fn sid(&self, rank: u64) -> Option<Sid> {
        u32::try_from(rank).ok()?.checked_add(self.offset)
    }

    /// The name in the new segment of a row of the old one; `None` if the row was deleted.
    pub fn row(&self, row: RowName) -> Option<RowName> {
        let key = self.last.view().key(row)?;
        self.key(key, &[]).map(Key::name)
    }

    /// The changes of a transaction that began at `snapshot`, with the new names; or the row that a
    /// later commit to the old segment changed, too.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn transaction(&self, own: &Pdt, snapshot: Stamp) -> Result<Result<Pdt, Conflict>> {
        if let Some(conflict) = self.last.conflict(own, snapshot) {
            return Ok(Err(conflict));
        }
        let mut translated = self.next.transaction()?;
        // Its entries are later than any commit.
        self.carry_over(own, Stamp(u64::MAX - 1), &mut translated)?;
        Ok(Ok(translated))
    }

    fn written(&self) -> View<'_> {
        self.written.view()
    }

    /// The key that the row of `key` has now; `carried` are inserts that are carried over with it.
    fn key(&self, key: Key, carried: &[Renamed]) -> Option<Key> {
        if key.is_base() || key.id() < PROVISIONAL {
            let written = self.written();
            let is_written = match key.name() {
                RowName::Base(_) => written.is_live(key),
                name => written.live_key(name).is_some(),
            };
            if is_written {
                return self.sid(written.rank(key)).map(Key::base);
            }
        }
        if key.is_base() {
            return None;
        }
        find(carried, key.id()).or_else(|| find(&self.inserts, key.id()))
    }

    /// Adds the changes of `from` that are later than `stamp` to `to`; the inserts by old id.
    fn carry_over(&self, from: &Pdt, stamp: Stamp, to: &mut Pdt) -> Result<Vec<Renamed>> {
        let entries = || from.tree.iter().filter(move |it| it.stamp > stamp);
        let inserts = self.carry_inserts(from, entries(), to)?;
        let mut numbers = to.take_values(from, entries())?.into_iter();
        // Of a transaction, inserts of earlier commits are looked up in the translator.
        let find = |key: Key| self.key(key, &inserts);
        for entry in entries() {
            match entry.change() {
                Change::Insert { .. } => {}
                Change::Delete { rows } => {
                    let sid = entry.key.sid();
                    self.delete(sid..sid + rows, entry.stamp, to)?;
                }
                Change::Tombstone | Change::Remove => match find(entry.key) {
                    Some(key) if key.is_base() => {
                        to.put_delete(key.sid()..key.sid() + 1, entry.stamp)?;
                    }
                    Some(key) => to.put_remove(key, entry.stamp)?,
                    None => {}
                },
                Change::Modify { column, .. } => {
                    let value = numbers.next().ok_or_else(no_row)?;
                    let key = find(entry.key).ok_or_else(no_row)?;
                    to.put_modify(key, column, value, entry.stamp)?;
                }
            }
        }
        Ok(inserts)
    }

    /// Deletes what base rows of the old segment are now: one range, unless inserts came between.
    fn delete(&self, sids: Range<Sid>, stamp: Stamp, to: &mut Pdt) -> Result<()> {
        let rank = |sid: Sid| self.key(Key::base(sid), &[]).map(Key::sid).ok_or_else(no_row);
        let mut rest = vec![sids];
        while let Some(sids) = rest.pop() {
            let (first, last) = (rank(sids.start)?, rank(sids.end - 1)?);
            if last - first == sids.end - 1 - sids.start {
                to.put_delete(first..last + 1, stamp)?;
                continue;
            }
            let middle = sids.start + (sids.end - sids.start) / 2;
            rest.extend([middle..sids.end, sids.start..middle]);
        }
        Ok(())
    }

    /// Adds inserts with new ids in the order of rows.
    fn carry_inserts<'a>(
        &self,
        from: &Pdt,
        entries: impl Iterator<Item = &'a Entry>,
        to: &mut Pdt,
    ) -> Result<Vec<Renamed>> {
        let (mut renamed, mut picks, mut sids) = (Vec::new(), Vec::new(), Vec::new());
        let chunks = &from.values.inserts;
        for entry in entries {
            let Change::Insert { rows } = entry.change() else { continue };
            let sid = self.sid(self.written().rank(entry.key)).ok_or_else(no_row)?;
            let key = Key::new(sid, to.take_ids(rows)?);
            to.put_insert(key, rows, entry.stamp)?;
            renamed.push(Renamed { id: entry.key.id(), rows, key });
            for id in entry.key.id()..entry.key.id() + rows {
                let found = from.values.find(id).ok_or_else(no_row)?;
                picks.push(Pick { part: found.chunk as u32, row: found.row });
                sids.push(sid);
            }
        }
        let Some(first) = renamed.first().map(|it: &Renamed| it.key.id()) else {
            return Ok(renamed);
        };
        let mut parts = Parts::new(&from.types, chunks.len());
        for (number, (_, chunk)) in chunks.iter().enumerate() {
            parts.set(number, &chunk.rows)?;
        }
        let ids: Vec<u32> = (first..).take(sids.len()).collect();
        for start in (0..sids.len()).step_by(CHUNK_ROWS) {
            let range = start..sids.len().min(start + CHUNK_ROWS);
            let rows = parts.gather(&picks[range.clone()])?;
            to.budget.ensure(rows.retained_bytes())?;
            let budget = Arc::clone(&to.budget);
            let chunk =
                InsertChunk::sparse(rows, &ids[range.clone()], &sids[range.clone()], &budget);
            debug_assert_eq!(chunk.span() as usize, range.len());
            to.values.inserts.push(ids[start], Arc::new(chunk), &budget)?;
        }
        renamed.sort_unstable_by_key(|it| it.id);
        Ok(renamed)
    }
}

fn find(inserts: &[Renamed], id: u32) -> Option<Key> {
    let after = inserts.partition_point(|it| it.id <= id);
    let found = inserts.get(after.checked_sub(1)?)?;
    let distance = id - found.id;
    (distance < found.rows).then(|| Key(found.key.0 + u64::from(distance)))
}

#[cold]
fn no_row() -> Error {
    Error::internal("a change of a row that its segment did not have when it was rewritten")
}
