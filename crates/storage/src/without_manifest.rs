//! Reading the rows of a database whose manifests cannot be read.
//!
//! ```text
//! chunk files    the headers of all blocks, one after the other
//! descriptions   tables, the salt, which segments were written again as which
//! segments       those whose blocks are all there, but for damage, and that were not replaced
//! runs           the newest changes of each segment
//! ```
//!
//! The log is not read: nothing says at which group it goes on. What transactions wrote that did
//! not commit, or what was removed since, may be among the rows: its file was not removed yet.

use crate::{
    ChunkFiles, Ids, Name, Segment, SegmentVersion, Storage, StorageOptions, Store, StoredBlock,
    TableDescription, TableVersion, Version,
    block::{self, BlockAddress, BlockIdentity, BlockKind, HEADER_BYTES},
    chunk_file::{FileScan, Opening, file_name, scan},
    commit::Core,
    log::Log,
    manifest::{Damage, ManifestReader},
    recovery::{Parts, assemble},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::{CatalogSnapshot, TableEntry, TableId};
use volley_error::{Error, Result};
use volley_pdt::{Budget, Stamp};
use volley_types::{Type, TypeRegistry};

/// Where a block that was not found is: beyond the end of every file.
const NOWHERE: u64 = 1 << 62;

impl Storage {
    /// Opens a database to read its tables without a manifest, as far as their files describe them.
    /// Also returns what is lost.
    ///
    /// # Errors
    ///
    /// I/O; corruption: no file describes a table. Out of memory, cancelled.
    pub fn open_without_manifest(
        store: Arc<dyn Store>,
        options: StorageOptions,
    ) -> Result<(Arc<Storage>, Vec<Error>)> {
        let mut found = Found::default();
        found.scan_all(&*store)?;
        found.read_descriptions(&*store, &options.types)?;
        let Some(salt) = found.salt else {
            let error = Error::corruption("no file of rows describes its table");
            return Err(error.hint("restore the folder from a copy"));
        };
        let ids = Arc::new(Ids::default());
        let budget = Budget::new(&options.pool, options.delta_bytes);
        let opening = (&options.pool, Opening::FirstRead);
        let files = ChunkFiles::with_opening(&store, &ids, salt, opening);
        let lost = Mutex::default();
        let reader = ManifestReader {
            files: &files,
            ids: &ids,
            types: &options.types,
            budget: &budget,
            damage: Damage::LoseChanges(&lost),
        };
        let version = found.version(&reader)?;
        found.findings.extend(lost.into_inner().unwrap_or_else(PoisonError::into_inner));
        // Nothing is appended to this log: commits are refused.
        let core = Core::new(Log::new(&store, &ids, salt, 0), None);
        let parts = Parts { store, files, ids, budget, salt, core, version };
        let mut storage = assemble(parts, options);
        storage.follower = Some(crate::follower::Follower::stopped());
        Ok((Arc::new(storage), found.findings))
    }
}

/// What was found in the chunk files.
#[derive(Default)]
struct Found {
    files: BTreeMap<u32, FileScan>,
    salt: Option<u64>,
    /// By table and file.
    descriptions: BTreeMap<(u64, u32), TableDescription>,
    findings: Vec<Error>,
}

/// The blocks of a segment.
#[derive(Default)]
struct FoundSegment {
    /// A file with blocks of it.
    file: u32,
    /// By column and number.
    blocks: BTreeMap<(u32, u32), BlockAddress>,
    /// From the block of zones, which is written last.
    rows: Option<u32>,
    /// The most rows that blocks of columns say.
    block_rows: u32,
    /// The newest changes, and the rows of the segment that they are of.
    run: Option<(BlockAddress, u32)>,
}

type Segments = BTreeMap<u32, FoundSegment>;

impl Found {
    /// Looks at the headers of all files.
    fn scan_all(&mut self, store: &dyn Store) -> Result<()> {
        for listed in store.list(&Name::new("data")?)? {
            let Ok(number) = u32::from_str_radix(listed.name.file(), 16) else { continue };
            match store.open(&listed.name).and_then(|it| scan(&*it, number)) {
                Ok(scan) => {
                    for offset in &scan.gaps {
                        let error = Error::corruption("damaged block: its header is none");
                        let error = error.at("file", &listed.name).at("offset", offset);
                        self.findings.push(error);
                    }
                    self.files.insert(number, scan);
                }
                Err(error) if error.kind() == volley_error::ErrorKind::Cancelled => {
                    return Err(error);
                }
                Err(error) => self.findings.push(error),
            }
        }
        Ok(())
    }

    /// Reads the descriptions of tables. Those of another database are none.
    fn read_descriptions(&mut self, store: &dyn Store, types: &TypeRegistry) -> Result<()> {
        for (number, scan) in &self.files {
            let described = scan.blocks.iter().filter(|it| it.0.kind == BlockKind::Table);
            for (identity, address) in described {
                let file = store.open(&file_name(*number)?)?;
                let end = address.offset + HEADER_BYTES as u64 + u64::from(address.bytes);
                let read = || {
                    let bytes = file.read(address.offset..end)?;
                    let payload = bytes.get(HEADER_BYTES..).unwrap_or_default();
                    let (salt, description) = TableDescription::from_bytes(payload, types)?;
                    block::check(&bytes, identity, address, salt)?;
                    let is_other = self.salt.is_some_and(|it| it != salt);
                    if is_other || description.table().id.0 != identity.table {
                        return Err(Error::corruption("a file of another database"));
                    }
                    Ok((salt, description))
                };
                match read() {
                    Ok((salt, description)) => {
                        self.salt = Some(salt);
                        self.descriptions.insert((identity.table, *number), description);
                    }
                    Err(error) => {
                        let error = error.at("offset", address.offset);
                        self.findings.push(error.at("file", file_name(*number)?));
                    }
                }
            }
        }
        Ok(())
    }

    /// The segments of each table.
    fn segments(&self) -> BTreeMap<u64, Segments> {
        let mut tables: BTreeMap<u64, Segments> = BTreeMap::new();
        for (file, scan) in &self.files {
            for (identity, address) in &scan.blocks {
                if identity.kind != BlockKind::Table {
                    let segments = tables.entry(identity.table).or_default();
                    let segment = segments.entry(identity.segment).or_default();
                    segment.add(*file, identity, address);
                }
            }
        }
        tables
    }

    fn version(&mut self, reader: &ManifestReader<'_>) -> Result<Version> {
        let stamp = Stamp(1);
        let (catalog, numbers) = (CatalogSnapshot::with_main(), BTreeMap::new());
        let mut version = Version { stamp, catalog: catalog.into(), numbers, ..Version::default() };
        let mut catalog = CatalogSnapshot::with_main();
        // Of tables with the same name, the last one has it.
        for (table, segments) in self.segments().into_iter().rev() {
            let described = self.descriptions.range((table, 0)..=(table, u32::MAX)).next_back();
            let Some(description) = described.map(|it| it.1.clone()) else {
                let error = Error::corruption("rows of a table that no file describes");
                self.findings.push(error.at("table", table));
                continue;
            };
            let entry = added_table(&mut catalog, &description)?;
            let types = description.types();
            let opened = self.open_segments(table, segments, &types, reader)?;
            let (id, shape) = (entry.id, reader.ids.next_object());
            let of_table = TableVersion { id, shape, types, segments: opened, changed: stamp };
            version.set_table(of_table);
        }
        version.catalog = Arc::new(catalog);
        Ok(version)
    }

    /// The segments of a table that were not replaced.
    fn open_segments(
        &mut self,
        table: u64,
        segments: Segments,
        types: &Arc<[Type]>,
        reader: &ManifestReader<'_>,
    ) -> Result<Vec<Arc<SegmentVersion>>> {
        let mut whole = BTreeMap::new();
        let mut replaced: BTreeSet<u32> = BTreeSet::new();
        for (number, segment) in &segments {
            let description = self.descriptions.get(&(table, segment.file));
            if description.is_some_and(|it| it.types() != *types) {
                let message = "rows of a table as it was before its columns changed";
                self.note(Error::corruption(message), table, *number);
                continue;
            }
            match segment.columns(*number, description, types.len(), &segments, reader.files) {
                Some(columns) => {
                    let replaces = description.map(|it| it.replaced.as_slice()).unwrap_or_default();
                    // A file of changes alone replaces nothing.
                    replaced.extend(replaces.iter().filter(|it| *it != number));
                    whole.insert(*number, columns);
                }
                None if segment.block_rows > 0 => {
                    let message = "a segment that was not written to the end";
                    self.note(Error::corruption(message), table, *number);
                }
                None => {}
            }
        }
        for (number, _) in segments.iter().filter(|it| it.1.has_changes_alone()) {
            if !replaced.contains(number) && !whole.contains_key(number) {
                let error = Error::corruption("changes of a segment that was not found");
                self.note(error, table, *number);
            }
        }
        let whole = whole.into_iter().filter(|it| !replaced.contains(&it.0));
        let opened = whole.map(|(number, columns)| {
            let found = segments.get(&number);
            let rows = found.map_or(0, FoundSegment::all_rows);
            let segment = Arc::new(Segment::found(TableId(table), number, rows, columns));
            let run = found.and_then(|it| it.run).map(|(address, _)| address);
            let run = run.map(|it| stored(it, reader.files));
            reader.open_segment(segment, types, 0, run).map(Arc::new)
        });
        opened.collect()
    }

    fn note(&mut self, error: Error, table: u64, segment: u32) {
        self.findings.push(error.at("table", table).at("segment", segment));
    }
}

impl FoundSegment {
    fn add(&mut self, file: u32, identity: &BlockIdentity, address: &BlockAddress) {
        match identity.kind {
            BlockKind::Column => {
                self.file = file;
                self.blocks.insert((identity.column, identity.number), *address);
                let end = identity.first_row.saturating_add(identity.rows);
                self.block_rows = self.block_rows.max(end);
            }
            BlockKind::Zones => {
                self.file = file;
                self.rows = Some(identity.rows);
            }
            // Files are visited in the order in which they were made.
            BlockKind::Run => self.run = Some((*address, identity.rows)),
            BlockKind::Table => {}
        }
    }

    fn has_changes_alone(&self) -> bool {
        self.run.is_some() && self.all_rows() == 0
    }

    fn all_rows(&self) -> u32 {
        self.rows.unwrap_or(self.block_rows)
    }

    /// The blocks of each column, and the segment that they were written for. `None` if the segment
    /// was not written to the end. A block that was not found is one that cannot be read.
    fn columns(
        &self,
        number: u32,
        description: Option<&TableDescription>,
        columns: usize,
        segments: &Segments,
        files: &ChunkFiles,
    ) -> Option<Vec<(u32, Vec<StoredBlock>)>> {
        let rows = self.all_rows();
        if rows == 0 {
            // Changes of a segment without rows on disk.
            let is_empty = self.run.is_some_and(|it| it.1 == 0);
            return is_empty.then(|| vec![(number, Vec::new()); columns]);
        }
        let origins = description.map(|it| it.origins.as_slice()).unwrap_or_default();
        let blocks = rows.div_ceil(crate::BLOCK_ROWS);
        (0..columns as u32)
            .map(|column| {
                let origin = origins.iter().find(|it| it.0 == column).map_or(number, |it| it.1);
                let of_column = segments.get(&origin);
                let address = |block: u32| of_column?.blocks.get(&(column, block)).copied();
                let found = (0..blocks).map(address);
                // Without zones, only what is certainly all of it.
                if self.rows.is_none() && found.clone().any(|it| it.is_none()) {
                    return None;
                }
                let nowhere = BlockAddress { file: self.file, offset: NOWHERE, bytes: 0 };
                let found = found.map(|it| stored(it.unwrap_or(nowhere), files));
                Some((origin, found.collect()))
            })
            .collect()
    }
}

fn stored(address: BlockAddress, files: &ChunkFiles) -> StoredBlock {
    StoredBlock { file: files.file(address.file), address }
}

/// Adds a table to a catalog, under another name if its own is taken.
fn added_table(
    catalog: &mut CatalogSnapshot,
    description: &TableDescription,
) -> Result<TableEntry> {
    let mut entry = description.table().clone();
    if catalog.schema(description.schema()).is_none() {
        catalog.create_schema(description.schema().to_owned())?;
    }
    if catalog.relation(description.schema(), &entry.name).is_some() {
        entry.name = format!("{}_{}", entry.name, entry.id.0);
    }
    catalog.add_table(description.schema(), entry.clone())?;
    Ok(entry)
}
