//! Kinds of faults, their chances, and how often they happened.

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An append takes only some of the bytes.
    ShortWrite,
    /// No room, for this operation.
    FullDisk,
    /// A read fails.
    ReadError,
    /// A sync fails: some of the bytes are lost, and reads still show them.
    SyncError,
    /// A sync of names fails: any of them may be as before.
    NameSyncError,
    /// A read gets a sector of another place.
    MisdirectedRead,
    /// A sync writes a sector to another place.
    MisdirectedWrite,
    /// A sync writes a sector with one bit changed.
    FlippedBit,
    /// A dirty sector was lost in a crash.
    LostSector,
    /// Of a dirty sector, a crash left the first bytes alone.
    TornSector,
    /// A sector survived a crash that comes after one that did not.
    ReorderedSector,
    /// A name that was not synced was gone after a crash.
    LostName,
    /// A name that was removed was back after a crash.
    ReturnedName,
}

/// The number of kinds.
pub const FAULT_KINDS: usize = 13;

/// How often out of 10,000 times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance(pub u16);

/// The chance of each kind of fault that happens while operations run. What a crash does to bytes
/// that were not synced has no settings: it happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Per append.
    pub short_write: Chance,
    /// Per append, create and put.
    pub full_disk: Chance,
    /// Per read.
    pub read_error: Chance,
    /// Per sync and put.
    pub sync_error: Chance,
    /// Per sync of names.
    pub name_sync_error: Chance,
    /// Per read.
    pub misdirected_read: Chance,
    /// Per sync.
    pub misdirected_write: Chance,
    /// Per sync.
    pub flipped_bit: Chance,
}

/// How often each kind of fault happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fired([u64; FAULT_KINDS]);

impl Fired {
    /// Of one kind.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    pub(crate) fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Adds those of another disk.
    pub fn add(&mut self, other: Fired) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, it)| *sum += it);
    }

    /// The smallest count of all kinds.
    pub fn min(&self) -> u64 {
        self.0.iter().copied().min().unwrap_or_default()
    }
}
