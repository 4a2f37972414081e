//! Writing segments again with their changes: one, or several small ones as one.
//!
//! If no row of a segment was inserted or deleted, propagation writes the modified columns only.
//!
//! They are written while commits go on. If one of them changed a segment meanwhile, they are
//! written again; after a few times, commits wait. Open transactions keep the old names of rows;
//! they are translated when they commit.

use crate::{
    BLOCK_ROWS, SEGMENT_ROWS_MAX, Segment, SegmentVersion, SegmentWriter, Storage,
    TableDescription, TableView, Version,
    canary::{self, Mistake},
    commit::{Core, Replaced},
    record::Record,
};
use std::{
    ops::Range,
    sync::{Arc, PoisonError},
};
use volley_connector::TableId;
use volley_error::Result;
use volley_pdt::{Stamp, Translator, bytes::Output};
use volley_vector::Batch;

/// How often a segment is written before commits wait.
const ATTEMPTS: usize = 3;

/// Rows that are read at once.
const BATCH_ROWS: u32 = 8192;

impl Storage {
    /// Writes a segment again with its changes. Nothing happens without changes, or if the table
    /// or segment does not exist any more.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory; nothing has changed then.
    pub fn propagate(&self, table: TableId, segment: u32) -> Result<()> {
        let find = |version: &Version| {
            let found = version.tables.get(&table)?.segment(segment)?;
            (!found.is_clean()).then(|| vec![Arc::clone(found)])
        };
        self.rewrite(table, Extent::Changed, &find)
    }

    /// Writes segments that follow each other again as one, with their changes. Nothing happens if
    /// they do not exist any more, or do not follow each other, or have more rows than one segment.
    ///
    /// # Errors
    ///
    /// As [`Storage::propagate`].
    pub fn merge(&self, table: TableId, segments: &[u32]) -> Result<()> {
        let find = |version: &Version| {
            let all = &version.tables.get(&table)?.segments;
            let position = all.iter().position(|it| Some(&it.segment.id()) == segments.first())?;
            let found = all.get(position..position + segments.len())?;
            let is_same = found.iter().map(|it| it.segment.id()).eq(segments.iter().copied());
            let rows: u64 = found.iter().map(|it| it.layers.view().rows()).sum();
            (is_same && rows <= SEGMENT_ROWS_MAX.into()).then(|| found.to_vec())
        };
        self.rewrite(table, Extent::All, &find)
    }

    /// Writes the segments that `find` finds in a version again.
    fn rewrite(&self, table: TableId, extent: Extent, find: FindSegments<'_>) -> Result<()> {
        self.check_writable()?;
        let _job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ATTEMPTS {
            let Some(old) = find(&self.snapshot()) else { return Ok(()) };
            let written = self.write_again(table, extent, &old)?;
            let mut core = self.core();
            let newest = find(&self.snapshot()).unwrap_or_default();
            let mut pairs = newest.iter().zip(&old);
            if newest.len() == old.len() && pairs.all(|(a, b)| Arc::ptr_eq(a, b)) {
                return self.replace(&mut core, table, &old, written);
            }
        }
        let mut core = self.core();
        let Some(old) = find(&self.snapshot()) else { return Ok(()) };
        let written = self.write_again(table, extent, &old)?;
        self.replace(&mut core, table, &old, written)
    }

    /// Writes the rows of segments.
    fn write_again(
        &self,
        table: TableId,
        extent: Extent,
        old: &[Arc<SegmentVersion>],
    ) -> Result<Vec<Arc<Segment>>> {
        let Some(first) = old.first() else { return Ok(Vec::new()) };
        let types = Arc::clone(first.layers.write.types());
        if let (Extent::Changed, [one]) = (extent, old)
            && let Some(columns) = modified_columns(one, types.len())?
        {
            let view = TableView::of_segment(table, &types, one);
            let Some(segment) = view.segments.first() else { return Ok(Vec::new()) };
            let read = |column: usize, sids: Range<u32>| {
                let data_type = types.get(column).ok_or_else(crate::table_view::no_row)?;
                segment.read(column, data_type, sids, None)
            };
            let files = (&self.files, TableDescription::of(&self.snapshot().catalog, table));
            let next = one.segment.with_new_columns(&columns, &types, files, &read)?;
            return Ok(vec![Arc::new(next)]);
        }
        let mut writer = SegmentWriter::new(&self.files, table, &types, &self.pool);
        if let Some(description) = TableDescription::of(&self.snapshot().catalog, table) {
            let segments: Vec<&Segment> = old.iter().map(|it| &*it.segment).collect();
            writer.describe(&description.replacing(&segments))?;
        }
        for old in old {
            let view = TableView::of_segment(table, &types, old);
            for segment in &view.segments {
                for sids in ranges(old.segment.rows()) {
                    for batch in view.read_in_order(segment, sids)? {
                        writer.write(&batch)?;
                    }
                }
            }
        }
        writer.finish()
    }

    fn replace(
        &self,
        core: &mut Core,
        table: TableId,
        old: &[Arc<SegmentVersion>],
        mut written: Vec<Arc<Segment>>,
    ) -> Result<()> {
        let mut version = (*self.snapshot()).clone();
        let before = version.table(table)?;
        let ids: Vec<u32> = old.iter().map(|it| it.segment.id()).collect();
        let are_all = before.segments.len() == old.len();
        if written.is_empty() && (are_all || self.oldest_open().is_some()) {
            // A table has at least one segment, and open transactions may insert into these.
            let number = self.ids.next_segment()?;
            written.push(Arc::new(Segment::empty(table, number, before.types.len())));
        }
        let by = match written.as_slice() {
            [one] => translators(old, one, version.stamp)?.into_iter().map(Some).collect(),
            _ => vec![None; old.len()],
        };
        let next = before.replace(&ids, before.unchanged(&written, &self.budget)?)?;
        let mut output = Output::default();
        let record = Record::Replace { table, old: ids.clone(), new: written };
        record.write(&version.catalog, &mut output)?;
        if !canary::makes(Mistake::ReplaceNotLogged) {
            core.append(&output.bytes)?;
        }
        let stamp = version.stamp;
        core.replaced.extend(ids.into_iter().zip(by).map(|(id, by)| (id, Replaced { by, stamp })));
        version.set_table(next);
        self.publish(version);
        Ok(())
    }
}

/// What of segments is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// What changed.
    Changed,
    /// All columns.
    All,
}

/// The columns that changes modify, if they do nothing else and leave other columns as they are.
fn modified_columns(segment: &SegmentVersion, columns: usize) -> Result<Option<Vec<usize>>> {
    let plan = segment.plan()?;
    if plan.deleted_rows() > 0 || plan.inserted_rows() > 0 {
        return Ok(None);
    }
    let modified: Vec<usize> = (0..columns).filter(|it| plan.modifies(*it as u32)).collect();
    Ok((!modified.is_empty() && modified.len() < columns).then_some(modified))
}

/// Finds the segments to write again.
type FindSegments<'f> = &'f dyn Fn(&Version) -> Option<Vec<Arc<SegmentVersion>>>;

/// How names of rows of `old` are translated to those of `new`, which has the rows of all.
fn translators(
    old: &[Arc<SegmentVersion>],
    new: &Segment,
    stamp: Stamp,
) -> Result<Vec<(u32, Translator)>> {
    let mut offset = 0;
    let translator = |it: &Arc<SegmentVersion>| {
        let (translator, _) = it.layers.translate(&it.layers, stamp)?;
        let within = translator.within(offset, new.rows())?;
        offset += it.layers.view().rows() as u32;
        Ok((new.id(), within))
    };
    old.iter().map(translator).collect()
}

/// Ranges of a segment's rows, each within one block; one that is empty if there are no
/// rows.
fn ranges(rows: u32) -> impl Iterator<Item = Range<u32>> {
    const _: () = assert!(BLOCK_ROWS.is_multiple_of(BATCH_ROWS));
    let starts = (0..rows.max(1)).step_by(BATCH_ROWS as usize);
    starts.map(move |start| start..rows.min(start + BATCH_ROWS))
}

impl TableView {
    /// Base rows of a segment with the rows that are inserted before them, and after the last one.
    fn read_in_order(&self, segment: &crate::SegmentView, sids: Range<u32>) -> Result<Vec<Batch>> {
        let plan = segment.plan()?;
        let changes = plan.range(sids.clone());
        let live = changes.live().map(|it| it.to_indices());
        let rows = live.as_ref().map_or(sids.len(), Vec::len);
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let vectors = columns.iter().zip(self.types.iter()).map(|(column, data_type)| {
            if rows == 0 {
                return Ok(volley_vector::Vector::nulls(data_type.clone(), 0));
            }
            segment.read(*column, data_type, sids.clone(), live.as_deref())
        });
        let base = Batch::new(vectors.collect::<Result<_>>()?, rows);
        changes.interleave(base, live.as_deref(), &columns, BATCH_ROWS as usize)
    }
}
