//! Memory of the process that no pool counts.

use super::{Scarcity, policy::UNCHARGED_BYTES_MAX};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The part of the threshold by which what is taken changes before the process is inspected again.
const LOOK_SHARE: usize = 64;

/// What the process has resident beyond what is charged and usual.
#[derive(Debug, Default)]
pub(super) struct Uncharged {
    bytes: AtomicUsize,
    /// What was taken when the process was looked at.
    taken: AtomicUsize,
}

impl Uncharged {
    /// As found last.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Inspects the process again if much has changed since: `taken` are the pool's bytes that are
    /// in use, and `resident_bytes` asks the process.
    pub(super) fn look(
        &self,
        taken: usize,
        scarcity: Scarcity,
        resident_bytes: impl FnOnce() -> Option<usize>,
    ) {
        let moved = taken.abs_diff(self.taken.load(Ordering::Relaxed));
        if moved <= scarcity.threshold / LOOK_SHARE && !scarcity.is_scarce() {
            return;
        }
        self.taken.store(taken, Ordering::Relaxed);
        let usual = taken.saturating_add(UNCHARGED_BYTES_MAX);
        let beyond = resident_bytes().map_or(0, |it| it.saturating_sub(usual));
        self.bytes.store(beyond, Ordering::Relaxed);
    }
}
