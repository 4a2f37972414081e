//! The manifest: everything that is needed to open a database, as of one commit.
//!
//! ```text
//! manifest/<number, 8 hexadecimal digits>
//!   "VMAN", u8 major version: 1, u8 minor version: 1, body, u64 XXH3-64 of all bytes before
//!
//! body  (numbers are those of volley_pdt::bytes)
//!   number   number of the manifest
//!   number   salt of the database
//!   number   first file of the log, number of its first group
//!   number   stamp of the last commit
//!   number   last numbers of objects, of segments, of files
//!   block    catalog
//!   count    tables; for each: table, count of segments; for each:
//!     segment, since 1.1 the columns with blocks of other segments, next id of an insert, optional
//!     block of changes
//!   count    sequences; for each: sequence, optional signed number
//!
//! CURRENT   "volley database 1\nmanifest <number>\n"
//! ```
//!
//! A manifest is written as a whole under a new number; then CURRENT names it. Everything that it
//! refers to is durable before.

use crate::{
    ChunkFiles, Expected, Ids, Name, Put, Segment, SegmentVersion, Store, StoredBlock,
    block::{BlockIdentity, BlockKind, NO_COLUMN},
    canary::{self, Mistake},
    ids::UsedIds,
    numbers::Numbers,
    record::{read_resume, write_resume},
    store::open_existing,
    version::{TableVersion, Version},
};
use std::{
    collections::BTreeMap,
    hash::Hasher,
    sync::{Arc, Mutex, PoisonError},
};
use twox_hash::XxHash3_64;
use volley_connector::{CatalogSnapshot, SequenceEntry, SequenceId, TableId};
use volley_error::{Error, Result};
use volley_pdt::{
    Budget, Layers, Pdt, Run, Stamp,
    bytes::{Input, Output},
};
use volley_types::{Type, TypeRegistry};

const CURRENT: &str = "CURRENT";
/// The folder of manifests.
pub(crate) const FOLDER: &str = "manifest";
const MAGIC: [u8; 4] = *b"VMAN";
const VERSION_MAJOR: u8 = 1;
const VERSION_MINOR: u8 = 1;
/// The minor version since which columns may have blocks of other segments.
const MINOR_WITH_ORIGINS: u8 = 1;
const CURRENT_BEGIN: &str = "volley database 1\nmanifest ";
/// The format in [`CURRENT_BEGIN`].
const FORMAT: u32 = 1;

/// What a manifest holds besides a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManifestHeader {
    /// The number of the manifest.
    pub(crate) number: u32,
    pub(crate) salt: u64,
    /// The first file of the log that is not contained.
    pub(crate) log_file: u32,
    /// The number of the first group there.
    pub(crate) log_group: u64,
    pub(crate) used: UsedIds,
}

/// What opening a manifest needs.
pub(crate) struct ManifestReader<'a> {
    pub(crate) files: &'a Arc<ChunkFiles>,
    pub(crate) ids: &'a Ids,
    pub(crate) types: &'a TypeRegistry,
    pub(crate) budget: &'a Arc<Budget>,
    pub(crate) damage: Damage<'a>,
}

/// What a block of changes that cannot be read does.
#[derive(Clone, Copy)]
pub(crate) enum Damage<'a> {
    /// The manifest cannot be read.
    Refuse,
    /// The changes are lost, which is noted here.
    LoseChanges(&'a Mutex<Vec<Error>>),
}

/// A segment as a manifest has it.
pub(crate) struct SavedSegment {
    pub(crate) version: Arc<SegmentVersion>,
    /// The block with all changes; `None` without changes.
    pub(crate) run: Option<StoredBlock>,
}

/// The number of the newest manifest; `None` if there is no database.
///
/// # Errors
///
/// I/O; corruption: not a database's file; unsupported: a newer format.
pub(crate) fn current(store: &dyn Store) -> Result<Option<u32>> {
    let name = Name::new(CURRENT)?;
    let file = match store.open(&name) {
        Ok(file) => file,
        Err(error) => {
            let listed = store.list(&Name::default())?;
            return if listed.iter().any(|it| it.name == name) { Err(error) } else { Ok(None) };
        }
    };
    let bytes = file.read(0..file.size_bytes())?;
    let text = str::from_utf8(&bytes).unwrap_or_default();
    let number = text.strip_prefix(CURRENT_BEGIN).and_then(|it| it.strip_suffix('\n'));
    let number = number.and_then(|it| it.parse().ok());
    number.map(Some).ok_or_else(|| unknown_current(text).at("file", file.path()))
}

/// The error of a file CURRENT that does not name a manifest.
#[cold]
fn unknown_current(text: &str) -> Error {
    let first = text.lines().next().unwrap_or_default();
    let format = first.strip_prefix("volley database ").and_then(|it| it.parse::<u32>().ok());
    match format {
        Some(format) if format > FORMAT => {
            let message = format!("this is a database of format {format}, which is newer than");
            let error = Error::unsupported(format!("{message} {FORMAT}"));
            error.hint("use a newer version of volley")
        }
        _ => {
            let message = "this is not a database, or its file CURRENT is damaged";
            Error::corruption(message).hint(crate::RESTORE)
        }
    }
}

/// Refuses to make a database where CURRENT is missing and other files of a database are not.
/// A creation that was interrupted leaves manifest 1 at most.
///
/// # Errors
///
/// I/O; corruption: there is such a file.
pub(crate) fn refuse_leftovers(store: &dyn Store) -> Result<()> {
    for folder in [FOLDER, "log", "data"] {
        let listed = store.list(&Name::new(folder)?)?;
        let is_leftover = |it: &Name| match u32::from_str_radix(it.file(), 16) {
            Ok(number) => folder != FOLDER || number > 1,
            Err(_) => false,
        };
        if let Some(found) = listed.iter().find(|it| is_leftover(&it.name)) {
            let message = "the file CURRENT of the database is missing";
            let error = Error::corruption(message).at("another file", &found.name);
            return Err(error.hint(crate::RESTORE));
        }
    }
    Ok(())
}

/// Writes manifest `number`.
///
/// # Errors
///
/// I/O: the newest manifest is the one that it was.
pub(crate) fn put(store: &dyn Store, number: u32, bytes: &[u8]) -> Result<()> {
    store.put(&name(number)?, bytes, Expected::Any).map(drop)
}

/// Makes manifest `number` the newest one. `before` is the one that it replaces.
///
/// # Errors
///
/// I/O: either one is the newest. The database was changed by another process.
pub(crate) fn set_current(store: &dyn Store, before: Option<u32>, number: u32) -> Result<()> {
    let text = |it: u32| format!("{CURRENT_BEGIN}{it}\n");
    let expected = before.map(text);
    let expected = expected.as_ref().map_or(Expected::Nothing, |it| Expected::Bytes(it.as_bytes()));
    match store.put(&Name::new(CURRENT)?, text(number).as_bytes(), expected)? {
        Put::Written => Ok(()),
        Put::Refused => {
            let message = "the database was changed by another process";
            Err(Error::new(volley_error::ErrorKind::Io, message).hint("open it again"))
        }
    }
}

/// Removes all manifests but `number`.
///
/// # Errors
///
/// I/O.
pub(crate) fn remove_others(store: &dyn Store, number: u32) -> Result<()> {
    let kept = name(number)?;
    let listed = store.list(&Name::new(FOLDER)?)?;
    listed.iter().filter(|it| it.name != kept).try_for_each(|it| store.remove(&it.name))
}

/// The bytes of manifest `number`.
///
/// # Errors
///
/// I/O; corruption: it is missing.
pub(crate) fn load(store: &dyn Store, number: u32) -> Result<Vec<u8>> {
    let file = open_existing(store, &name(number)?)?;
    file.read(0..file.size_bytes()).map(|it| it.to_vec())
}

/// The salt in manifest `number`, which reading the rest needs.
///
/// # Errors
///
/// Corruption: other bytes; unsupported: a newer format.
pub(crate) fn salt(bytes: &[u8], number: u32) -> Result<u64> {
    let read = || {
        let (_, mut input) = body(bytes)?;
        if input.u32()? != number {
            return Err(input.corrupt("another manifest is in its place"));
        }
        input.number()
    };
    read().map_err(|it: Error| it.at("file", file_text(number)))
}

/// The name of manifest `number` in messages.
fn file_text(number: u32) -> String {
    format!("{FOLDER}/{number:08x}")
}

/// The bytes of a manifest. `segments` are those of each table of the version.
///
/// # Errors
///
/// Unsupported: opaque types.
pub(crate) fn write(
    header: &ManifestHeader,
    version: &Version,
    segments: &BTreeMap<TableId, Vec<SavedSegment>>,
) -> Result<Vec<u8>> {
    let mut output = Output::default();
    output.raw(&MAGIC);
    output.raw(&[VERSION_MAJOR, VERSION_MINOR]);
    output.number(header.number.into());
    output.number(header.salt);
    output.number(header.log_file.into());
    output.number(header.log_group);
    output.number(version.stamp.0);
    output.number(header.used.object);
    output.number(header.used.segment.into());
    output.number(header.used.file.into());
    output.block(&version.catalog.to_bytes()?);
    output.count(segments.len());
    for (table, of_table) in segments {
        output.number(table.0);
        output.count(of_table.len());
        let types = &version.table(*table)?.types;
        for saved in of_table {
            saved.version.segment.write(types, &mut output)?;
            saved.version.segment.write_origins(&mut output);
            let next_id = saved.version.layers.write.next_id();
            let is_saved = !canary::makes(Mistake::IdsNotSaved);
            output.number(if is_saved { next_id.into() } else { 0 });
            output.optional(saved.run.as_ref(), StoredBlock::write);
        }
    }
    output.count(version.numbers.len());
    for (sequence, numbers) in &version.numbers {
        write_resume(*sequence, numbers.reserved(), &mut output);
    }
    Ok(with_checksum(output.bytes))
}

/// A manifest of all but its checksum.
pub(crate) fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

impl ManifestReader<'_> {
    /// Reads a manifest, and the blocks of changes.
    ///
    /// # Errors
    ///
    /// I/O; corruption: other bytes; unsupported: a newer format; out of memory.
    pub(crate) fn read(&self, bytes: &[u8], number: u32) -> Result<(ManifestHeader, Version)> {
        self.read_body(bytes).map_err(|it| it.at("manifest", file_text(number)))
    }

    fn read_body(&self, bytes: &[u8]) -> Result<(ManifestHeader, Version)> {
        let (minor, mut input) = body(bytes)?;
        let header = ManifestHeader {
            number: input.u32()?,
            salt: input.number()?,
            log_file: input.u32()?,
            log_group: input.number()?,
            used: UsedIds::default(),
        };
        let stamp = Stamp(input.number()?);
        let used = UsedIds { object: input.number()?, segment: input.u32()?, file: input.u32()? };
        self.ids.use_up_to(used);
        let catalog = Arc::new(CatalogSnapshot::from_bytes(input.block()?, self.types)?);
        let tables = input.all(|it| self.read_table(it, minor, &catalog, stamp))?;
        let tables: BTreeMap<TableId, Arc<TableVersion>> =
            tables.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        let entries = sequences(&catalog);
        let numbers = input.all(|input| {
            let (sequence, resume) = read_resume(input)?;
            let entry = entries.get(&sequence);
            let entry = entry.ok_or_else(|| input.corrupt("a sequence that does not exist"))?;
            Ok((sequence, Arc::new(Numbers::recovered((***entry).clone(), resume))))
        })?;
        input.finish()?;
        let numbers: BTreeMap<SequenceId, Arc<Numbers>> = numbers.into_iter().collect();
        let listed = catalog.schemas.values().flat_map(|it| it.relations.values());
        let is_whole = listed.filter_map(|it| it.as_table()).all(|it| tables.contains_key(&it.id))
            && numbers.len() == entries.len();
        if !is_whole {
            return Err(Error::corruption("damaged manifest: a table or sequence is missing"));
        }
        Ok((ManifestHeader { used, ..header }, Version { stamp, catalog, tables, numbers }))
    }

    fn read_table(
        &self,
        input: &mut Input<'_>,
        minor: u8,
        catalog: &CatalogSnapshot,
        stamp: Stamp,
    ) -> Result<TableVersion> {
        let id = TableId(input.number()?);
        let entry = catalog.table(id).map(|it| it.1);
        let entry = entry.ok_or_else(|| input.corrupt("a table that does not exist"))?;
        let types: Arc<[Type]> = entry.columns.types().cloned().collect();
        let segments = input.all(|input| {
            let segment = Segment::read(input, id, &types, self.files)?;
            let has_origins = minor >= MINOR_WITH_ORIGINS;
            let segment = if has_origins { segment.with_origins(input)? } else { segment };
            let segment = Arc::new(segment);
            let next_id = input.u32()?;
            let run = input.optional(|it| StoredBlock::read_from(it, self.files))?;
            self.open_segment(segment, &types, next_id, run).map(Arc::new)
        })?;
        if segments.is_empty() {
            return Err(input.corrupt("a table without a segment"));
        }
        let shape = self.ids.next_object();
        Ok(TableVersion { id, shape, types, segments, changed: stamp })
    }

    /// A segment with the changes in a block.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory.
    pub(crate) fn open_segment(
        &self,
        segment: Arc<Segment>,
        types: &Arc<[Type]>,
        next_id: u32,
        block: Option<StoredBlock>,
    ) -> Result<SegmentVersion> {
        let rows = segment.rows();
        let write = Pdt::new(Arc::clone(types), rows, Arc::clone(self.budget))?;
        let write = write.with_next_id(next_id);
        let run = block.as_ref().map(|it| {
            let bytes = it.read(&run_identity(&segment))?;
            Run::open(&bytes, types, rows, self.budget).map(Arc::new)
        });
        let (run, block) = match (run.transpose(), self.damage) {
            (Ok(run), _) => (run, block),
            (Err(error), Damage::Refuse) => return Err(error),
            (Err(error), Damage::LoseChanges(findings)) => {
                let error = error.at("lost changes of segment", segment.id());
                findings.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                (None, None)
            }
        };
        Ok(SegmentVersion::new(segment, Layers { run, write }, block))
    }
}

/// The identity of the block with a segment's changes.
pub(crate) fn run_identity(segment: &Segment) -> BlockIdentity {
    BlockIdentity {
        kind: BlockKind::Run,
        table: segment.table().0,
        column: NO_COLUMN,
        segment: segment.id(),
        number: 0,
        first_row: 0,
        rows: segment.rows(),
    }
}

/// The sequences of a catalog.
pub(crate) fn sequences(catalog: &CatalogSnapshot) -> BTreeMap<SequenceId, &Arc<SequenceEntry>> {
    let entries = catalog.schemas.values().flat_map(|it| it.sequences.values());
    entries.map(|it| (it.id, it)).collect()
}

/// The minor version and the body, once its checksum is found right.
fn body(bytes: &[u8]) -> Result<(u8, Input<'_>)> {
    let damaged =
        |what: &str| Error::corruption(format!("damaged manifest: {what}")).hint(crate::RESTORE);
    let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it ends early"))?;
    if checksum(content) != u64::from_le_bytes(*sum) {
        return Err(damaged("its checksum is wrong"));
    }
    let mut input = Input::new(content, "manifest");
    if input.fixed::<4>()? != MAGIC {
        return Err(damaged("it does not begin as one"));
    }
    let [major, minor] = input.fixed::<2>()?;
    if major != VERSION_MAJOR || minor > VERSION_MINOR {
        let error = Error::unsupported(format!("a database of format {major}.{minor}"));
        return Err(error.hint("use a newer version of volley"));
    }
    Ok((minor, input))
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = XxHash3_64::with_seed(0);
    hasher.write(bytes);
    hasher.finish()
}

fn name(number: u32) -> Result<Name> {
    Name::new(format!("{FOLDER}/{number:08x}"))
}
