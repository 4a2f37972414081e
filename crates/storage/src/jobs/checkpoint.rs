//! Checkpoints: a manifest of what is committed, so that the log before is not needed any more.
//!
//! Changes of each segment that are not in a block yet are frozen and written; the others keep
//! their block. Then the frozen changes take the place of those in memory, unless an older
//! transaction is open.

use crate::{
    ChunkWriter, Name, SegmentVersion, Storage, StoredBlock, TableDescription, Version,
    canary::{self, Mistake},
    log,
    manifest::{self, ManifestHeader, SavedSegment},
    version::TableVersion,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError},
};
use volley_connector::TableId;
use volley_error::Result;
use volley_pdt::Layers;

/// Where the log begins after a checkpoint.
struct LogPosition {
    file: u32,
    group: u64,
    /// Bytes of the log before.
    bytes: u64,
}

/// Changes that were written, by number of the segment.
type Frozen = BTreeMap<u32, (Arc<SegmentVersion>, Layers, StoredBlock)>;

impl Storage {
    /// Writes a manifest of what is committed, and removes what is not needed any more. Nothing
    /// happens if there was no commit since the last one.
    ///
    /// # Errors
    ///
    /// I/O: either this manifest or the one before is the newest. Out of memory.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_writable()?;
        let _job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if self.core().log.bytes() == 0 { Ok(()) } else { self.checkpoint_now() }
    }

    pub(crate) fn checkpoint_now(&self) -> Result<()> {
        let mut core = self.core();
        core.check()?;
        let before = core.manifest;
        let position = LogPosition {
            group: core.log.next(),
            bytes: core.log.bytes(),
            file: core.log.begin_file(),
        };
        let version = self.snapshot();
        drop(core);
        let mut frozen = Frozen::new();
        let segments = self.write_changes(&version, &mut frozen)?;
        let number = before.map_or(1, |it| it + 1);
        let header = ManifestHeader {
            number,
            salt: self.salt,
            log_file: position.file,
            log_group: position.group,
            used: self.ids.used(),
        };
        let bytes = manifest::write(&header, &version, &segments)?;
        manifest::put(&*self.store, number, &bytes)?;
        if canary::makes(Mistake::RemovedTooEarly) {
            let _ = self.collect(number, position.file, &segments);
        }
        if let Err(error) = manifest::set_current(&*self.store, before, number) {
            self.core().failed = Some(format!("a checkpoint was interrupted: {error}"));
            return Err(error);
        }
        let mut core = self.core();
        core.manifest = Some(number);
        core.log.forget_bytes(position.bytes);
        drop(core);
        self.adopt(&version, frozen);
        // What cannot be removed now is removed by a later checkpoint.
        let _ = self.collect(number, position.file, &segments);
        Ok(())
    }

    /// Writes the changes that are in no block yet.
    fn write_changes(
        &self,
        version: &Version,
        frozen: &mut Frozen,
    ) -> Result<BTreeMap<TableId, Vec<SavedSegment>>> {
        let mut chunks = ChunkWriter::new(&self.files);
        let mut saved = BTreeMap::new();
        for table in version.tables.values() {
            let mut of_table = Vec::with_capacity(table.segments.len());
            if table.segments.iter().any(|it| !it.is_clean() && it.run.is_none())
                && let Some(described) = TableDescription::of(&version.catalog, table.id)
            {
                chunks.describe(&described)?;
            }
            for segment in &table.segments {
                let run = match &segment.run {
                    _ if segment.is_clean() => None,
                    Some(block) => Some(block.clone()),
                    None => {
                        let made = segment.layers.freeze(version.stamp, &self.cache)?;
                        let identity = manifest::run_identity(&segment.segment);
                        let block = chunks.append(&identity, &made.bytes)?;
                        let made = (Arc::clone(segment), made.layers, block.clone());
                        frozen.insert(segment.segment.id(), made);
                        Some(block)
                    }
                };
                of_table.push(SavedSegment { version: Arc::clone(segment), run });
            }
            saved.insert(table.id, of_table);
        }
        chunks.finish()?;
        Ok(saved)
    }

    /// Replaces changes in memory by what was written, where no commit came in between.
    fn adopt(&self, written: &Version, frozen: Frozen) {
        let _core = self.core();
        let is_old = self.oldest_open().is_some_and(|it| it < written.stamp);
        let mut version = (*self.snapshot()).clone();
        for table in version.tables.values_mut() {
            let is_frozen = |it: &Arc<SegmentVersion>| frozen.contains_key(&it.segment.id());
            if !table.segments.iter().any(is_frozen) {
                continue;
            }
            let segments =
                table.segments.iter().map(|segment| match frozen.get(&segment.segment.id()) {
                    Some((old, layers, block)) if Arc::ptr_eq(old, segment) => {
                        let layers = if is_old { &segment.layers } else { layers };
                        let block = Some(block.clone());
                        let rows = Arc::clone(&segment.segment);
                        let next = SegmentVersion::new(rows, layers.clone(), block);
                        Arc::new(next.with_indexes(segment.indexes.after_freeze(&segment.layers)))
                    }
                    _ => Arc::clone(segment),
                });
            *table = Arc::new(TableVersion { segments: segments.collect(), ..(**table).clone() });
        }
        self.publish(version);
    }

    /// Removes files that neither memory nor manifest `number` needs.
    fn collect(
        &self,
        number: u32,
        log_file: u32,
        segments: &BTreeMap<TableId, Vec<SavedSegment>>,
    ) -> Result<()> {
        let mut needed = BTreeSet::new();
        for saved in segments.values().flatten() {
            let blocks = saved.version.segment.stored_blocks().chain(&saved.run);
            needed.extend(blocks.map(|it| it.file.number()));
        }
        self.files.collect(&needed)?;
        self.collect_garbage(number, log_file)
    }

    /// Removes other manifests than `number`, and files of the log before `log_file`.
    pub(crate) fn collect_garbage(&self, number: u32, log_file: u32) -> Result<()> {
        manifest::remove_others(&*self.store, number)?;
        for listed in self.store.list(&Name::new(log::FOLDER)?)? {
            let file = u32::from_str_radix(listed.name.file(), 16);
            if file.is_ok_and(|it| it < log_file) {
                self.store.remove(&listed.name)?;
            }
        }
        Ok(())
    }
}
