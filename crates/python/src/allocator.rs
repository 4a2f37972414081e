//! The allocator of the engine's memory; Python has its own.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// mimalloc's `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: mi_option_t = 15;

/// mimalloc's `mi_option_allow_thp`: huge pages of the system. See the allocator of the shell.
const ALLOW_HUGE_PAGES: mi_option_t = 37;

/// Milliseconds after which freed memory is returned to the operating system. With the default, 10,
/// the next query waits until the same memory is cleared again: a sixth of the time of a query
/// whose results are tensors. The shell, which is alone in its process, keeps memory for longer.
const PURGE_MILLISECONDS: std::ffi::c_long = 1000;

/// Sets the allocator up; environment variables such as `MIMALLOC_PURGE_DELAY` go before.
pub(crate) fn set_up() {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_MILLISECONDS) };
    // SAFETY: as above.
    unsafe { mi_option_set_default(ALLOW_HUGE_PAGES, 0) };
}
