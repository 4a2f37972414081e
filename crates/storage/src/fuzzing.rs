//! What fuzzing feeds with bytes: parts of a database whose checksums are right.
//!
//! ```text
//! log        records of a group that follows a small database
//! manifest   a manifest without its checksum
//! zones      a block of zones
//! ```
//!
//! Whatever the bytes are, opening and reading gives rows or an error, and no internal one.

use crate::{
    AppendFile, Changes, ConflictScope, Expected, Listed, Name, Put, SegmentVersion, SegmentWriter,
    Storage, StorageOptions, Store, TableChange, TableVersion,
    bounds::{bounds_of, read_bounds, write_bounds},
    log, manifest,
    store::{Abilities, WriteKind},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use volley_connector::{TableEntry, TableId};
use volley_error::{Error, ErrorKind, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_pdt::bytes::{Input, Output};
use volley_types::{Field, Schema, Type, TypeRegistry};
use volley_vector::{Batch, Vector, random::Generator};

/// What a database may charge, in bytes.
const POOL_BYTES: usize = 64 << 20;

/// Rows of a segment above which its values are not looked at.
const ROWS_MAX: u32 = 100_000;

/// Opens a small database with a group of the log that has these records.
///
/// # Panics
///
/// If the error is an internal one.
pub fn log(records: &[u8]) {
    check(with_log(records).and_then(|it| read_all(&it)));
}

/// Opens a database with this manifest, to which the checksum is added.
///
/// # Panics
///
/// As `log`.
pub fn manifest(body: &[u8]) {
    check(with_manifest(body).and_then(|it| read_all(&it)));
}

/// Reads a block of zones of columns of some types.
///
/// # Panics
///
/// As `log`.
pub fn zones(bytes: &[u8]) {
    let mut input = Input::new(bytes, "block of zones");
    for data_type in zone_types() {
        match read_bounds(&mut input, &data_type) {
            Ok(bounds) => assert!(bounds.len() <= bytes.len() * 1024),
            Err(error) => return check(Err(error)),
        }
    }
}

/// Records of commits to the database that `log` opens, for the corpus.
///
/// # Errors
///
/// Internal: the database cannot be made.
pub fn log_seeds() -> Result<Vec<Vec<u8>>> {
    let (files, seed) = seed()?;
    let storage = open(&files)?;
    for number in 0..4 {
        commit(&storage, |changes| change(&storage, changes, seed.table, number))?;
    }
    storage.propagate(seed.table, last_segment(&storage, seed.table)?)?;
    commit(&storage, |changes| {
        let mut catalog = (*changes.catalog).clone();
        catalog.create_schema("other".into())?;
        changes.catalog = Arc::new(catalog);
        Ok(())
    })?;
    drop(storage);
    let mut payloads = Vec::new();
    let start = log::LogStart { file: seed.log_file, group: seed.log_group, salt: SALT };
    log::read(&files, start, |payload| {
        payloads.push(payload.to_vec());
        Ok(())
    })?;
    Ok(payloads)
}

/// Manifests without their checksums, for the corpus.
///
/// # Errors
///
/// As [`log_seeds`].
pub fn manifest_seeds() -> Result<Vec<Vec<u8>>> {
    let (files, seed) = seed()?;
    let mut bodies = vec![body_of(&files)?];
    let storage = open(&files)?;
    commit(&storage, |changes| change(&storage, changes, seed.table, 3))?;
    storage.checkpoint()?;
    bodies.push(body_of(&files)?);
    storage.propagate(seed.table, last_segment(&storage, seed.table)?)?;
    storage.checkpoint()?;
    bodies.push(body_of(&files)?);
    Ok(bodies)
}

/// Blocks of zones, for the corpus.
///
/// # Errors
///
/// Internal: values that cannot be read.
pub fn zones_seeds() -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for (seed, rows) in [(1, 0), (2, 1), (3, 30)] {
        let mut random = Generator::new(seed);
        let mut output = Output::default();
        for data_type in zone_types() {
            let zones = (0..3).map(|_| bounds_of(&random.vector(&data_type, rows).flatten()?));
            write_bounds(&zones.collect::<Result<Vec<_>>>()?, &data_type, &mut output)?;
        }
        seeds.push(output.bytes);
    }
    Ok(seeds)
}

fn zone_types() -> [Type; 4] {
    [Type::BigInt, Type::Varchar, Type::Double, Type::array(Type::Date)]
}

/// Where the number of a manifest is.
const NUMBER_AT: usize = 6;

/// The salt of databases here.
const SALT: u64 = 7;

/// A database to begin with.
#[derive(Clone, Copy)]
struct Seed {
    table: TableId,
    log_file: u32,
    log_group: u64,
}

fn check(result: Result<()>) {
    if let Err(error) = result {
        assert!(error.kind() != ErrorKind::Internal, "{error}");
    }
}

fn options() -> StorageOptions {
    StorageOptions {
        pool: Pool::root("fuzz", Some(POOL_BYTES)),
        delta_bytes: POOL_BYTES / 4,
        types: Arc::new(TypeRegistry::default()),
        bulk_rows: crate::BULK_ROWS,
        salt: SALT,
    }
}

fn open(files: &MemoryStore) -> Result<Arc<Storage>> {
    Storage::open(Arc::new(files.clone()), options())
}

fn with_log(records: &[u8]) -> Result<Arc<Storage>> {
    let (files, seed) = seed()?;
    let file = log::one_group(seed.log_file, seed.log_group, records, SALT)?;
    files.files().insert(file.0, Arc::new(file.1));
    open(&files)
}

fn with_manifest(body: &[u8]) -> Result<Arc<Storage>> {
    let (files, _) = seed()?;
    let before = manifest::current(&files)?;
    // The number in the manifest, if it is one byte long.
    let number = body.get(NUMBER_AT).map_or(1, |it| u32::from(*it & 0x7f));
    manifest::put(&files, number, &manifest::with_checksum(body.to_vec()))?;
    manifest::set_current(&files, before, number)?;
    open(&files)
}

fn body_of(files: &MemoryStore) -> Result<Vec<u8>> {
    let mut bytes = manifest::load(files, manifest::current(files)?.unwrap_or(1))?;
    bytes.truncate(bytes.len().saturating_sub(size_of::<u64>()));
    Ok(bytes)
}

/// A copy of the database to begin with.
fn seed() -> Result<(MemoryStore, Seed)> {
    static MADE: OnceLock<(MemoryStore, Seed)> = OnceLock::new();
    let (files, seed) = match MADE.get() {
        Some(made) => made,
        None => {
            let made = make_seed()?;
            MADE.get_or_init(|| made)
        }
    };
    let copy = files.files().clone();
    Ok((MemoryStore(Arc::new(Mutex::new(copy))), *seed))
}

/// A database with a table of two columns, a segment and changes, after a checkpoint.
fn make_seed() -> Result<(MemoryStore, Seed)> {
    let files = MemoryStore::default();
    let storage = open(&files)?;
    let table = TableId(storage.ids().next_object());
    let fields = vec![Field::new("k", Type::BigInt), Field::new("t", Type::Varchar)];
    let columns = Schema::new(fields);
    commit(&storage, |changes| {
        let (name, definition) = ("t".to_owned(), Arc::default());
        let entry = TableEntry { id: table, name, columns: columns.clone(), definition };
        Arc::make_mut(&mut changes.catalog).add_table("main", entry)?;
        let (shape, segment) = (storage.ids().next_object(), storage.ids().next_segment()?);
        let version = TableVersion::empty(table, shape, &columns, segment, storage.budget())?;
        changes.tables.insert(table, Arc::new(TableChange::replacing(version)));
        Ok(())
    })?;
    commit(&storage, |changes| change(&storage, changes, table, 2))?;
    commit(&storage, |changes| change(&storage, changes, table, 1))?;
    storage.checkpoint()?;
    let (log_file, log_group) = (storage.ids().next_file(), storage.core().log.next());
    Ok((files, Seed { table, log_file, log_group }))
}

/// Some change of the table, by its number.
fn change(storage: &Storage, changes: &mut Changes, table: TableId, number: u64) -> Result<()> {
    let types = Arc::clone(&changes.view(table)?.types);
    let mut random = Generator::new(number);
    let rows = random.batch(&types, 20);
    let change = changes.table_mut(table)?;
    if number == 2 {
        let mut writer = SegmentWriter::new(storage.files(), table, &types, storage.pool());
        writer.write(&rows)?;
        for segment in writer.finish()? {
            let version = SegmentVersion::unchanged(segment, &types, storage.budget())?;
            change.added.push(Arc::new(version));
        }
        return Ok(());
    }
    let last = change.segments().next_back().cloned();
    let last = last.ok_or_else(|| Error::internal("a table without a segment"))?;
    let mut own = last.layers.transaction()?;
    own.insert(last.segment.rows(), &rows)?;
    own.delete_range(&last.layers, 1..3)?;
    let value = Batch::new(vec![Vector::native::<i64>(Type::BigInt, vec![5], None)], 1);
    own.modify(&last.layers, &[volley_pdt::RowName::Base(4)], &[0], &value)?;
    change.own.insert(last.segment.id(), Arc::new(own));
    change.scope = ConflictScope::Rows;
    Ok(())
}

fn commit(storage: &Arc<Storage>, change: impl FnOnce(&mut Changes) -> Result<()>) -> Result<()> {
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    change(&mut changes)?;
    transaction.commit(changes)
}

fn last_segment(storage: &Storage, table: TableId) -> Result<u32> {
    let version = storage.snapshot();
    let last = version.table(table)?.segments.last().map(|it| it.segment.id());
    last.ok_or_else(|| Error::internal("a table without a segment"))
}

/// Reads all rows of all tables, and their zones.
fn read_all(storage: &Arc<Storage>) -> Result<()> {
    let version = storage.snapshot();
    let changes = Changes::new(Arc::clone(&version));
    for id in version.tables.keys() {
        let view = changes.view(*id)?;
        let columns: Vec<usize> = (0..view.types.len()).collect();
        for segment in &view.segments {
            let plan = segment.plan()?;
            assert_eq!(plan.rows(), segment.view().rows());
            for batch in plan.inserted(&columns) {
                assert!(batch.validate().is_ok());
            }
            let rows = &segment.version().segment;
            if rows.rows() > ROWS_MAX {
                continue;
            }
            rows.zones(&view.types)?;
            for block in 0..rows.blocks() {
                for (column, data_type) in view.types.iter().enumerate() {
                    segment.read(column, data_type, rows.block_rows(block), None)?;
                }
            }
        }
    }
    storage.check().map(drop)
}

/// Files in memory.
#[derive(Clone, Default)]
pub(crate) struct MemoryStore(Arc<Mutex<BTreeMap<Name, Arc<Vec<u8>>>>>);

impl MemoryStore {
    fn files(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Vec<u8>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} files)", self.files().len())
    }
}

fn io_error(what: &str, name: &Name) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {name}"))
}

impl Store for MemoryStore {
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>> {
        if self.files().insert(name.clone(), Arc::default()).is_some() {
            return Err(io_error("the file exists", name));
        }
        Ok(Box::new(MemoryAppend { files: self.clone(), name: name.clone(), bytes: Vec::new() }))
    }

    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
        let bytes = self.files().get(name).cloned();
        let bytes = bytes.ok_or_else(|| io_error("no such file", name))?;
        Ok(Arc::new(MemoryFile { path: name.to_string(), bytes }))
    }

    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        let mut files = self.files();
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Nothing => !files.contains_key(name),
            Expected::Bytes(old) => files.get(name).is_some_and(|it| ***it == *old),
        };
        if !is_expected {
            return Ok(Put::Refused);
        }
        files.insert(name.clone(), Arc::new(bytes.to_vec()));
        Ok(Put::Written)
    }

    fn list(&self, folder: &Name) -> Result<Vec<Listed>> {
        let files = self.files();
        let listed = files.iter().filter(|it| it.0.is_below(folder));
        Ok(listed.map(|it| Listed { name: it.0.clone(), bytes: it.1.len() as u64 }).collect())
    }

    fn remove(&self, name: &Name) -> Result<()> {
        self.files().remove(name);
        Ok(())
    }

    fn sync_names(&self, _folder: &Name) -> Result<()> {
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities { writes: WriteKind::AppendOnce, sector_bytes: 0 }
    }
}

#[derive(Debug)]
struct MemoryAppend {
    files: MemoryStore,
    name: Name,
    bytes: Vec<u8>,
}

impl AppendFile for MemoryAppend {
    fn append(&mut self, bytes: &[u8]) -> Result<usize> {
        self.bytes.extend_from_slice(bytes);
        self.files.files().insert(self.name.clone(), Arc::new(self.bytes.clone()));
        Ok(bytes.len())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[derive(Debug)]
struct MemoryFile {
    path: String,
    bytes: Arc<Vec<u8>>,
}

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let found = self.bytes.get(start..).and_then(|it| it.get(..out.len()));
        let found = found.ok_or_else(|| Error::corruption("a range beyond the end of a file"))?;
        out.copy_from_slice(found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds with some bits changed, left out and repeated.
    fn run(target: fn(&[u8]), seeds: &[Vec<u8>]) {
        let mut random = fastrand::Rng::with_seed(11);
        for seed in seeds {
            target(seed);
        }
        for _ in 0..600 {
            let mut bytes = random.choice(seeds).unwrap().clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len().max(1));
                let end = bytes.len().min(at + random.usize(..12));
                match random.u8(..5) {
                    _ if bytes.is_empty() => {}
                    0 => bytes[at] ^= 1 << random.u8(..8),
                    1 => bytes[at] = random.choice([0, 1, 0x7f, 0x80, 0xff]).unwrap(),
                    2 => drop(bytes.drain(at..end)),
                    3 => bytes.truncate(at),
                    _ => {
                        let piece = bytes[at..end].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            target(&bytes);
        }
    }

    #[test]
    fn records_of_any_bytes_are_read_or_refused() {
        let seeds = log_seeds().unwrap();
        assert_eq!(seeds.len(), 6);
        for seed in &seeds[..1] {
            with_log(seed).and_then(|it| read_all(&it)).unwrap();
        }
        run(log, &seeds);
    }

    #[test]
    fn manifests_of_any_bytes_are_read_or_refused() {
        let seeds = manifest_seeds().unwrap();
        with_manifest(&seeds[0]).and_then(|it| read_all(&it)).unwrap();
        run(manifest, &seeds);
    }

    #[test]
    fn zones_of_any_bytes_are_read_or_refused() {
        let seeds = zones_seeds().unwrap();
        run(zones, &seeds);
    }
}
