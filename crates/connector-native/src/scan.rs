//! Scans: a split is a block of rows of a segment, or the rows that were inserted into one.

use crate::{source::NativeSource, split::SplitRows, table::RowIds};
use std::sync::Arc;
use volley_connector::{
    Bounding, Bounds, Conditions, ListedSplits, Scan, ScanMetrics, ScanRequest, Source, Split,
    SplitSource, may_join, may_match,
};
use volley_error::Result;
use volley_pdt::MergePlan;
use volley_storage::{Segment, SegmentView, TableView};

/// A scan of a table.
pub(crate) struct NativeScan {
    shared: Arc<ScanShared>,
}

/// What the sources of a scan share.
pub(crate) struct ScanShared {
    pub(crate) view: Arc<TableView>,
    /// Of each segment.
    pub(crate) plans: Vec<Arc<MergePlan>>,
    pub(crate) row_ids: RowIds,
    pub(crate) request: ScanRequest,
    pub(crate) conditions: Conditions,
}

impl NativeScan {
    pub(crate) fn new(
        view: &Arc<TableView>,
        row_ids: RowIds,
        request: ScanRequest,
    ) -> Result<NativeScan> {
        let plans = view.segments.iter().map(|it| it.plan()).collect::<Result<_>>()?;
        let conditions = Conditions::new(&request);
        let view = Arc::clone(view);
        let shared = ScanShared { view, plans, row_ids, request, conditions };
        Ok(NativeScan { shared: Arc::new(shared) })
    }

    /// The segments and their plans, and whether their base rows are ruled out.
    fn segments(&self) -> impl Iterator<Item = (usize, &SegmentView, &MergePlan, bool)> {
        let shared = &*self.shared;
        let segments = shared.view.segments.iter().zip(&shared.plans).enumerate();
        segments.map(|(index, (segment, plan))| {
            let rows = &segment.version().segment;
            let bounds = |column: usize| match plan.modifies(column as u32) {
                true => Bounds::default(),
                false => rows.bounds(column),
            };
            (index, &**segment, &**plan, shared.is_ruled_out(rows.rows().into(), &bounds))
        })
    }
}

impl ScanShared {
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
        let mut splits = Vec::new();
        for (_, segment, plan, is_ruled_out) in self.segments() {
            let (rows, id) = (&segment.version().segment, segment.segment_id());
            let blocks = (0..rows.blocks()).filter(|_| !is_ruled_out).map(Some);
            let inserted = (plan.inserted_rows() > 0).then_some(None);
            for block in blocks.chain(inserted) {
                let of = SplitRows { segment: id, block };
                let label = match block {
                    Some(block) => format!("segment {id}, block {block}"),
                    None => format!("inserts of segment {id}"),
                };
                let size_bytes = block.map_or(0, |it| self.shared.block_bytes(rows, it));
                let split = Split::new(of.to_bytes(&self.shared.view), label);
                splits.push(Split { size_bytes, ..split });
            }
        }
        Ok(ListedSplits::boxed(splits))
    }

    fn pruned(&self) -> ScanMetrics {
        let mut pruned = ScanMetrics::default();
        for (_, segment, _, _) in self.segments().filter(|it| it.3) {
            pruned.groups_skipped += u64::from(segment.version().segment.blocks());
        }
        pruned
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(NativeSource::new(Arc::clone(&self.shared))?))
    }
}
