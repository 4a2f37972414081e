//! The index of rows that one segment's changes wrote.
//!
//! An index says up to which id it has inserted rows, and how many modified values it has seen. So
//! the index of an earlier state is extended by the rows inserted since. When values of the key's
//! columns were modified since, it is made again: changes of keys are deletes and inserts, so that
//! this is rare.

use super::{bounds::ChangeBounds, runs::SortedRuns};
use crate::SegmentVersion;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::{Keys, key_hashes};
use volley_error::{ErrorKind, Result};
use volley_memory::check_cancelled;
use volley_pdt::{Budget, Inserts, Layer, Layers, MergePlan, PROVISIONAL, Pdt, RowName, View};
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// A hash of a key, and a row of the segment.
type KeyEntry = (u64, RowName);

/// Rows by the hashes of their keys when they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeltaIndex {
    rows: SortedRuns<KeyEntry>,
    /// Inserted rows with ids below this are in it.
    end_id: u32,
    /// Modified values of the key's columns.
    modified: u64,
}

/// What is known of changes. A clone knows the same, and then learns for itself.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    /// By segment and columns of the key.
    indexes: Mutex<BTreeMap<(u32, Vec<usize>), Arc<DeltaIndex>>>,
    /// By segment.
    pub(super) bounds: Mutex<BTreeMap<u32, Arc<ChangeBounds>>>,
}

impl Clone for IndexCache {
    fn clone(&self) -> Self {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner).clone();
        IndexCache { indexes: Mutex::new(indexes), bounds: Mutex::new(bounds) }
    }
}

/// What an index is of: the committed changes of a segment, or a transaction's.
#[derive(Clone, Copy)]
pub(crate) enum Indexed<'a> {
    Committed(&'a Layers),
    Own(&'a Layers, &'a Pdt),
}

impl Indexed<'_> {
    pub(super) fn layers(&self) -> Vec<Layer<'_>> {
        match self {
            Indexed::Committed(layers) => layers.view().layers().collect(),
            Indexed::Own(_, own) => vec![Layer::Tree(own)],
        }
    }

    /// What names of rows are looked up in.
    fn view(&self) -> View<'_> {
        match self {
            Indexed::Committed(layers) => layers.view(),
            Indexed::Own(layers, own) => layers.with(own),
        }
    }

    pub(super) fn first_id(&self) -> u32 {
        match self {
            Indexed::Committed(_) => 0,
            Indexed::Own(..) => PROVISIONAL,
        }
    }

    pub(super) fn end_id(&self) -> u32 {
        match self {
            Indexed::Committed(layers) => layers.write.next_id(),
            Indexed::Own(_, own) => own.next_id(),
        }
    }

    fn budget(&self) -> &Arc<Budget> {
        match self {
            Indexed::Committed(layers) => layers.write.budget(),
            Indexed::Own(_, own) => own.budget(),
        }
    }

    fn modified(&self, columns: &[usize]) -> u64 {
        let layers = self.layers();
        let of_layer = |column: &usize| {
            let values =
                |it: &Layer<'_>| it.values().column(*column as u32).map_or(0, |it| it.end());
            layers.iter().map(|it| u64::from(values(it))).sum::<u64>()
        };
        columns.iter().map(of_layer).sum()
    }
}

impl IndexCache {
    /// What holds after `layers` were frozen: that numbers modified values again, and moves those
    /// of inserted rows to the rows.
    pub(crate) fn after_freeze(&self, layers: &Layers) -> IndexCache {
        let mut left = self.clone();
        let committed = Indexed::Committed(layers);
        let indexes = left.indexes.get_mut().unwrap_or_else(PoisonError::into_inner);
        indexes.retain(|(_, columns), _| committed.modified(columns) == 0);
        let bounds = left.bounds.get_mut().unwrap_or_else(PoisonError::into_inner);
        let columns: Vec<usize> = (0..layers.write.types().len()).collect();
        bounds.retain(|_, _| committed.modified(&columns) == 0);
        left
    }

    /// The index of `indexed`, brought up to date; `None` without memory for it.
    pub(crate) fn get(
        &self,
        segment: &SegmentVersion,
        columns: &[usize],
        indexed: Indexed<'_>,
        types: &[Type],
    ) -> Result<Option<Arc<DeltaIndex>>> {
        let key = (segment.segment.id(), columns.to_vec());
        let lock = || self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&key).cloned();
        let (end_id, modified) = (indexed.end_id(), indexed.modified(columns));
        if let Some(known) = &known
            && (known.end_id, known.modified) == (end_id, modified)
        {
            return Ok(Some(Arc::clone(known)));
        }
        let usable = known.filter(|it| it.end_id <= end_id && it.modified == modified);
        match DeltaIndex::extend(usable.as_deref(), segment, columns, indexed, types) {
            Ok(index) => {
                let index = Arc::new(index);
                lock().insert(key, Arc::clone(&index));
                Ok(Some(index))
            }
            Err(error) if error.kind() == ErrorKind::OutOfMemory => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl DeltaIndex {
    /// The rows that may have a key with this hash.
    pub(crate) fn rows(&self, hash: u64) -> impl Iterator<Item = RowName> {
        let (first, last) = (RowName::Base(0), RowName::Inserted(u32::MAX));
        self.rows.between((hash, first), (hash, last)).map(|it| it.1)
    }

    /// The index of all rows of `indexed`, if `known` has those of an earlier state.
    fn extend(
        known: Option<&DeltaIndex>,
        segment: &SegmentVersion,
        columns: &[usize],
        indexed: Indexed<'_>,
        types: &[Type],
    ) -> Result<DeltaIndex> {
        let (end_id, modified) = (indexed.end_id(), indexed.modified(columns));
        let start = known.map_or(indexed.first_id(), |it| it.end_id.max(indexed.first_id()));
        let mut entries = Vec::new();
        for layer in indexed.layers() {
            add_inserted(&layer.values().inserts, start, columns, &mut entries)?;
        }
        if known.is_none() && modified > 0 {
            add_modified(segment, columns, indexed, types, &mut entries)?;
        }
        let rows = known.map(|it| it.rows.clone()).unwrap_or_default();
        Ok(DeltaIndex { rows: rows.with(entries, indexed.budget())?, end_id, modified })
    }
}

/// Adds the rows inserted with ids from `start` on.
fn add_inserted(
    inserts: &Inserts,
    start: u32,
    columns: &[usize],
    entries: &mut Vec<KeyEntry>,
) -> Result<()> {
    for (chunk, rows) in inserts.since(start) {
        check_cancelled()?;
        let Some(first) = rows.first().map(|it| it.1 as usize) else { continue };
        let keys = chunk.rows.project(columns).slice(first, rows.len());
        let ids = rows.iter().map(|it| RowName::Inserted(it.0));
        add_keys(&keys, ids, entries)?;
    }
    Ok(())
}

/// Adds rows whose key's columns were modified, with the values that they have now.
fn add_modified(
    segment: &SegmentVersion,
    columns: &[usize],
    indexed: Indexed<'_>,
    types: &[Type],
    entries: &mut Vec<KeyEntry>,
) -> Result<()> {
    let plan = MergePlan::new(indexed.view())?;
    let mut sids = Vec::new();
    for column in columns {
        let changes = plan.range(0..plan.base_rows());
        if let Some(modified) = changes.modified(*column as u32) {
            sids.extend_from_slice(modified.sids);
        }
    }
    sids.sort_unstable();
    sids.dedup();
    let names: Vec<RowName> = sids.into_iter().map(RowName::Base).collect();
    for names in names.chunks(1024) {
        check_cancelled()?;
        let keys = segment.values_of(indexed.view(), names, columns, types)?;
        add_keys(&keys, names.iter().copied(), entries)?;
    }
    for inserted in plan.inserted_with_ids(columns) {
        let flat = inserted.rows.columns().iter().map(Vector::flatten).collect::<Result<_>>()?;
        let keys = Batch::new(flat, inserted.ids.len());
        add_keys(&keys, inserted.ids.iter().map(|it| RowName::Inserted(*it)), entries)?;
    }
    Ok(())
}

fn add_keys(
    keys: &Batch,
    names: impl Iterator<Item = RowName>,
    entries: &mut Vec<KeyEntry>,
) -> Result<()> {
    let (hashes, values) = (key_hashes(keys)?, Keys::new(keys)?);
    let rows = names.zip(hashes).enumerate().filter(|it| !values.has_null(it.0));
    entries.extend(rows.map(|(_, (row, hash))| (hash, row)));
    Ok(())
}
