//! Mistakes that the simulation must find.
//!
//! Each is a place where the code asks whether to be wrong. Without the feature `canary`, which the
//! simulation alone turns on, the answer is a constant.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A version is visible before its group of the log is appended.
    PublishBeforeAppend,
    /// A transaction that began with a commit does not see conflicts with the next one.
    StampOffByOne,
    /// Names of rows are not translated when their segment was written again.
    NoTranslation,
    /// Writing a segment again is not logged.
    ReplaceNotLogged,
    /// The manifest has no next ids of inserts.
    IdsNotSaved,
    /// Changes that follow a checkpoint keep the block of those before.
    StaleRun,
    /// Files are removed before the manifest that does not need them is the newest.
    RemovedTooEarly,
    /// Groups of the log are not compared with their checksum.
    NoChecksum,
    /// The log goes on after a sync that failed.
    SyncErrorIgnored,
    /// What a recovery read from the log is not written again before it is visible.
    RecoveredTailNotSynced,
}

#[cfg(feature = "canary")]
mod active {
    use super::Mistake;
    use std::cell::Cell;

    thread_local! {
        static ACTIVE: Cell<Option<Mistake>> = const { Cell::new(None) };
    }

    /// From now on, this thread makes a mistake, or none.
    pub fn make(mistake: Option<Mistake>) {
        ACTIVE.set(mistake);
    }

    pub(crate) fn makes(mistake: Mistake) -> bool {
        ACTIVE.get() == Some(mistake)
    }
}

#[cfg(feature = "canary")]
pub use active::make;
#[cfg(feature = "canary")]
pub(crate) use active::makes;

/// Whether to be wrong: never.
#[cfg(not(feature = "canary"))]
pub(crate) const fn makes(_mistake: Mistake) -> bool {
    false
}
