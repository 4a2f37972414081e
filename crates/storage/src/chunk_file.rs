//! Chunk files: blocks one after the other.
//!
//! A file is written by one [`ChunkWriter`] and durable when that has finished. It is removed when
//! no version in memory and no manifest needs it. Bytes that no version refers to are dead.

use crate::{
    AppendFile, Ids, Name, Store, TableDescription,
    block::{
        self, BlockAddress, BlockIdentity, BlockKind, HEADER_BYTES, NO_COLUMN, PAYLOAD_BYTES_MAX,
    },
    block_cache::BlockCache,
    points::PointCache,
    store::open_existing,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, Weak},
};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, check_cancelled};
use volley_vector::Buffer;

/// The folder of chunk files.
const FOLDER: &str = "data";

/// A file that is longer gets no more blocks.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// Bytes in which the next header is looked for at once.
const SEARCH_BYTES: u64 = 1 << 20;

/// The chunk files of a database.
#[derive(Debug)]
pub struct ChunkFiles {
    store: Arc<dyn Store>,
    ids: Arc<Ids>,
    /// Seed of checksums: blocks of another database are none of this one.
    salt: u64,
    points: Arc<PointCache>,
    blocks: Arc<BlockCache>,
    opening: Opening,
    /// Files that are in use in memory.
    in_use: Mutex<BTreeMap<u32, Weak<ChunkFile>>>,
}

/// When files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// When they are first read: nothing removes files that are in use.
    FirstRead,
    /// When a version refers to them: another process may remove them afterwards. A file that is
    /// open can still be read.
    AtOnce,
}

/// A chunk file. While it is held, the file is not removed.
#[derive(Debug)]
pub struct ChunkFile {
    number: u32,
    salt: u64,
    store: Arc<dyn Store>,
    points: Arc<PointCache>,
    blocks: Arc<BlockCache>,
    open: Mutex<Option<Arc<dyn RandomAccessFile>>>,
}

/// A block that can be read.
#[derive(Clone, Debug)]
pub struct StoredBlock {
    pub(crate) file: Arc<ChunkFile>,
    pub(crate) address: BlockAddress,
}

impl ChunkFiles {
    /// The chunk files in `store`. What reads of single rows keep is charged to `pool`.
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        ids: &Arc<Ids>,
        salt: u64,
        pool: &Pool,
    ) -> Arc<ChunkFiles> {
        ChunkFiles::with_opening(store, ids, salt, (pool, Opening::FirstRead))
    }

    /// The chunk files in `store`, which are opened as the [`Opening`] says.
    pub(crate) fn with_opening(
        store: &Arc<dyn Store>,
        ids: &Arc<Ids>,
        salt: u64,
        (pool, opening): (&Pool, Opening),
    ) -> Arc<ChunkFiles> {
        Arc::new(ChunkFiles {
            store: Arc::clone(store),
            ids: Arc::clone(ids),
            salt,
            points: PointCache::new(pool),
            blocks: BlockCache::new(pool),
            opening,
            in_use: Mutex::default(),
        })
    }

    /// Numbers of segments and files.
    pub fn ids(&self) -> &Arc<Ids> {
        &self.ids
    }

    /// The file of a number. It is opened when it is first read.
    pub(crate) fn file(&self, number: u32) -> Arc<ChunkFile> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = in_use.get(&number).and_then(Weak::upgrade) {
            return file;
        }
        let (salt, store) = (self.salt, Arc::clone(&self.store));
        let (points, blocks) = (Arc::clone(&self.points), Arc::clone(&self.blocks));
        let open = Mutex::default();
        let file = Arc::new(ChunkFile { number, salt, store, points, blocks, open });
        in_use.insert(number, Arc::downgrade(&file));
        file
    }

    /// The file of a number, which exists.
    ///
    /// # Errors
    ///
    /// I/O, if it is opened at once.
    pub(crate) fn existing_file(&self, number: u32) -> Result<Arc<ChunkFile>> {
        let file = self.file(number);
        if self.opening == Opening::AtOnce {
            file.open()?;
        }
        Ok(file)
    }

    /// Removes files that are neither in use nor in `needed`; how many.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn collect(&self, needed: &BTreeSet<u32>) -> Result<usize> {
        let listed = self.store.list(&Name::new(FOLDER)?)?;
        // Under the lock, so that no file of these comes into use meanwhile.
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|_, it| it.strong_count() > 0);
        let mut removed = 0;
        self.blocks.forget(|it| !needed.contains(&it) && !in_use.contains_key(&it));
        for file in listed {
            let number = u32::from_str_radix(file.name.file(), 16).ok();
            let is_kept = |it: &u32| needed.contains(it) || in_use.contains_key(it);
            if !number.as_ref().is_some_and(is_kept) {
                self.store.remove(&file.name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Changes how many bytes of blocks are kept in memory. Half of the memory limit suits most.
    pub fn set_cache_bytes(&self, bytes: usize) {
        self.blocks.set_limit(bytes);
    }

    /// Reads of blocks that were answered from memory.
    pub fn cached_reads(&self) -> u64 {
        self.blocks.hits()
    }

    /// Bytes of each file.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn sizes(&self) -> Result<BTreeMap<u32, u64>> {
        let listed = self.store.list(&Name::new(FOLDER)?)?.into_iter();
        let sizes =
            listed.filter_map(|it| Some((u32::from_str_radix(it.name.file(), 16).ok()?, it.bytes)));
        Ok(sizes.collect())
    }

    /// Looks at the headers of all blocks of a file, and reads the descriptions of tables.
    ///
    /// # Errors
    ///
    /// I/O; corruption: a header or a description is damaged.
    pub(crate) fn check_file(&self, number: u32) -> Result<()> {
        let file = self.file(number).open()?;
        let scan = scan(&*file, number)?;
        if let Some(offset) = scan.gaps.first() {
            let error = Error::corruption("damaged block: its header is none").at("offset", offset);
            return Err(error.at("file", file.path()).hint(crate::RESTORE));
        }
        for (identity, address) in scan.blocks {
            if identity.kind == BlockKind::Table {
                StoredBlock { file: self.file(number), address }.read(&identity)?;
            }
        }
        Ok(())
    }

    /// The largest number of a file that exists.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn last_number(&self) -> Result<u32> {
        let listed = self.store.list(&Name::new(FOLDER)?)?;
        let numbers = listed.iter().filter_map(|it| u32::from_str_radix(it.name.file(), 16).ok());
        Ok(numbers.max().unwrap_or_default())
    }
}

impl ChunkFile {
    /// Its number.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What reads of single rows keep.
    pub(crate) fn points(&self) -> &PointCache {
        &self.points
    }

    /// The description of a table at the start of the file, as bytes; `None` if there is none.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    pub(crate) fn first_description(self: &Arc<Self>) -> Result<Option<Buffer>> {
        let file = self.open()?;
        match header_at(&*file, self.number, 0)? {
            Some((identity, address)) if identity.kind == BlockKind::Table => {
                StoredBlock { file: Arc::clone(self), address }.read(&identity).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn open(&self) -> Result<Arc<dyn RandomAccessFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.as_ref() {
            return Ok(Arc::clone(file));
        }
        let file = open_existing(&*self.store, &file_name(self.number)?)?;
        *open = Some(Arc::clone(&file));
        Ok(file)
    }
}

impl StoredBlock {
    /// The payload, from memory if it was read before.
    ///
    /// # Errors
    ///
    /// As [`StoredBlock::read`].
    pub(crate) fn read_cached(&self, identity: &BlockIdentity) -> Result<Buffer> {
        let (cache, at) = (&self.file.blocks, self.address);
        if let Some(payload) = cache.get(at.file, at.offset) {
            return Ok(payload);
        }
        let payload = self.read(identity)?;
        cache.put(at.file, at.offset, &payload);
        Ok(payload)
    }

    /// The payload, from the file.
    ///
    /// # Errors
    ///
    /// I/O. Corruption: the bytes are not those of this block. Unsupported: a newer format.
    pub(crate) fn read(&self, identity: &BlockIdentity) -> Result<Buffer> {
        let file = self.file.open()?;
        let read = || {
            let end = self.address.offset + (HEADER_BYTES as u64) + u64::from(self.address.bytes);
            if end > file.size_bytes() {
                return Err(block::damaged(identity, &self.address, "the file ends before it"));
            }
            let mut bytes = vec![0; HEADER_BYTES + self.address.bytes as usize];
            file.read_into(self.address.offset, &mut bytes)?;
            block::check(&bytes, identity, &self.address, self.file.salt)?;
            Ok(Buffer::from_vec(bytes).slice(HEADER_BYTES))
        };
        read().map_err(|it: Error| it.at("file", file.path()))
    }
}

pub(crate) fn file_name(number: u32) -> Result<Name> {
    Name::new(format!("{FOLDER}/{number:08x}"))
}

/// What the headers of a file say.
#[derive(Debug, Default)]
pub(crate) struct FileScan {
    /// In the order of the file.
    pub(crate) blocks: Vec<(BlockIdentity, BlockAddress)>,
    /// Where a header should be and is none.
    pub(crate) gaps: Vec<u64>,
}

/// Looks at the headers of file `number`, one after the other. Behind one that is damaged, or that
/// no header follows, it looks for the next.
///
/// # Errors
///
/// I/O, cancelled.
pub(crate) fn scan(file: &dyn RandomAccessFile, number: u32) -> Result<FileScan> {
    let mut scan = FileScan::default();
    let mut offset = 0;
    while offset < file.size_bytes() {
        check_cancelled()?;
        let found = header_at(file, number, offset)?;
        let end = found.as_ref().map_or(offset, |it| end_of(&it.1));
        scan.blocks.extend(found);
        let is_followed = end == file.size_bytes() || header_at(file, number, end)?.is_some();
        if found.is_some() && is_followed {
            offset = end;
            continue;
        }
        // The header is none, or what it says of its length is wrong.
        scan.gaps.push(end);
        match next_header(file, number, offset + 1)? {
            Some(next) => offset = next,
            None => break,
        }
    }
    Ok(scan)
}

fn end_of(address: &BlockAddress) -> u64 {
    address.offset.saturating_add(HEADER_BYTES as u64 + u64::from(address.bytes))
}

/// The header at `offset`, if there is one that belongs there.
fn header_at(
    file: &dyn RandomAccessFile,
    number: u32,
    offset: u64,
) -> Result<Option<(BlockIdentity, BlockAddress)>> {
    if file.size_bytes().saturating_sub(offset) < HEADER_BYTES as u64 {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    file.read_into(offset, &mut header)?;
    Ok(block::parse(&header).filter(|(_, address)| {
        let is_here = address.file == number && address.offset == offset;
        is_here && end_of(address) <= file.size_bytes()
    }))
}

/// Where the next header is, from `offset` on.
fn next_header(file: &dyn RandomAccessFile, number: u32, offset: u64) -> Result<Option<u64>> {
    let mut start = offset;
    while start.saturating_add(HEADER_BYTES as u64) <= file.size_bytes() {
        check_cancelled()?;
        let bytes = SEARCH_BYTES.min(file.size_bytes() - start);
        let mut window = vec![0; bytes as usize];
        file.read_into(start, &mut window)?;
        let starts = window.windows(block::MAGIC.len()).zip(start..);
        for (_, at) in starts.filter(|it| it.0 == block::MAGIC) {
            if header_at(file, number, at)?.is_some() {
                return Ok(Some(at));
            }
        }
        // A magic may begin in the last bytes.
        start += (bytes - block::MAGIC.len() as u64 + 1).max(1);
    }
    Ok(None)
}

/// Appends blocks to new files. Nothing is written before the first block.
#[derive(Debug)]
pub struct ChunkWriter {
    files: Arc<ChunkFiles>,
    open: Option<OpenChunk>,
    has_files: bool,
    /// What comes before the first block of a table in each file.
    descriptions: BTreeMap<u64, Vec<u8>>,
}

#[derive(Debug)]
struct OpenChunk {
    file: Arc<ChunkFile>,
    to: Box<dyn AppendFile>,
    /// Tables whose descriptions are in the file.
    described: BTreeSet<u64>,
}

impl ChunkWriter {
    /// A writer of new files.
    pub fn new(files: &Arc<ChunkFiles>) -> ChunkWriter {
        let files = Arc::clone(files);
        ChunkWriter { files, open: None, has_files: false, descriptions: BTreeMap::new() }
    }

    /// Describes a table in each file with blocks of it.
    ///
    /// # Errors
    ///
    /// Unsupported: opaque types.
    pub(crate) fn describe(&mut self, description: &TableDescription) -> Result<()> {
        let bytes = description.to_bytes(self.files.salt)?;
        self.descriptions.insert(description.table().id.0, bytes);
        Ok(())
    }

    /// The files that blocks are appended to.
    pub(crate) fn files(&self) -> &Arc<ChunkFiles> {
        &self.files
    }

    /// Appends a block, which can be read after [`ChunkWriter::finish`].
    ///
    /// # Errors
    ///
    /// I/O; unsupported: a payload of 2 GiB.
    pub(crate) fn append(
        &mut self,
        identity: &BlockIdentity,
        payload: &[u8],
    ) -> Result<StoredBlock> {
        if payload.len() >= PAYLOAD_BYTES_MAX {
            let error = Error::unsupported("a block of 2 GiB").at("bytes", payload.len());
            return Err(error.hint("values of this size do not belong in a table"));
        }
        if self.open.as_ref().is_some_and(|it| it.to.len() >= FILE_BYTES_MAX) {
            self.close()?;
        }
        let salt = self.files.salt;
        let open = match self.open.take() {
            Some(open) => self.open.insert(open),
            None => {
                let number = self.files.ids.next_file();
                // In use before it exists, so that it is not collected.
                let file = self.files.file(number);
                let to = self.files.store.create(&file_name(number)?)?;
                self.has_files = true;
                self.open.insert(OpenChunk { file, to, described: BTreeSet::new() })
            }
        };
        if let Some(description) = self.descriptions.get(&identity.table)
            && open.described.insert(identity.table)
        {
            open.append(&description_identity(identity.table), description, salt)?;
        }
        open.append(identity, payload, salt)
    }

    fn close(&mut self) -> Result<()> {
        self.open.take().map_or(Ok(()), |mut it| it.to.sync())
    }

    /// Makes all blocks durable. After an error none of them is.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.close()?;
        if self.has_files { self.files.store.sync_names(&Name::new(FOLDER)?) } else { Ok(()) }
    }
}

/// The identity of the block with the description of a table.
fn description_identity(table: u64) -> BlockIdentity {
    BlockIdentity {
        kind: BlockKind::Table,
        table,
        column: NO_COLUMN,
        segment: 0,
        number: 0,
        first_row: 0,
        rows: 0,
    }
}

impl OpenChunk {
    fn append(
        &mut self,
        identity: &BlockIdentity,
        payload: &[u8],
        salt: u64,
    ) -> Result<StoredBlock> {
        let (file, offset) = (self.file.number, self.to.len());
        let address = BlockAddress { file, offset, bytes: payload.len() as u32 };
        self.to.append_all(&block::header(identity, &address, payload, salt))?;
        self.to.append_all(payload)?;
        Ok(StoredBlock { file: Arc::clone(&self.file), address })
    }
}
