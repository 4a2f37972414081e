//! Versions: what is committed at one moment.
//!
//! ```text
//! Version          catalog, tables, numbers of sequences
//!   TableVersion   segments in the order of their rows
//!     SegmentVersion   a segment that never changes, and its changes
//! ```
//!
//! Versions are immutable and share what did not change. A reader keeps one while it reads.

use crate::{Segment, StoredBlock, key_index::IndexCache, numbers::Numbers};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};
use volley_connector::{CatalogSnapshot, SequenceId, TableId};
use volley_error::{Error, Result};
use volley_pdt::{Budget, Layers, MergePlan, Pdt, Stamp};
use volley_types::{Schema, Type};

/// What is committed at one moment.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// The last commit.
    pub stamp: Stamp,
    /// What objects there are.
    pub catalog: Arc<CatalogSnapshot>,
    /// The rows of each table of the catalog.
    pub tables: BTreeMap<TableId, Arc<TableVersion>>,
    /// The numbers of each sequence of the catalog.
    pub numbers: BTreeMap<SequenceId, Arc<Numbers>>,
}

/// The rows of a table.
#[derive(Clone, Debug)]
pub struct TableVersion {
    /// The table.
    pub id: TableId,
    /// Another one when the table was replaced as a whole.
    pub shape: u64,
    /// The types of its columns.
    pub types: Arc<[Type]>,
    /// At least one.
    pub segments: Vec<Arc<SegmentVersion>>,
    /// The last commit that changed rows.
    pub changed: Stamp,
}

/// A segment with its committed changes.
#[derive(Debug)]
pub struct SegmentVersion {
    /// The rows on disk.
    pub segment: Arc<Segment>,
    /// The changes.
    pub layers: Layers,
    /// The block that all of the changes are in, if they are in one.
    pub(crate) run: Option<StoredBlock>,
    /// Of the changes.
    pub(crate) indexes: IndexCache,
    plan: OnceLock<Arc<MergePlan>>,
}

impl Version {
    /// The rows of a table.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    pub fn table(&self, table: TableId) -> Result<&Arc<TableVersion>> {
        self.tables.get(&table).ok_or_else(no_table)
    }
}

#[cold]
pub(crate) fn no_table() -> Error {
    let error = Error::invalid_query("the table does not exist any more");
    error.hint("another statement dropped it")
}

impl TableVersion {
    /// A table without rows: its segment `segment` has none.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn empty(
        id: TableId,
        shape: u64,
        columns: &Schema,
        segment: u32,
        budget: &Arc<Budget>,
    ) -> Result<TableVersion> {
        let types: Arc<[Type]> = columns.types().cloned().collect();
        let segment = SegmentVersion::empty(id, segment, &types, budget)?;
        let segments = vec![Arc::new(segment)];
        Ok(TableVersion { id, shape, types, segments, changed: Stamp::default() })
    }

    /// The segment with this number.
    pub fn segment(&self, id: u32) -> Option<&Arc<SegmentVersion>> {
        self.segments.iter().find(|it| it.segment.id() == id)
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|it| it.layers.view().rows()).sum()
    }
}

impl SegmentVersion {
    /// A segment without changes.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn unchanged(
        segment: Arc<Segment>,
        types: &Arc<[Type]>,
        budget: &Arc<Budget>,
    ) -> Result<SegmentVersion> {
        let write = Pdt::new(Arc::clone(types), segment.rows(), Arc::clone(budget))?;
        Ok(SegmentVersion::new(segment, Layers::new(write), None))
    }

    /// A segment without rows, to which changes insert some.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn empty(
        table: TableId,
        id: u32,
        types: &Arc<[Type]>,
        budget: &Arc<Budget>,
    ) -> Result<SegmentVersion> {
        let segment = Segment::empty(table, id, types.len());
        SegmentVersion::unchanged(Arc::new(segment), types, budget)
    }

    pub(crate) fn new(
        segment: Arc<Segment>,
        layers: Layers,
        run: Option<StoredBlock>,
    ) -> SegmentVersion {
        let indexes = IndexCache::default();
        SegmentVersion { segment, layers, run, indexes, plan: OnceLock::new() }
    }

    /// With the indexes of an earlier version of the same segment.
    pub(crate) fn with_indexes(self, indexes: IndexCache) -> SegmentVersion {
        SegmentVersion { indexes, ..self }
    }

    /// The changes as a scan merges them, computed once.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn plan(&self) -> Result<Arc<MergePlan>> {
        if let Some(plan) = self.plan.get() {
            return Ok(Arc::clone(plan));
        }
        let plan = MergePlan::new(self.layers.view())?;
        Ok(Arc::clone(self.plan.get_or_init(|| plan)))
    }

    /// Whether nothing changed since the segment was written.
    pub fn is_clean(&self) -> bool {
        self.layers.view().is_clean()
    }
}
