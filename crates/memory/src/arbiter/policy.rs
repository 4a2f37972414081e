//! The policy: which participant releases memory first, and which query continues if none can.

use std::fmt;

/// How much of what a process has resident may be charged to no pool before it counts: the program
/// itself, stacks, plans, and what an allocator keeps.
pub const UNCHARGED_BYTES_MAX: usize = 128 << 20;

/// A participant that could give memory back, or a query that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Distinguishes candidates; those that came first have the smaller ones.
    pub number: u64,
    /// The bytes that it could release, or that it holds.
    pub bytes: usize,
}

/// Decides when memory is scarce.
pub trait ArbitrationPolicy: fmt::Debug + Send + Sync {
    /// The participant that must release what it can; `candidates` are not empty.
    fn victim(&self, candidates: &[Candidate]) -> Option<u64>;

    /// The query that continues if no participant can release memory; `queries` are not empty, and
    /// each represents one of its participants.
    fn runner(&self, queries: &[Candidate]) -> Option<u64>;

    /// Called once by every participant, on its current thread, when about half of the limit is
    /// used: an allocator can now release free memory.
    fn half_full(&self) {}

    /// How many bytes of memory the process has now, if that shall count: what it has beyond the
    /// pool's bytes and [`UNCHARGED_BYTES_MAX`] makes memory scarce as well. Asked from time to
    /// time by participants; takes some microseconds at most.
    fn resident_bytes(&self) -> Option<usize> {
        None
    }
}

/// Takes most from whom has most to give; lets the query continue that holds most.
#[derive(Clone, Copy, Debug, Default)]
pub struct LargestFirst;

impl ArbitrationPolicy for LargestFirst {
    fn victim(&self, candidates: &[Candidate]) -> Option<u64> {
        largest(candidates)
    }

    fn runner(&self, queries: &[Candidate]) -> Option<u64> {
        largest(queries)
    }
}

/// The largest candidate; of equal ones the one that came first.
fn largest(candidates: &[Candidate]) -> Option<u64> {
    let largest = candidates.iter().max_by_key(|it| (it.bytes, std::cmp::Reverse(it.number)));
    largest.map(|it| it.number)
}
