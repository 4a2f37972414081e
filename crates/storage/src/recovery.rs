//! Opening a database: the newest manifest, then the log.
//!
//! Everything that the log adds is written to a new manifest before the database can be used.
//! So nothing becomes visible that only the cache of the operating system has, and a torn end of
//! the log is gone.

use crate::{
    ChunkFiles, Ids, Storage, StorageOptions, Store, Version,
    apply::TableChanges,
    canary::{self, Mistake},
    commit::{Core, Queue},
    locks::Mutex,
    log::{self, Log, LogStart},
    manifest::{self, Damage, ManifestReader},
    numbers::Numbers,
    record::{CommitRecord, Record, RecordReader},
    storage::Shared,
    version::TableVersion,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
};
use volley_connector::{CatalogSnapshot, TableId};
use volley_error::{Error, Result};
use volley_pdt::{Budget, Pdt, Stamp, bytes::Input};
use volley_types::TypeRegistry;

pub(crate) fn open(store: Arc<dyn Store>, options: StorageOptions) -> Result<Storage> {
    let ids = Arc::new(Ids::default());
    let budget = Budget::new(&options.pool, options.delta_bytes);
    let Some(number) = manifest::current(&*store)? else {
        return create(store, options, ids, budget);
    };
    let bytes = manifest::load(&*store, number)?;
    let salt = manifest::salt(&bytes, number)?;
    let files = ChunkFiles::new(&store, &ids, salt, &options.pool);
    ids.use_up_to(crate::ids::UsedIds { file: files.last_number()?, ..Default::default() });
    let types = &*options.types;
    let reader =
        ManifestReader { files: &files, ids: &ids, types, budget: &budget, damage: Damage::Refuse };
    let (header, mut version) = reader.read(&bytes, number)?;
    let start = LogStart { file: header.log_file, group: header.log_group, salt };
    let mut replay = Replay { files: &files, ids: &ids, types, budget: &budget };
    let end = log::read(&*store, start, |it| replay.group(it, &mut version))?;
    let last_file = crate::ids::UsedIds { file: end.last_file, ..Default::default() };
    ids.use_up_to(last_file);
    let log = Log::new(&store, &ids, salt, end.next);
    let core = Core::new(log, Some(number));
    let storage = assemble(Parts { store, files, ids, budget, salt, core, version }, options);
    if end.has_files && !canary::makes(Mistake::RecoveredTailNotSynced) {
        storage.checkpoint_now()?;
    } else {
        storage.collect_garbage(number, header.log_file)?;
    }
    Ok(storage)
}

/// Makes a database with the empty schema `main`.
fn create(
    store: Arc<dyn Store>,
    options: StorageOptions,
    ids: Arc<Ids>,
    budget: Arc<Budget>,
) -> Result<Storage> {
    manifest::refuse_leftovers(&*store)?;
    let version = Version {
        catalog: Arc::new(CatalogSnapshot::with_main()),
        stamp: Stamp(1),
        ..Version::default()
    };
    let files = ChunkFiles::new(&store, &ids, options.salt, &options.pool);
    let core = Core::new(Log::new(&store, &ids, options.salt, 1), None);
    let salt = options.salt;
    let storage = assemble(Parts { store, files, ids, budget, salt, core, version }, options);
    storage.checkpoint_now()?;
    Ok(storage)
}

/// What an open database is made of.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) files: Arc<ChunkFiles>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) salt: u64,
    pub(crate) core: Core,
    pub(crate) version: Version,
}

pub(crate) fn assemble(parts: Parts, options: StorageOptions) -> Storage {
    let Parts { store, files, ids, budget, salt, core, version } = parts;
    let cache = Budget::new(&options.pool, usize::MAX);
    let shared = Shared { published: Arc::new(version), open: BTreeMap::new() };
    Storage {
        store,
        files,
        ids,
        budget,
        cache,
        pool: options.pool,
        salt,
        bulk_rows: options.bulk_rows,
        follower: None,
        jobs: Mutex::default(),
        core: Mutex::new(core),
        shared: Mutex::new(shared),
        queue: Queue::default(),
        is_to_look: AtomicBool::new(true),
    }
}

/// Applies the groups of the log to a version.
pub(crate) struct Replay<'a> {
    pub(crate) files: &'a ChunkFiles,
    pub(crate) ids: &'a Ids,
    pub(crate) types: &'a TypeRegistry,
    pub(crate) budget: &'a Arc<Budget>,
}

impl Replay<'_> {
    /// Applies the records of a group.
    ///
    /// # Errors
    ///
    /// Corruption, I/O, out of memory. `version` may have a part of the group then.
    pub(crate) fn group(&mut self, payload: &[u8], version: &mut Version) -> Result<()> {
        let reader = RecordReader { files: self.files, types: self.types };
        let mut input = Input::new(payload, "record of the log");
        while !input.is_empty() {
            match reader.read(&mut input, &version.catalog)? {
                Record::Commit(commit) => self.commit(commit, version)?,
                Record::Replace { table, old, new } => {
                    self.use_segments(new.iter().map(|it| it.id()));
                    let table = version.table(table)?;
                    let new = table.unchanged(&new, self.budget)?;
                    version.set_table(table.replace(&old, new)?);
                }
                Record::Numbers(sequence, resume) => {
                    let entry = manifest::sequences(&version.catalog).remove(&sequence).cloned();
                    // Of a sequence that a commit before dropped, numbers do not matter.
                    if let Some(entry) = entry {
                        let numbers = Numbers::recovered((*entry).clone(), resume);
                        version.set_numbers(sequence, Arc::new(numbers));
                    }
                }
            }
        }
        Ok(())
    }

    fn commit(&self, commit: CommitRecord, version: &mut Version) -> Result<()> {
        if commit.stamp.0 != version.stamp.0 + 1 {
            return Err(Error::corruption("damaged log: a commit is missing"));
        }
        version.stamp = commit.stamp;
        if let Some(difference) = &commit.catalog {
            version.set_catalog(Arc::new(difference.apply(&version.catalog)));
            self.use_objects(&version.catalog);
        }
        for record in commit.tables {
            let id = record.table;
            self.use_segments(record.added.iter().map(|it| it.id()));
            let table = match version.tables.get(&id) {
                Some(table) if !record.replaces => (**table).clone(),
                _ => self.without_segments(version, id)?,
            };
            let added = table.unchanged(&record.added, self.budget)?;
            let mut own = Vec::with_capacity(record.changed.len());
            for (segment, bytes) in record.changed {
                let found = table.segments.iter().chain(&added);
                let found = found.into_iter().find(|it| it.segment.id() == segment);
                let found = found.ok_or_else(|| Error::corruption("changes of no segment"))?;
                own.push((segment, Arc::new(Pdt::from_bytes(&bytes, &found.layers)?)));
            }
            version.set_table(table.apply(&TableChanges { added, own }, commit.stamp)?);
        }
        for (sequence, resume) in commit.sequences {
            let entry = manifest::sequences(&version.catalog).remove(&sequence).cloned();
            let entry = entry.ok_or_else(|| Error::corruption("numbers of no sequence"))?;
            let numbers = Numbers::recovered((*entry).clone(), resume);
            version.set_numbers(sequence, Arc::new(numbers));
        }
        Ok(())
    }

    fn without_segments(&self, version: &Version, id: TableId) -> Result<TableVersion> {
        let entry = version.catalog.table(id).map(|it| it.1);
        let entry = entry.ok_or_else(|| Error::corruption("rows of no table"))?;
        let types = entry.columns.types().cloned().collect();
        let (shape, segments) = (self.ids.next_object(), Vec::new());
        Ok(TableVersion { id, shape, types, segments, changed: version.stamp })
    }

    fn use_segments(&self, segments: impl Iterator<Item = u32>) {
        let segment = segments.max().unwrap_or_default();
        self.ids.use_up_to(crate::ids::UsedIds { segment, ..Default::default() });
    }

    fn use_objects(&self, catalog: &CatalogSnapshot) {
        let schemas = || catalog.schemas.values();
        let tables = schemas().flat_map(|it| it.relations.values()).filter_map(|it| it.as_table());
        let tables = tables.map(|it| it.id.0);
        let sequences = schemas().flat_map(|it| it.sequences.values()).map(|it| it.id.0);
        let object = tables.chain(sequences).max().unwrap_or_default();
        self.ids.use_up_to(crate::ids::UsedIds { object, ..Default::default() });
    }
}
