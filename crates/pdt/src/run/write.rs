//! Runs as bytes.

use super::{BATCH_ROWS, MAGIC, VERSION_MAJOR, VERSION_MINOR};
use crate::{Column, Sid, Stamp, bytes::Output};
use std::ops::Range;
use volley_error::{Error, Result};
use volley_vector::{Batch, Vector};
use volley_wire::encode;

/// What a run says.
#[derive(Debug)]
pub(crate) struct RunContents<'a> {
    pub(crate) base_rows: Sid,
    pub(crate) bound: Stamp,
    /// Columns of the table.
    pub(crate) columns: usize,
    /// Ascending, not adjacent.
    pub(crate) deleted: &'a [Range<Sid>],
    pub(crate) modified: &'a [RunColumn<'a>],
    pub(crate) inserts: RunInserts<'a>,
}

/// The modified values of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunColumn<'a> {
    pub(crate) column: Column,
    /// Ascending.
    pub(crate) sids: &'a [Sid],
    pub(crate) values: &'a Vector,
}

/// Inserted rows in the order of their ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunInserts<'a> {
    pub(crate) ids: &'a [u32],
    pub(crate) sids: &'a [Sid],
    pub(crate) rows: &'a Batch,
}

/// The bytes of a run.
pub(crate) fn write(contents: &RunContents<'_>) -> Result<Vec<u8>> {
    let mut output = Output::default();
    output.raw(&MAGIC);
    output.raw(&[VERSION_MAJOR, VERSION_MINOR]);
    output.number(contents.bound.0);
    output.number(contents.base_rows.into());
    output.number(contents.columns as u64);
    write_deleted(contents.deleted, &mut output);
    output.number(contents.modified.len() as u64);
    for column in contents.modified {
        output.number(column.column.into());
        output.number(column.sids.len() as u64);
        write_ascending(column.sids, &mut output)?;
        write_rows(&Batch::new(vec![column.values.clone()], column.sids.len()), &mut output)?;
    }
    write_inserts(contents.inserts, &mut output)?;
    Ok(output.bytes)
}

fn write_deleted(deleted: &[Range<Sid>], output: &mut Output) {
    output.number(deleted.len() as u64);
    let mut end = 0;
    for range in deleted {
        output.number((range.start - end).into());
        output.number((range.end - range.start).into());
        end = range.end;
    }
}

/// The first number, then distances less 1.
fn write_ascending(numbers: &[u32], output: &mut Output) -> Result<()> {
    let mut next = 0;
    for number in numbers {
        let distance = number.checked_sub(next);
        let distance = distance.ok_or_else(|| Error::internal("numbers that do not ascend"))?;
        output.number(distance.into());
        next = number.saturating_add(1);
    }
    Ok(())
}

fn write_inserts(inserts: RunInserts<'_>, output: &mut Output) -> Result<()> {
    output.number(inserts.ids.len() as u64);
    write_ascending(inserts.ids, output)?;
    let mut before = 0;
    for sid in inserts.sids {
        output.signed(i64::from(*sid) - before);
        before = (*sid).into();
    }
    write_rows(inserts.rows, output)
}

/// Batches of at most [`BATCH_ROWS`] rows.
fn write_rows(rows: &Batch, output: &mut Output) -> Result<()> {
    let mut bytes = Vec::new();
    for start in (0..rows.rows()).step_by(BATCH_ROWS) {
        bytes.clear();
        encode(&rows.slice(start, BATCH_ROWS.min(rows.rows() - start)), &mut bytes)?;
        output.block(&bytes);
    }
    Ok(())
}
