//! Who gives back first, and who may go on when nobody can.

use std::fmt;

/// How much of what a process has resident may be charged to no pool before it counts: the program
/// itself, stacks, plans, and what an allocator keeps.
pub const UNCHARGED_BYTES_MAX: usize = 128 << 20;

/// A participant that could give memory back, or a query that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Tells candidates apart; those that came first have the smaller ones.
    pub number: u64,
    /// What it could give back, or what it holds.
    pub bytes: usize,
}

/// Decides when memory is scarce.
pub trait ArbitrationPolicy: fmt::Debug + Send + Sync {
    /// Which of the participants shall give back what it can; `candidates` are not empty.
    fn victim(&self, candidates: &[Candidate]) -> Option<u64>;

    /// Which query goes on when nobody has anything to give; `queries` are not empty, and each
    /// stands for one of its participants.
    fn runner(&self, queries: &[Candidate]) -> Option<u64>;

    /// Told once by every participant, on the thread that it has then, when about half of the limit
    /// is held: the time for an allocator to give back what it keeps.
    fn half_full(&self) {}

    /// How many bytes of memory the process has now, if that shall count: what it has beyond the
    /// pool's bytes and [`UNCHARGED_BYTES_MAX`] makes memory scarce as well. Asked now and then
    /// by participants; takes some microseconds at most.
    fn resident_bytes(&self) -> Option<usize> {
        None
    }
}

/// Takes most from whom has most to give; lets the query go on that holds most.
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
