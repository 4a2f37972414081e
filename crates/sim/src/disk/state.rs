//! The disk's files and names, and what operations do to them.

use super::{
    SECTOR_BYTES,
    fault::{Chance, Fault, Faults, Fired},
    inode::Inode,
};
use std::{collections::BTreeMap, fmt::Write};
use volley_error::{Error, ErrorKind, Result};
use volley_storage::{Expected, Listed, Name, Put};

/// The number of a file's contents. Numbers are not used again.
pub(super) type FileId = u64;

#[derive(Debug)]
pub(super) struct State {
    random: fastrand::Rng,
    pub(super) faults: Faults,
    pub(super) fired: Fired,
    pub(super) capacity: u64,
    pub(super) operations: u64,
    pub(super) crash_at: u64,
    pub(super) has_crashed: bool,
    /// Restarts so far: files that were opened before are unusable.
    pub(super) generation: u64,
    pub(super) trace: String,
    next_file: FileId,
    /// Files without a name stay: they may be open.
    files: BTreeMap<FileId, Inode>,
    names: BTreeMap<Name, FileId>,
    durable_names: BTreeMap<Name, FileId>,
}

impl State {
    pub(super) fn new(seed: u64) -> State {
        State {
            random: fastrand::Rng::with_seed(seed),
            faults: Faults::default(),
            fired: Fired::default(),
            capacity: u64::MAX,
            operations: 0,
            crash_at: u64::MAX,
            has_crashed: false,
            generation: 0,
            trace: String::new(),
            next_file: 0,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
        }
    }

    /// Begins an operation. It may be the one that the disk crashes in: `Ok(true)`, and the caller
    /// does a part of its work.
    fn begin(&mut self, what: &str, name: &Name) -> Result<bool> {
        if self.has_crashed {
            return Err(crashed());
        }
        let number = self.operations;
        self.operations += 1;
        let is_last = number >= self.crash_at;
        let end = if is_last { ", crash" } else { "" };
        let _ = writeln!(self.trace, "{number} {what} {name}{end}");
        self.has_crashed = is_last;
        Ok(is_last)
    }

    /// Whether a fault happens.
    fn fires(&mut self, fault: Fault, chance: Chance) -> bool {
        let fires = chance.0 > 0 && self.random.u16(..10_000) < chance.0;
        if fires {
            self.fired.count(fault);
            let _ = writeln!(self.trace, "  {fault:?}");
        }
        fires
    }

    fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|it| self.files.get(it))
            .map(|it| it.cache.len() as u64)
            .sum()
    }

    /// Room for at most `bytes` more.
    fn room(&mut self, bytes: usize, name: &Name) -> Result<usize> {
        let free = self.capacity.saturating_sub(self.used());
        if (bytes > 0 && free == 0) || self.fires(Fault::FullDisk, self.faults.full_disk) {
            return Err(io_error("no space left on the disk", name));
        }
        Ok(usize::try_from(free).unwrap_or(usize::MAX).min(bytes))
    }

    pub(super) fn create(&mut self, name: &Name) -> Result<FileId> {
        let is_last = self.begin("create", name)?;
        self.room(0, name)?;
        if self.names.contains_key(name) {
            return Err(io_error("a file of this name exists", name));
        }
        let file = self.add(Inode::default());
        if !is_last || self.random.bool() {
            self.names.insert(name.clone(), file);
        }
        if is_last { Err(crashed()) } else { Ok(file) }
    }

    fn add(&mut self, inode: Inode) -> FileId {
        self.next_file += 1;
        self.files.insert(self.next_file, inode);
        self.next_file
    }

    pub(super) fn append(&mut self, name: &Name, file: FileId, bytes: &[u8]) -> Result<usize> {
        let is_last = self.begin("append", name)?;
        let mut count = self.room(bytes.len(), name)?;
        if count > 1 && self.fires(Fault::ShortWrite, self.faults.short_write) {
            count = self.random.usize(1..count);
        }
        if is_last {
            count = self.random.usize(..=count);
        }
        let inode = self.files.get_mut(&file).ok_or_else(|| io_error("no such file", name))?;
        inode.append(bytes.get(..count).unwrap_or_default());
        if is_last { Err(crashed()) } else { Ok(count) }
    }

    pub(super) fn sync(&mut self, name: &Name, file: FileId) -> Result<()> {
        let is_last = self.begin("sync", name)?;
        let fails = self.fires(Fault::SyncError, self.faults.sync_error);
        let is_misdirected = self.fires(Fault::MisdirectedWrite, self.faults.misdirected_write);
        let is_flipped = self.fires(Fault::FlippedBit, self.faults.flipped_bit);
        let Some(inode) = self.files.get_mut(&file) else {
            return Err(io_error("no such file", name));
        };
        if is_last {
            // What is dirty now is for the crash to decide.
            return Err(crashed());
        }
        let sectors = inode.dirty_sectors();
        if fails {
            inode.fail_sync(&mut self.random);
            return Err(io_error("input/output error of a sync", name));
        }
        inode.sync();
        if let Some(sector) = self.random.choice(&sectors).cloned() {
            if is_flipped {
                let at = self.random.usize(sector.clone());
                inode.disk[at] ^= 1 << self.random.u8(..8);
            }
            if is_misdirected {
                let bytes = inode.disk[sector.clone()].to_vec();
                inode.disk[sector].fill(0);
                self.misdirect(&bytes);
            }
        }
        Ok(())
    }

    /// Writes a sector somewhere. Reads show the disk there, as after the cache was dropped.
    fn misdirect(&mut self, bytes: &[u8]) {
        let Some(index) = self.random_file() else { return };
        let Some(inode) = self.files.get_mut(&index) else { return };
        if inode.disk.len() < bytes.len() {
            return;
        }
        let sector = self.random.usize(..=(inode.disk.len() - bytes.len()) / SECTOR_BYTES);
        let start = sector * SECTOR_BYTES;
        inode.disk[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn random_file(&mut self) -> Option<FileId> {
        let files: Vec<FileId> = self.names.values().copied().collect();
        self.random.choice(files)
    }

    pub(super) fn open(&mut self, name: &Name) -> Result<(FileId, u64)> {
        if self.begin("open", name)? {
            return Err(crashed());
        }
        let file = self.names.get(name).copied();
        let found = file.and_then(|it| Some((it, self.files.get(&it)?.cache.len() as u64)));
        found.ok_or_else(|| io_error("no such file", name))
    }

    pub(super) fn read(
        &mut self,
        name: &Name,
        file: FileId,
        start: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        if self.begin("read", name)? {
            return Err(crashed());
        }
        if self.fires(Fault::ReadError, self.faults.read_error) {
            return Err(io_error("input/output error of a read", name));
        }
        let inode = self.files.get(&file).ok_or_else(|| io_error("no such file", name))?;
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let found = start.checked_add(bytes.len()).and_then(|end| inode.cache.get(start..end));
        bytes.copy_from_slice(found.ok_or_else(|| io_error("a read beyond the end", name))?);
        if self.fires(Fault::MisdirectedRead, self.faults.misdirected_read) {
            self.misread(bytes);
        }
        Ok(())
    }

    /// Replaces what was read by bytes of another place.
    fn misread(&mut self, bytes: &mut [u8]) {
        let Some(other) = self.random_file().and_then(|it| self.files.get(&it)) else { return };
        let count = bytes.len().min(SECTOR_BYTES).min(other.cache.len());
        let sectors = (other.cache.len() - count) / SECTOR_BYTES;
        let start = self.random.usize(..=sectors) * SECTOR_BYTES;
        bytes[..count].copy_from_slice(&other.cache[start..start + count]);
    }

    pub(super) fn put(&mut self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        let is_last = self.begin("put", name)?;
        let current = self.names.get(name).and_then(|it| self.files.get(it));
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Nothing => current.is_none(),
            Expected::Bytes(bytes) => current.is_some_and(|it| it.cache == bytes),
        };
        if !is_expected {
            return if is_last { Err(crashed()) } else { Ok(Put::Refused) };
        }
        if self.room(bytes.len(), name)? < bytes.len() {
            return Err(io_error("no space left on the disk", name));
        }
        let fails = self.fires(Fault::SyncError, self.faults.sync_error);
        if (is_last || fails) && self.random.bool() {
            return Err(if is_last { crashed() } else { io_error("input/output error", name) });
        }
        let file = self.add(Inode::durable(bytes));
        self.names.insert(name.clone(), file);
        self.durable_names.insert(name.clone(), file);
        match (is_last, fails) {
            (true, _) => Err(crashed()),
            (false, true) => Err(io_error("input/output error", name)),
            (false, false) => Ok(Put::Written),
        }
    }

    pub(super) fn list(&mut self, folder: &Name) -> Result<Vec<Listed>> {
        if self.begin("list", folder)? {
            return Err(crashed());
        }
        let listed = self.names.iter().filter(|it| it.0.is_below(folder)).map(|(name, file)| {
            let bytes = self.files.get(file).map_or(0, |it| it.cache.len() as u64);
            Listed { name: name.clone(), bytes }
        });
        Ok(listed.collect())
    }

    pub(super) fn remove(&mut self, name: &Name) -> Result<()> {
        let is_last = self.begin("remove", name)?;
        if !is_last || self.random.bool() {
            self.names.remove(name);
        }
        if is_last { Err(crashed()) } else { Ok(()) }
    }

    pub(super) fn sync_names(&mut self, folder: &Name) -> Result<()> {
        let is_last = self.begin("sync names of", folder)?;
        if is_last {
            return Err(crashed());
        }
        let fails = self.fires(Fault::NameSyncError, self.faults.name_sync_error);
        for name in self.changed_names().into_iter().filter(|it| it.folder() == *folder) {
            if !fails || self.random.bool() {
                copy_name(&self.names, &mut self.durable_names, &name);
            }
        }
        if fails { Err(io_error("input/output error of a sync of names", folder)) } else { Ok(()) }
    }

    /// Names whose file is another one than the durable one.
    fn changed_names(&self) -> Vec<Name> {
        let mut names: Vec<&Name> = self.names.keys().chain(self.durable_names.keys()).collect();
        names.sort();
        names.dedup();
        names.retain(|it| self.names.get(*it) != self.durable_names.get(*it));
        names.into_iter().cloned().collect()
    }

    pub(super) fn restart(&mut self) {
        let _ = writeln!(self.trace, "restart");
        for name in self.changed_names() {
            if self.random.bool() {
                copy_name(&self.names, &mut self.durable_names, &name);
                continue;
            }
            let was_created = self.names.contains_key(&name);
            let fault = if was_created { Fault::LostName } else { Fault::ReturnedName };
            self.fired.count(fault);
        }
        self.names.clone_from(&self.durable_names);
        let names = &self.names;
        self.files.retain(|id, _| names.values().any(|it| it == id));
        for inode in self.files.values_mut() {
            inode.crash(&mut self.random, &mut self.fired);
        }
        self.generation += 1;
        self.has_crashed = false;
        self.crash_at = u64::MAX;
    }

    pub(super) fn durable_bytes(&self, name: &Name) -> Option<Vec<u8>> {
        let file = self.durable_names.get(name)?;
        self.files.get(file).map(|it| it.disk.clone())
    }

    /// Fails for handles that were opened before the last restart.
    pub(super) fn check_generation(&self, generation: u64) -> Result<()> {
        if generation == self.generation { Ok(()) } else { Err(crashed()) }
    }

    pub(super) fn file_len(&self, file: FileId) -> u64 {
        self.files.get(&file).map_or(0, |it| it.cache.len() as u64)
    }
}

/// Makes `name` in `to` what it is in `from`.
fn copy_name(from: &BTreeMap<Name, FileId>, to: &mut BTreeMap<Name, FileId>, name: &Name) {
    match from.get(name) {
        Some(file) => to.insert(name.clone(), *file),
        None => to.remove(name),
    };
}

fn crashed() -> Error {
    Error::new(ErrorKind::Io, "the simulated machine crashed")
}

fn io_error(what: &str, name: &Name) -> Error {
    Error::new(ErrorKind::Io, what).at("file", name.to_string())
}
