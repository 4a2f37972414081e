//! Writing a segment again with its changes.
//!
//! The segment is written while commits go on. If one of them changed it meanwhile, it is written
//! again; after a few times, commits wait. Open transactions keep the old names of rows; they are
//! translated when they commit.

use crate::{
    BLOCK_ROWS, Segment, SegmentVersion, SegmentWriter, Storage, TableView,
    canary::{self, Mistake},
    commit::{Core, Replaced},
    record::Record,
    version::TableVersion,
};
use std::{
    ops::Range,
    sync::{Arc, PoisonError},
};
use volley_connector::TableId;
use volley_error::Result;
use volley_pdt::bytes::Output;
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
        self.check_writable()?;
        let _job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ATTEMPTS {
            let version = self.snapshot();
            let Some(old) = find(version.tables.get(&table), segment) else { return Ok(()) };
            let written = self.rewrite(table, &old)?;
            let mut core = self.core();
            let version = self.snapshot();
            let newest = find(version.tables.get(&table), segment);
            if newest.is_some_and(|it| Arc::ptr_eq(&it, &old)) {
                return self.replace(&mut core, table, &old, written);
            }
        }
        let mut core = self.core();
        let version = self.snapshot();
        let Some(old) = find(version.tables.get(&table), segment) else { return Ok(()) };
        let written = self.rewrite(table, &old)?;
        self.replace(&mut core, table, &old, written)
    }

    /// Writes the rows of a segment.
    fn rewrite(&self, table: TableId, old: &Arc<SegmentVersion>) -> Result<Vec<Arc<Segment>>> {
        let types = Arc::clone(old.layers.write.types());
        let mut writer = SegmentWriter::new(&self.files, table, &types, &self.pool);
        let view = TableView::of_segment(table, &types, old);
        for segment in &view.segments {
            for sids in ranges(old.segment.rows()) {
                for batch in view.read_in_order(segment, sids)? {
                    writer.write(&batch)?;
                }
            }
        }
        writer.finish()
    }

    fn replace(
        &self,
        core: &mut Core,
        table: TableId,
        old: &Arc<SegmentVersion>,
        mut written: Vec<Arc<Segment>>,
    ) -> Result<()> {
        let mut version = (*self.snapshot()).clone();
        let before = version.table(table)?;
        let id = old.segment.id();
        let is_only = before.segments.len() == 1;
        if written.is_empty() && (is_only || self.oldest_open().is_some()) {
            // A table has at least one segment, and open transactions may insert into this one.
            let number = self.ids.next_segment()?;
            written.push(Arc::new(Segment::empty(table, number, before.types.len())));
        }
        let (by, new) = match written.as_slice() {
            [one] => {
                let (translator, layers) = old.layers.translate(&old.layers, version.stamp)?;
                let segment = SegmentVersion::new(Arc::clone(one), layers, None);
                (Some((one.id(), translator)), vec![Arc::new(segment)])
            }
            several => (None, before.unchanged(several, &self.budget)?),
        };
        let next = before.replace(id, new)?;
        let mut output = Output::default();
        let record = Record::Replace { table, old: id, new: written };
        record.write(&version.catalog, &mut output)?;
        if !canary::makes(Mistake::ReplaceNotLogged) {
            core.append(&output.bytes)?;
        }
        core.replaced.insert(id, Replaced { by, stamp: version.stamp });
        version.set_table(next);
        self.publish(version);
        Ok(())
    }
}

/// The segment, if it has changes.
fn find(table: Option<&Arc<TableVersion>>, segment: u32) -> Option<Arc<SegmentVersion>> {
    table?.segment(segment).filter(|it| !it.is_clean()).cloned()
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
