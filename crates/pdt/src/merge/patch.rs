//! Overwriting modified values in decoded columns.

use super::RangeChanges;
use crate::{Column, MergePlan, plan::Path};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_vector::{CopyRange, Loader, Vector};

impl RangeChanges<'_> {
    /// `base`, the values of base rows in `column`, with the modified ones; the same vector if none
    /// is modified. `rows`: which base rows these are, ascending and counted from the start of the
    /// range; `None`: all of them. A lazy vector stays lazy, see [`patch_lazy`].
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits.
    pub fn patch(&self, column: Column, base: Vector, rows: Option<&[u32]>) -> Result<Vector> {
        let ranges = self.copy_ranges(column, rows);
        let Some(modified) = self.modified(column).filter(|_| !ranges.is_empty()) else {
            return Ok(base);
        };
        let dictionary = self.plan.columns.get(column as usize).and_then(Option::as_ref);
        if let Some(dictionary) = dictionary.map(|it| &it.dictionary)
            && let Some(patched) = dictionary.patch(&base, modified.values, &ranges)?
        {
            self.plan.count(Path::Recoded);
            return Ok(patched);
        }
        self.plan.count(Path::Patched);
        base.copy_ranges(modified.values, &ranges)
    }

    /// Which values go where.
    fn copy_ranges(&self, column: Column, rows: Option<&[u32]>) -> Vec<CopyRange> {
        let Some(modified) = self.modified(column) else { return Vec::new() };
        let mut ranges = Vec::with_capacity(modified.sids.len());
        let mut next = 0;
        for (from, sid) in (modified.first..).zip(modified.sids) {
            let row = sid - self.sids.start;
            let to = match rows {
                None => row as usize,
                Some(rows) => {
                    next += super::partition(&rows[next..], |it| *it < row);
                    if rows.get(next) != Some(&row) {
                        continue;
                    }
                    next
                }
            };
            push(&mut ranges, CopyRange { from, to, rows: 1 });
        }
        ranges
    }
}

/// Adds a range, as part of the last one if it continues it.
fn push(ranges: &mut Vec<CopyRange>, range: CopyRange) {
    match ranges.last_mut() {
        Some(last) if last.from + last.rows == range.from && last.to + last.rows == range.to => {
            last.rows += range.rows;
        }
        _ => ranges.push(range),
    }
}

/// `base`, the lazy values of base rows `sids`, with the modified ones of `column`, when they are
/// loaded; the same vector if none is modified.
pub fn patch_lazy(plan: &Arc<MergePlan>, sids: Range<u32>, column: Column, base: Vector) -> Vector {
    if plan.range(sids.clone()).modified(column).is_none() {
        return base;
    }
    let (data_type, len) = (base.data_type().clone(), base.len());
    let loader = PatchLoader { plan: Arc::clone(plan), sids, column, base: Some(base) };
    Vector::lazy(data_type, len, Box::new(loader))
}

/// Loads values of the base and overwrites them.
struct PatchLoader {
    plan: Arc<MergePlan>,
    sids: Range<u32>,
    column: Column,
    base: Option<Vector>,
}

impl Loader for PatchLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let base = self
            .base
            .take()
            .ok_or_else(|| volley_error::Error::internal("values of a lazy column loaded twice"))?;
        let base = match rows {
            // This is the only reference: the loader decodes just these rows.
            Some(rows) => base.select(rows),
            None => base,
        };
        self.plan.range(self.sids.clone()).patch(self.column, base.into_loaded()?, rows)
    }
}
