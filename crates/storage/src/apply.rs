//! From one version to the next: what commits and recoveries do in the same way.

use crate::{
    Segment, SegmentVersion,
    canary::{self, Mistake},
    numbers::Numbers,
    version::{TableVersion, Version},
};
use std::{collections::BTreeSet, sync::Arc};
use volley_connector::{CatalogSnapshot, SequenceId, TableId};
use volley_error::{Error, Result};
use volley_pdt::{Budget, Pdt, Stamp};

/// Changes of a table that fit to its version.
pub(crate) struct TableChanges {
    /// Segments after those of the version.
    pub(crate) added: Vec<Arc<SegmentVersion>>,
    /// By number of the segment, which is of the version or added.
    pub(crate) own: Vec<(u32, Arc<Pdt>)>,
}

impl TableVersion {
    /// The next version, as commit `stamp`.
    pub(crate) fn apply(&self, changes: &TableChanges, stamp: Stamp) -> Result<TableVersion> {
        let mut next = TableVersion { changed: stamp, ..self.clone() };
        next.segments.extend(changes.added.iter().cloned());
        for (id, own) in &changes.own {
            let segment = next.segments.iter_mut().find(|it| it.segment.id() == *id);
            let segment = segment.ok_or_else(|| Error::corruption("changes of no segment"))?;
            let layers = segment.layers.apply(own, stamp)?;
            let run = segment.run.clone().filter(|_| canary::makes(Mistake::StaleRun));
            let next = SegmentVersion::new(Arc::clone(&segment.segment), layers, run);
            *segment = Arc::new(next.with_indexes(segment.indexes.clone()));
        }
        Ok(next)
    }

    /// The version in which `new` take the place of segments `old`, which follow each other.
    pub(crate) fn replace(
        &self,
        old: &[u32],
        new: impl IntoIterator<Item = Arc<SegmentVersion>>,
    ) -> Result<TableVersion> {
        let missing = || Error::corruption("no segments to replace");
        let position = self.segments.iter().position(|it| Some(&it.segment.id()) == old.first());
        let range = position.map(|it| it..it + old.len()).ok_or_else(missing)?;
        let found = self.segments.get(range.clone()).ok_or_else(missing)?;
        if !found.iter().map(|it| it.segment.id()).eq(old.iter().copied()) {
            return Err(missing());
        }
        let mut next = self.clone();
        next.segments.splice(range, new);
        Ok(next)
    }

    /// Versions without changes of segments.
    pub(crate) fn unchanged(
        &self,
        segments: &[Arc<Segment>],
        budget: &Arc<Budget>,
    ) -> Result<Vec<Arc<SegmentVersion>>> {
        let unchanged =
            |it: &Arc<Segment>| SegmentVersion::unchanged(Arc::clone(it), &self.types, budget);
        segments.iter().map(|it| unchanged(it).map(Arc::new)).collect()
    }
}

impl Version {
    /// Replaces the catalog: tables and sequences that it does not have are gone.
    pub(crate) fn set_catalog(&mut self, catalog: Arc<CatalogSnapshot>) {
        let relations = catalog.schemas.values().flat_map(|it| it.relations.values());
        let tables: BTreeSet<TableId> =
            relations.filter_map(|it| it.as_table()).map(|it| it.id).collect();
        let sequences = catalog.schemas.values().flat_map(|it| it.sequences.values());
        let sequences: BTreeSet<SequenceId> = sequences.map(|it| it.id).collect();
        self.tables.retain(|id, _| tables.contains(id));
        self.numbers.retain(|id, _| sequences.contains(id));
        self.catalog = catalog;
    }

    /// Replaces a table.
    pub(crate) fn set_table(&mut self, table: TableVersion) {
        self.tables.insert(table.id, Arc::new(table));
    }

    /// Replaces the numbers of a sequence.
    pub(crate) fn set_numbers(&mut self, sequence: SequenceId, numbers: Arc<Numbers>) {
        self.numbers.insert(sequence, numbers);
    }
}
