//! The rows of a table as a reader or a transaction sees them.

use crate::{
    BLOCK_ROWS, SegmentVersion, TableChange,
    key_index::IndexCache,
    union_bounds,
    version::{TableVersion, Version},
};
use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};
use volley_connector::{Bounds, TableId};
use volley_error::{Error, Result};
use volley_pdt::{MergePlan, Pdt, RowId, RowName, Stamp, View};
use volley_types::Type;
use volley_vector::{Batch, Parts, Pick, Vector};

/// Fewer rows are read one by one.
const POINT_ROWS: usize = 64;

/// The rows of a table at one moment.
#[derive(Clone, Debug)]
pub struct TableView {
    /// The table.
    pub id: TableId,
    /// The types of its columns.
    pub types: Arc<[Type]>,
    /// The last commit that changed rows.
    pub changed: Stamp,
    /// In the order of rows.
    pub segments: Vec<Arc<SegmentView>>,
}

/// A segment, its committed changes, and those of a transaction.
#[derive(Debug)]
pub struct SegmentView {
    version: Arc<SegmentVersion>,
    own: Option<Arc<Pdt>>,
    /// Of `own`.
    own_indexes: Arc<IndexCache>,
    /// Whether a transaction added the segment.
    is_added: bool,
    /// With the transaction's changes.
    plan: OnceLock<Arc<MergePlan>>,
}

impl TableView {
    /// The committed rows of a table.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table.
    pub fn of_version(version: &Version, table: TableId) -> Result<TableView> {
        version.table(table).map(|it| TableView::committed(it))
    }

    pub(crate) fn committed(table: &TableVersion) -> TableView {
        let segments = table.segments.iter().map(|it| SegmentView::new(it, None, false));
        let (types, changed) = (Arc::clone(&table.types), table.changed);
        TableView { id: table.id, types, changed, segments: segments.collect() }
    }

    pub(crate) fn changed(change: &TableChange) -> TableView {
        let view = |it: &Arc<SegmentVersion>, is_added: bool| {
            let own = change.own.get(&it.segment.id());
            SegmentView::new(it, own.map(|it| (it, &change.indexes.0)), is_added)
        };
        let of_table = change.table.segments.iter().map(|it| view(it, change.replaces));
        let segments = of_table.chain(change.added.iter().map(|it| view(it, true))).collect();
        let (types, changed) = (Arc::clone(&change.table.types), change.table.changed);
        TableView { id: change.table.id, types, changed, segments }
    }

    /// One segment of a table, without changes that are not committed.
    pub(crate) fn of_segment(
        id: TableId,
        types: &Arc<[Type]>,
        segment: &Arc<SegmentVersion>,
    ) -> TableView {
        let segments = vec![SegmentView::new(segment, None, false)];
        TableView { id, types: Arc::clone(types), changed: Stamp::default(), segments }
    }

    /// Whether it has changes that are not committed.
    pub fn is_private(&self) -> bool {
        self.segments.iter().any(|it| it.own.is_some() || it.is_added)
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.segments.iter().map(|it| it.view().rows()).sum()
    }

    /// The segment with this number.
    pub fn segment(&self, id: u32) -> Option<&Arc<SegmentView>> {
        self.segments.iter().find(|it| it.segment_id() == id)
    }

    /// The rows with these ids, in their order.
    ///
    /// # Errors
    ///
    /// I/O, corruption; internal: a row that does not exist.
    pub fn fetch(&self, ids: &[RowId], columns: &[usize]) -> Result<Batch> {
        let types: Vec<Type> =
            columns.iter().filter_map(|it| self.types.get(*it).cloned()).collect();
        let mut batches: Vec<Batch> = Vec::new();
        let mut picks = vec![Pick { part: 0, row: 0 }; ids.len()];
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|it| ids.get(*it));
        for of_segment in order
            .chunk_by(|a, b| ids.get(*a).map(|it| it.segment) == ids.get(*b).map(|it| it.segment))
        {
            let Some(first) = of_segment.first().and_then(|it| ids.get(*it)) else { continue };
            let segment = self.segment(first.segment).ok_or_else(no_row)?;
            let names = of_segment.iter().filter_map(|it| ids.get(*it)).map(|it| it.row);
            let names: Vec<RowName> = names.collect();
            let found = segment.fetch(&names, columns, &self.types, &mut batches)?;
            for (at, pick) in of_segment.iter().zip(found) {
                if let Some(to) = picks.get_mut(*at) {
                    *to = pick;
                }
            }
        }
        let mut parts = Parts::new(&types, batches.len());
        for (number, batch) in batches.into_iter().enumerate() {
            parts.set(number, &Parts::prepare(batch)?)?;
        }
        parts.gather(&picks)
    }
}

impl SegmentView {
    fn new(
        version: &Arc<SegmentVersion>,
        own: Option<(&Arc<Pdt>, &Arc<IndexCache>)>,
        is_added: bool,
    ) -> Arc<SegmentView> {
        let own = own.filter(|it| !it.0.is_empty());
        let own_indexes = own.map(|it| Arc::clone(it.1)).unwrap_or_default();
        let (version, own) = (Arc::clone(version), own.map(|it| Arc::clone(it.0)));
        Arc::new(SegmentView { version, own, own_indexes, is_added, plan: OnceLock::new() })
    }

    /// The number of the segment.
    pub fn segment_id(&self) -> u32 {
        self.version.segment.id()
    }

    /// The committed version.
    pub fn version(&self) -> &Arc<SegmentVersion> {
        &self.version
    }

    /// The transaction's changes.
    pub(crate) fn own(&self) -> Option<&Pdt> {
        self.own.as_deref()
    }

    /// Indexes of the transaction's changes.
    pub(crate) fn own_indexes(&self) -> &IndexCache {
        &self.own_indexes
    }

    /// All layers.
    pub fn view(&self) -> View<'_> {
        View { layers: &self.version.layers, own: self.own.as_deref() }
    }

    /// The changes as a scan merges them, computed once.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn plan(&self) -> Result<Arc<MergePlan>> {
        if self.own.is_none() {
            return self.version.plan();
        }
        if let Some(plan) = self.plan.get() {
            return Ok(Arc::clone(plan));
        }
        let plan = MergePlan::new(self.view())?;
        Ok(Arc::clone(self.plan.get_or_init(|| plan)))
    }

    /// Bounds of a column's values on disk and of its modified values: those of inserted rows are
    /// not included, unless values were modified. The number of nulls is known where it is exact.
    ///
    /// # Errors
    ///
    /// Query cancelled; internal: a value that cannot be read.
    pub fn base_bounds(&self, column: usize) -> Result<Bounds> {
        let of_base = self.version.segment.bounds(column);
        if !self.view().may_modify(column as u32) {
            return Ok(of_base);
        }
        let rows = self.version.segment.rows().into();
        self.widened_by_changes(column, of_base, rows)
    }

    /// Bounds of a column's inserted values. The number of nulls is known where it is exact.
    ///
    /// # Errors
    ///
    /// Query cancelled; internal: a value that cannot be read.
    pub fn insert_bounds(&self, column: usize) -> Result<Bounds> {
        let nothing = Bounds { nulls: Some(0), ..Bounds::default() };
        self.widened_by_changes(column, nothing, 0)
    }

    /// Bounds of `rows` rows and of all values that changes wrote.
    fn widened_by_changes(&self, column: usize, bounds: Bounds, rows: u64) -> Result<Bounds> {
        let (mut widened, mut rows) = (bounds, rows);
        for changes in self.change_bounds()? {
            let Some(of_column) = changes.columns.get(column) else { return Ok(Bounds::default()) };
            widened = union_bounds(&widened, rows, &of_column.bounds, of_column.values);
            rows += of_column.values;
        }
        let nulls = widened.nulls.filter(|it| *it == 0);
        Ok(Bounds { nulls, ..widened })
    }

    /// Reads base rows of one block: those at the positions `pick` in `sids`, with modified values.
    /// Deleted rows have any values.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    pub fn read(
        &self,
        column: usize,
        data_type: &Type,
        sids: Range<u32>,
        pick: Option<&[u32]>,
    ) -> Result<Vector> {
        let block = sids.start / BLOCK_ROWS;
        let start = block * BLOCK_ROWS;
        let mut reader = self.version.segment.open(column, block, data_type)?;
        let values = reader.read(sids.start - start..sids.end - start, pick)?;
        self.plan()?.range(sids).patch(column as u32, values, pick)
    }

    /// Adds batches with rows to `batches`; where each of `names`, ascending, is in them.
    fn fetch(
        &self,
        names: &[RowName],
        columns: &[usize],
        types: &[Type],
        batches: &mut Vec<Batch>,
    ) -> Result<Vec<Pick>> {
        if names.len() <= POINT_ROWS {
            let part = batches.len() as u32;
            batches.push(self.version.values_of(self.view(), names, columns, types)?);
            return Ok((0..names.len() as u32).map(|row| Pick { part, row }).collect());
        }
        let plan = self.plan()?;
        let mut picks = Vec::with_capacity(names.len());
        let is_base = |it: &RowName| matches!(it, RowName::Base(_));
        let (base, inserted) = names.split_at(names.partition_point(is_base));
        let sids = base.iter().filter_map(|it| match it {
            RowName::Base(sid) => Some(*sid),
            RowName::Inserted(_) => None,
        });
        let sids: Vec<u32> = sids.collect();
        for of_block in sids.chunk_by(|a, b| a / BLOCK_ROWS == b / BLOCK_ROWS) {
            let block = of_block.first().map_or(0, |it| it / BLOCK_ROWS);
            let range = self.version.segment.block_rows(block);
            let mut distinct = of_block.to_vec();
            distinct.dedup();
            if distinct.last().is_none_or(|it| !range.contains(it)) {
                return Err(no_row());
            }
            let at: Vec<u32> = distinct.iter().map(|it| it - range.start).collect();
            let vectors = columns.iter().map(|column| {
                let data_type = types.get(*column).ok_or_else(no_row)?;
                self.read(*column, data_type, range.clone(), Some(&at))
            });
            let part = batches.len() as u32;
            batches.push(Batch::new(vectors.collect::<Result<_>>()?, at.len()));
            let row = |it: &u32| distinct.partition_point(|sid| sid < it) as u32;
            picks.extend(of_block.iter().map(|it| Pick { part, row: row(it) }));
        }
        let first_chunk = batches.len() as u32;
        if !inserted.is_empty() {
            batches.extend(plan.chunks().map(|it| it.project(columns)));
        }
        for name in inserted {
            let key = self.view().live_key(*name).ok_or_else(no_row)?;
            let (chunk, row) = plan.inserted_at(key).ok_or_else(no_row)?;
            picks.push(Pick { part: first_chunk + chunk as u32, row });
        }
        Ok(picks)
    }
}

#[cold]
pub(crate) fn no_row() -> Error {
    Error::internal("no such row id")
}
