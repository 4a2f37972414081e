//! Reading a database that another process writes.
//!
//! ```text
//! refresh   read CURRENT
//!           the manifest that was read before:  apply the groups that the log got since
//!           another one:                        read it, and then its log
//!           read CURRENT again; if it names another manifest, begin again
//! ```
//!
//! The writer removes what a manifest needs only after another one is current. So all files that
//! were read were complete if CURRENT is the same afterwards. Files of segments are opened while
//! they certainly exist, and stay open for as long as a version in memory refers to them: an open
//! file can be read after it was removed. A reader writes nothing, and the writer does not know of
//! it.
//!
//! A reader sees groups that the writer appended and has not synced yet. They are lost only if the
//! machine stops before the sync, and with it the reader.

use crate::{
    ChunkFiles, Ids, Storage, StorageOptions, Store, Version,
    chunk_file::Opening,
    commit::Core,
    log::{Log, LogCursor, LogStart},
    manifest::{self, Damage, ManifestReader},
    recovery::{Parts, Replay, assemble},
};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::{Error, ErrorKind, Result};
use volley_pdt::Budget;
use volley_types::TypeRegistry;

/// How often a reader begins again because the writer has made a checkpoint meanwhile.
const ATTEMPTS_MAX: usize = 1000;

/// What a reader knows of the writer's files.
#[derive(Debug)]
pub(crate) struct Follower {
    following: Following,
    types: Arc<TypeRegistry>,
    position: Mutex<Option<Position>>,
}

/// What was read of the database.
#[derive(Clone, Copy, Debug)]
struct Position {
    manifest: u32,
    cursor: LogCursor,
}

/// Whether a reader looks for new commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Following {
    Commits,
    /// The database is damaged: what was read of it is all.
    Nothing,
}

impl Follower {
    /// Opens a database.
    pub(crate) fn open(store: Arc<dyn Store>, options: StorageOptions) -> Result<Storage> {
        let salt = salt(&*store)?;
        let ids = Arc::new(Ids::default());
        let budget = Budget::new(&options.pool, options.delta_bytes);
        let files = ChunkFiles::with_opening(&store, &ids, salt, Opening::AtOnce);
        // Nothing is appended to this log: commits are refused.
        let core = Core::new(Log::new(&store, &ids, salt, 0), None);
        let types = Arc::clone(&options.types);
        let version = Version::default();
        let parts = Parts { store, files, ids, budget, salt, core, version };
        let mut storage = assemble(parts, options);
        storage.follower =
            Some(Follower { following: Following::Commits, types, position: Mutex::default() });
        storage.refresh()?;
        Ok(storage)
    }

    /// Of a damaged database, which nothing is read of any more.
    pub(crate) fn stopped() -> Follower {
        let following = Following::Nothing;
        Follower { following, types: Arc::default(), position: Mutex::default() }
    }

    /// Publishes what the writer committed, if it did.
    pub(crate) fn refresh(&self, storage: &Storage) -> Result<()> {
        if self.following == Following::Nothing {
            return Ok(());
        }
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..ATTEMPTS_MAX {
            let number = current(&*storage.store)?;
            let before = position.filter(|it| it.manifest == number);
            let found = match before {
                Some(before) => self.follow(storage, before, (*storage.snapshot()).clone()),
                None => self.load(storage, number),
            };
            if current(&*storage.store)? != number {
                continue;
            }
            let (next, version) = found?;
            let is_new = before.is_none() || version.stamp != storage.snapshot().stamp;
            // Segments that were written again change no stamp.
            if is_new || next.cursor.next() != before.map_or(0, |it| it.cursor.next()) {
                storage.publish(version);
            }
            *position = Some(next);
            return Ok(());
        }
        let message = "the writer of the database makes checkpoints faster than they can be read";
        Err(Error::new(ErrorKind::Io, message).hint("try again"))
    }

    /// Reads manifest `number` and its log.
    fn load(&self, storage: &Storage, number: u32) -> Result<(Position, Version)> {
        let bytes = manifest::load(&*storage.store, number)?;
        let salt = manifest::salt(&bytes, number)?;
        if salt != storage.salt {
            let error = Error::invalid_query("another database is in this folder now");
            return Err(error.hint("DETACH and ATTACH open it"));
        }
        let reader = ManifestReader {
            files: &storage.files,
            ids: &storage.ids,
            types: &self.types,
            budget: &storage.budget,
            damage: Damage::Refuse,
        };
        let (header, version) = reader.read(&bytes, number)?;
        let start = LogStart { file: header.log_file, group: header.log_group, salt };
        let position = Position { manifest: number, cursor: LogCursor::new(start) };
        self.follow(storage, position, version)
    }

    /// Applies the groups that the log got since.
    fn follow(
        &self,
        storage: &Storage,
        mut position: Position,
        mut version: Version,
    ) -> Result<(Position, Version)> {
        let (files, ids, budget) = (&*storage.files, &*storage.ids, &storage.budget);
        let mut replay = Replay { files, ids, types: &self.types, budget };
        position.cursor.follow(&*storage.store, |it| replay.group(it, &mut version))?;
        Ok((position, version))
    }
}

/// The number of the current manifest.
fn current(store: &dyn Store) -> Result<u32> {
    manifest::current(store)?.ok_or_else(|| {
        let error = Error::new(ErrorKind::Io, "there is no database in this folder");
        error.hint("ATTACH without READ_ONLY makes one")
    })
}

/// The salt of the database.
fn salt(store: &dyn Store) -> Result<u64> {
    for _ in 0..ATTEMPTS_MAX {
        let number = current(store)?;
        let found = manifest::load(store, number).and_then(|it| manifest::salt(&it, number));
        if current(store)? == number {
            return found;
        }
    }
    Err(Error::new(ErrorKind::Io, "the manifest of the database changes all the time"))
}
