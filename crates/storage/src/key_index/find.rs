//! Rows of a version by their keys: candidates of the indexes, confirmed by their values.

use super::delta::Indexed;
use crate::{SegmentView, TableView, bounds_of};
use volley_connector::{Bounds, Keys, are_apart, key_hashes};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_pdt::{RowId, RowName};
use volley_types::Type;
use volley_vector::Batch;

/// A row whose key was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundRow {
    /// Which of the keys it has.
    pub key: u32,
    /// The row.
    pub row: RowId,
}

impl TableView {
    /// The rows whose values in `columns` are those of a row of `keys`, a batch of flat vectors of
    /// these columns' types: by key, then by row. `None` when an index is missing and there is no
    /// memory to make it, or a large segment was never asked before. Keys with a null part are not
    /// found.
    ///
    /// # Errors
    ///
    /// I/O, corruption, cancelled.
    pub fn find(&self, columns: &[usize], keys: &Batch) -> Result<Option<Vec<FoundRow>>> {
        let wanted = Wanted::new(columns, keys)?;
        let mut candidates = Vec::new();
        // Each segment is asked, so that all of them have indexes next time.
        let mut are_known = true;
        for segment in &self.segments {
            check_cancelled()?;
            are_known &= segment.add_candidates(&wanted, &self.types, &mut candidates)?;
        }
        if !are_known {
            return Ok(None);
        }
        let mut found = self.confirmed(&wanted, candidates)?;
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }

    fn confirmed(&self, wanted: &Wanted<'_>, candidates: Vec<FoundRow>) -> Result<Vec<FoundRow>> {
        if candidates.is_empty() {
            return Ok(candidates);
        }
        let ids: Vec<RowId> = candidates.iter().map(|it| it.row).collect();
        let values = self.fetch(&ids, wanted.columns)?;
        let flat = values.columns().iter().map(|it| it.flatten()).collect::<Result<_>>()?;
        let values = Keys::new(&Batch::new(flat, ids.len()))?;
        let is_equal =
            |it: &(usize, FoundRow)| values.is_equal(it.0, &wanted.keys, it.1.key as usize);
        Ok(candidates.into_iter().enumerate().filter(is_equal).map(|it| it.1).collect())
    }
}

/// Keys that are looked for.
struct Wanted<'a> {
    columns: &'a [usize],
    keys: Keys,
    hashes: Vec<u64>,
    /// By column of the key.
    bounds: Vec<Bounds>,
}

impl<'a> Wanted<'a> {
    fn new(columns: &'a [usize], keys: &Batch) -> Result<Wanted<'a>> {
        if keys.columns().len() != columns.len() {
            return Err(Error::internal("keys of other columns"));
        }
        let bounds = keys.columns().iter().map(bounds_of).collect::<Result<_>>()?;
        Ok(Wanted { columns, keys: Keys::new(keys)?, hashes: key_hashes(keys)?, bounds })
    }

    /// The keys without a null part.
    fn hashes(&self) -> impl Iterator<Item = (u32, u64)> {
        let hashes = self.hashes.iter().enumerate();
        hashes.filter(|it| !self.keys.has_null(it.0)).map(|it| (it.0 as u32, *it.1))
    }
}

impl SegmentView {
    /// Adds existing rows that may have one of the keys; `false` without memory for an index.
    fn add_candidates(
        &self,
        wanted: &Wanted<'_>,
        types: &[Type],
        candidates: &mut Vec<FoundRow>,
    ) -> Result<bool> {
        let (version, view) = (self.version(), self.view());
        let mut add = |key: u32, row: RowName| {
            if view.live_key(row).is_some() {
                let row = RowId { segment: self.segment_id(), row };
                candidates.push(FoundRow { key, row });
            }
        };
        let rows = &version.segment;
        let mut bounds = wanted.columns.iter().zip(&wanted.bounds);
        // Modified values are in the indexes of changes.
        let is_apart = bounds.any(|(column, new)| are_apart(new, &rows.bounds(*column)));
        if rows.rows() > 0 && !is_apart {
            let Some(index) = rows.key_index(wanted.columns, types)? else { return Ok(false) };
            for (key, hash) in wanted.hashes() {
                index.rows(hash).for_each(|it| add(key, RowName::Base(it)));
            }
        }
        let own = self.own().map(|own| (self.own_indexes(), Indexed::Own(&version.layers, own)));
        let committed = Some((&version.indexes, Indexed::Committed(&version.layers)));
        for (indexes, indexed) in committed.into_iter().chain(own) {
            let Some(index) = indexes.get(version, wanted.columns, indexed, types)? else {
                return Ok(false);
            };
            for (key, hash) in wanted.hashes() {
                index.rows(hash).for_each(|it| add(key, it));
            }
        }
        Ok(true)
    }
}
