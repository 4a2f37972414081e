//! The allocator of the process.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mimalloc's `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: mi_option_t = 15;

/// Freed memory goes back to the operating system after so many milliseconds. By default that is
/// one second, so that the next query waits for the same memory to be cleared again: 3 % of the
/// time of queries that hold a gigabyte.
const PURGE_MILLISECONDS: std::ffi::c_long = 10_000;

/// Sets the allocator up; environment variables such as `MIMALLOC_PURGE_DELAY` go before.
pub fn set_up() {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_MILLISECONDS) };
}
