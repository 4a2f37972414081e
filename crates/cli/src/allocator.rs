//! The allocator of the process.

use libmimalloc_sys::{mi_collect, mi_option_set, mi_option_set_default, mi_option_t};
use volley::{ArbitrationPolicy, Candidate, LargestFirst};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mimalloc's `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: mi_option_t = 15;

/// Freed memory goes back to the operating system after so many milliseconds. By default that is
/// soon, so that the next query waits for the same memory to be cleared again: a tenth of the time
/// of a session of many queries.
const PURGE_MILLISECONDS: std::ffi::c_long = 10_000;

/// The same, once memory was scarce: at once. With any delay, pages that are freed together wait
/// for the next one of their segment (32 MiB) to be freed: a sort's columns took 260 MiB more.
const PURGE_MILLISECONDS_SCARCE: std::ffi::c_long = 0;

/// Sets the allocator up; environment variables such as `MIMALLOC_PURGE_DELAY` go before.
pub fn set_up() {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_MILLISECONDS) };
}

/// Arbitration by size in which the allocator gives back first what it keeps, and keeps nothing
/// from then on: what is free counts against the process, too.
#[derive(Debug)]
pub struct FreeFirst;

/// Gives back what is free. Each thread has its own.
fn collect() {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set(PURGE_DELAY, PURGE_MILLISECONDS_SCARCE) };
    // SAFETY: frees what nobody uses.
    unsafe { mi_collect(true) };
}

impl ArbitrationPolicy for FreeFirst {
    fn victim(&self, candidates: &[Candidate]) -> Option<u64> {
        collect();
        LargestFirst.victim(candidates)
    }

    fn runner(&self, queries: &[Candidate]) -> Option<u64> {
        LargestFirst.runner(queries)
    }

    fn half_full(&self) {
        collect();
    }
}
