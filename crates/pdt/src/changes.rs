//! The changes of a transaction to one segment as bytes, for a log.
//!
//! They are read as operations: a replay inserts, modifies and deletes the same rows in an empty
//! layer. It takes as many ids as the transaction did, so that rows get the same names again, also
//! where the transaction removed its own inserts.

#[cfg(test)]
mod tests;

use crate::{
    Change, Chunk, Column, Entry, InsertChunk, Key, Layers, PROVISIONAL, Pdt, RowName,
    bytes::{Input, Output},
};
use std::{ops::Range, slice};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::{decode, encode};

/// Rows of one batch.
const BATCH_ROWS: usize = 1024;

impl Pdt {
    /// The changes of this transaction, in the form that `docs/formats/storage.md` describes.
    ///
    /// # Errors
    ///
    /// Unsupported: opaque types. Internal: not a transaction's changes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut output = Output::default();
        self.write_inserts(&mut output)?;
        self.write_modified(&mut output)?;
        let deleted = self.tree.iter().filter_map(|it| match it.change() {
            Change::Delete { rows } => Some((it.key.sid(), rows)),
            _ => None,
        });
        let deleted: Vec<(u32, u32)> = deleted.collect();
        output.count(deleted.len());
        for (start, rows) in deleted {
            output.number(start.into());
            output.number(rows.into());
        }
        let removed = self.removed();
        output.count(removed.len());
        removed.iter().for_each(|it| output.number((*it).into()));
        Ok(output.bytes)
    }

    /// The ids of removed inserts: those of commits have an entry, the transaction's own ones have
    /// none any more.
    fn removed(&self) -> Vec<u32> {
        let of_commits = self.tree.iter().filter(|it| matches!(it.change(), Change::Remove));
        let mut removed: Vec<u32> = of_commits.map(|it| it.key.id()).collect();
        let own = self.tree.iter().filter_map(|it| match it.change() {
            Change::Insert { rows } => Some(it.key.id()..it.key.id() + rows),
            _ => None,
        });
        let mut own: Vec<Range<u32>> = own.collect();
        own.sort_unstable_by_key(|it| it.start);
        let mut next = PROVISIONAL;
        for ids in own {
            removed.extend(next..ids.start);
            next = ids.end;
        }
        removed.extend(next..self.next_id);
        removed
    }

    fn write_inserts(&self, output: &mut Output) -> Result<()> {
        let inserts = &self.values.inserts;
        let mut next = PROVISIONAL;
        let mut batches = Vec::new();
        for (first, chunk) in inserts.iter() {
            if first != next || chunk.span() as usize != chunk.rows.rows() {
                return Err(Error::internal("inserts of a transaction are not numbered in order"));
            }
            next += chunk.span();
            batches.extend(sid_batches(chunk));
        }
        if next != self.next_id {
            return Err(Error::internal("a transaction took ids without inserts"));
        }
        output.count(batches.len());
        for (sid, batch) in batches {
            output.number(sid.into());
            output.count(batch.rows());
            write_batch(&batch, output)?;
        }
        Ok(())
    }

    fn write_modified(&self, output: &mut Output) -> Result<()> {
        let is_modified = |it: &&Entry| matches!(it.change(), Change::Modify { .. });
        let entries = || self.tree.iter().filter(is_modified);
        let mut values = Pdt::new(self.types.clone(), self.base_rows, self.budget.clone())?;
        values.take_values(self, entries())?;
        output.count(values.values.columns().filter(|it| !it.1.is_empty()).count());
        for (column, chunks) in values.values.columns().filter(|it| !it.1.is_empty()) {
            let of_column = entries().filter(
                |it| matches!(it.change(), Change::Modify { column: of, .. } if of == column),
            );
            let keys: Vec<Key> = of_column.map(|it| it.key).collect();
            output.number(column.into());
            output.count(keys.len());
            keys.iter().for_each(|it| write_name(it.name(), output));
            for (_, chunk) in chunks.iter() {
                for start in (0..chunk.values.len()).step_by(BATCH_ROWS) {
                    let rows = BATCH_ROWS.min(chunk.values.len() - start);
                    let batch = Batch::new(vec![chunk.values.slice(start, rows)], rows);
                    output.count(rows);
                    write_batch(&batch, output)?;
                }
            }
        }
        Ok(())
    }

    /// The changes that [`Pdt::to_bytes`] wrote, to be applied to `below`: the version that the
    /// transaction's were applied to.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes, or changes of rows that do not exist. Out of memory.
    pub fn from_bytes(bytes: &[u8], below: &Layers) -> Result<Pdt> {
        let mut input = Input::new(bytes, "changes of a transaction");
        let mut own = below.transaction()?;
        for _ in 0..input.count()? {
            let sid = input.u32()?;
            if sid > own.base_rows {
                return Err(input.corrupt("an insert beyond the end"));
            }
            let batch = read_batch(&mut input, &own.types)?;
            own.insert(sid, &batch)?;
        }
        for _ in 0..input.count()? {
            own.read_modified(&mut input, below)?;
        }
        for _ in 0..input.count()? {
            let (start, rows) = (input.u32()?, input.u32()?);
            let end = start.checked_add(rows).filter(|it| *it <= own.base_rows);
            let end = end.ok_or_else(|| input.corrupt("deleted rows that do not exist"))?;
            if own.delete_range(below, start..end)? != u64::from(rows) {
                return Err(input.corrupt("a deleted row that does not exist"));
            }
        }
        let removed = input.all(|it| Ok(RowName::Inserted(it.u32()?)))?;
        if own.delete(below, &removed)? != removed.len() {
            return Err(input.corrupt("a removed insert that does not exist"));
        }
        input.finish()?;
        Ok(own)
    }

    fn read_modified(&mut self, input: &mut Input<'_>, below: &Layers) -> Result<()> {
        let column: Column = input.u32()?;
        let Some(data_type) = self.types.get(column as usize).cloned() else {
            return Err(input.corrupt("a column that does not exist"));
        };
        let mut names = &*input.all(read_name)?;
        while !names.is_empty() {
            let batch = read_batch(input, slice::from_ref(&data_type))?;
            let Some((of_batch, rest)) = names.split_at_checked(batch.rows()) else {
                return Err(input.corrupt("more values than rows"));
            };
            names = rest;
            if of_batch.is_empty()
                || self.modify(below, of_batch, &[column], &batch)? != batch.rows()
            {
                return Err(input.corrupt("a modified row that does not exist"));
            }
        }
        Ok(())
    }
}

/// The rows of a chunk, in batches of rows at the same SID.
fn sid_batches(chunk: &InsertChunk) -> Vec<(u32, Batch)> {
    let mut batches = Vec::new();
    let ends = chunk.anchors().iter().skip(1).map(|it| it.0 as usize).chain([chunk.rows.rows()]);
    for ((start, sid), end) in chunk.anchors().iter().zip(ends) {
        for start in (*start as usize..end).step_by(BATCH_ROWS) {
            batches.push((*sid, chunk.rows.slice(start, BATCH_ROWS.min(end - start))));
        }
    }
    batches
}

fn write_name(name: RowName, output: &mut Output) {
    match name {
        RowName::Base(sid) => output.number(u64::from(sid) << 1),
        RowName::Inserted(id) => output.number(u64::from(id) << 1 | 1),
    }
}

fn read_name(input: &mut Input<'_>) -> Result<RowName> {
    let number = input.number()?;
    let row = u32::try_from(number >> 1).map_err(|_| input.corrupt("a row that does not exist"))?;
    Ok(if number & 1 == 0 { RowName::Base(row) } else { RowName::Inserted(row) })
}

fn write_batch(batch: &Batch, output: &mut Output) -> Result<()> {
    let mut bytes = Vec::new();
    encode(batch, &mut bytes)?;
    output.block(&bytes);
    Ok(())
}

/// A count of rows and then as many.
fn read_batch(input: &mut Input<'_>, types: &[Type]) -> Result<Batch> {
    let rows = input.number()?;
    let batch = decode(input.block()?, types)?;
    if batch.rows() as u64 != rows {
        return Err(input.corrupt("a batch of another number of rows"));
    }
    let columns = batch.columns().iter().map(|it| it.flatten()).collect::<Result<_>>()?;
    Ok(Batch::new(columns, batch.rows()))
}
