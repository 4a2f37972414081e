//! Scans: a split is a block of rows of a segment, or the rows that were inserted into one.

use crate::{lookup::FoundRows, source::NativeSource, split::SplitRows, table::RowIds};
use std::sync::{Arc, Mutex, PoisonError};
use volley_connector::{
    Bounding, Conditions, ListedSplits, Scan, ScanMetrics, ScanRequest, Source, Split, SplitSource,
    TableEntry, may_join, may_match,
};
use volley_error::Result;
use volley_pdt::RowId;
use volley_storage::{Segment, SegmentView, TableView};

/// A scan of a table.
pub(crate) struct NativeScan {
    shared: Arc<ScanShared>,
}

/// What the sources of a scan share.
pub(crate) struct ScanShared {
    pub(crate) view: Arc<TableView>,
    pub(crate) entry: Arc<TableEntry>,
    /// The rows with the keys that filters name.
    pub(crate) found: Option<FoundRows>,
    /// Those with the keys of joins, once they are known: see [`ScanShared::found_now`].
    found_by_joins: Mutex<Option<Option<FoundRows>>>,
    pub(crate) row_ids: RowIds,
    pub(crate) request: ScanRequest,
    pub(crate) conditions: Conditions,
}

/// Which rows of a segment cannot be in the result.
#[derive(Clone, Copy, Debug, Default)]
struct RuledOut {
    base: bool,
    inserts: bool,
}

impl NativeScan {
    pub(crate) fn new(
        view: &Arc<TableView>,
        entry: &Arc<TableEntry>,
        row_ids: RowIds,
        request: ScanRequest,
    ) -> Result<NativeScan> {
        let conditions = Conditions::new(&request);
        let (view, entry) = (Arc::clone(view), Arc::clone(entry));
        let (found, found_by_joins) = (None, Mutex::default());
        let shared =
            ScanShared { view, entry, found, found_by_joins, row_ids, request, conditions };
        let shared = ScanShared { found: shared.find()?, ..shared };
        Ok(NativeScan { shared: Arc::new(shared) })
    }

    /// The segments, and which of their rows are ruled out.
    fn segments(&self) -> impl Iterator<Item = (&SegmentView, RuledOut)> {
        let shared = &*self.shared;
        shared.view.segments.iter().map(|segment| {
            let rows = &segment.version().segment;
            if !shared.has_conditions() {
                return (&**segment, RuledOut::default());
            }
            let bounds = |column: usize| segment.base_bounds(column).unwrap_or_default();
            let base = shared.is_ruled_out(rows.rows().into(), &bounds);
            let inserts = segment.view().has_inserts() && {
                // At least one: bounds do not tell that all of them are null.
                let bounds = |column: usize| segment.insert_bounds(column).unwrap_or_default();
                shared.is_ruled_out(1, &bounds)
            };
            (&**segment, RuledOut { base, inserts })
        })
    }

    fn split(&self, of: SplitRows, segment: &SegmentView) -> Split {
        let id = of.segment;
        let (size_bytes, label) = match of.block {
            Some(block) => {
                let bytes = self.shared.block_bytes(&segment.version().segment, block);
                (bytes, format!("segment {id}, block {block}"))
            }
            None => (0, format!("inserts of segment {id}")),
        };
        Split { size_bytes, ..Split::new(of.to_bytes(&self.shared.view), label) }
    }

    /// The splits that have the rows that were found.
    fn splits_of(&self, found: &[RowId]) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::new();
        for rows in found.chunk_by(|a, b| SplitRows::of_row(*a) == SplitRows::of_row(*b)) {
            let Some(of) = rows.first().map(|it| SplitRows::of_row(*it)) else { continue };
            let segment = self.shared.view.segment(of.segment);
            splits.extend(segment.map(|it| self.split(of, it)));
        }
        splits
    }
}

impl ScanShared {
    /// The rows that a source may read, when it is made: keys of joins are known by then.
    pub(crate) fn found_now(&self) -> Result<Option<FoundRows>> {
        if self.found.is_some() || self.request.dynamic_filters.is_empty() {
            return Ok(self.found.clone());
        }
        let mut known = self.found_by_joins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*known {
            return Ok(found.clone());
        }
        let found = self.find()?;
        *known = Some(found.clone());
        Ok(found)
    }

    /// Whether none of `rows` rows can be in the result.
    pub(crate) fn is_ruled_out(&self, rows: u64, bounds: Bounding<'_>) -> bool {
        let conditions = &self.conditions;
        conditions.filters.iter().any(|it| !may_match(&it.0, rows, bounds))
            || conditions.rule_out(rows as usize, bounds)
            || conditions.dynamic.iter().any(|it| {
                it.filter.get().is_some_and(|keys| !may_join(keys, rows, &bounds(it.column)))
            })
    }

    /// Bytes of a block of the columns that are read.
    fn block_bytes(&self, segment: &Segment, block: u32) -> u64 {
        self.request.columns.iter().map(|it| segment.block_bytes(*it, block)).sum()
    }

    /// Whether anything can be ruled out, now or later.
    pub(crate) fn has_conditions(&self) -> bool {
        !self.conditions.filters.is_empty() || !self.conditions.dynamic.is_empty()
    }
}

impl Scan for NativeScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        if let Some(found) = &self.shared.found {
            return Ok(ListedSplits::boxed(self.splits_of(found)));
        }
        let mut splits = Vec::new();
        for (segment, ruled_out) in self.segments() {
            let (rows, id) = (&segment.version().segment, segment.segment_id());
            let blocks = (0..rows.blocks()).filter(|_| !ruled_out.base).map(Some);
            let has_inserts = segment.view().has_inserts() && !ruled_out.inserts;
            let inserted = has_inserts.then_some(None);
            let rows = blocks.chain(inserted).map(|block| SplitRows { segment: id, block });
            splits.extend(rows.map(|it| self.split(it, segment)));
        }
        Ok(ListedSplits::boxed(splits))
    }

    fn pruned(&self) -> ScanMetrics {
        let mut pruned = ScanMetrics::default();
        if self.shared.found.is_some() {
            return pruned;
        }
        for (segment, _) in self.segments().filter(|it| it.1.base) {
            pruned.groups_skipped += u64::from(segment.version().segment.blocks());
        }
        pruned
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(NativeSource::new(Arc::clone(&self.shared))?))
    }
}
