//! The allocator of the process.

mod reserve;

use libmimalloc_sys::{
    mi_collect, mi_option_get, mi_option_set, mi_option_set_default, mi_option_t,
};
use volley::{ArbitrationPolicy, Candidate, LargestFirst};

#[global_allocator]
static ALLOCATOR: reserve::Reserving = reserve::Reserving;

pub use reserve::refill;

/// mimalloc's `mi_option_purge_delay`, which the bindings leave out.
const PURGE_DELAY: mi_option_t = 15;

/// mimalloc's `mi_option_allow_thp`: huge pages of the system, 2 MiB. If a virtual machine returns
/// free memory to its host, the system has to request a huge page again and clear it: an in-memory
/// sort waited half of its time for that.
const ALLOW_HUGE_PAGES: mi_option_t = 37;

/// Milliseconds after which freed memory is returned to the operating system. The default is short,
/// so that the next query waits until the same memory is cleared again: a tenth of the time of a
/// session of many queries.
const PURGE_MILLISECONDS: std::ffi::c_long = 10_000;

/// The same, once memory was scarce. Memory that is freed and allocated again within the delay need
/// not come from the system: returning it at once would make spilling statements take a tenth
/// longer. Memory that is kept counts as resident.
const PURGE_MILLISECONDS_SCARCE: std::ffi::c_long = 10;

/// A process of more bytes can afford some hundred MiB, which are less than what it then spends on
/// memory that comes and goes again and again,
const LARGE_BYTES: usize = 4 << 30;

/// until memory is not only half used, but scarce.
const PURGE_MILLISECONDS_LARGE: std::ffi::c_long = 200;

/// Sets the allocator up; environment variables such as `MIMALLOC_PURGE_DELAY` go before.
pub fn set_up() {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_MILLISECONDS) };
    // SAFETY: as above.
    unsafe { mi_option_set_default(ALLOW_HUGE_PAGES, 0) };
    // SAFETY: reads the number of an option that there is.
    if unsafe { mi_option_get(ALLOW_HUGE_PAGES) } == 0 {
        use_small_pages();
    }
    refill();
}

/// Arbitration by size in which the allocator first releases its free memory, and keeps none from
/// then on: free memory counts against the process, too.
#[derive(Debug)]
pub struct FreeFirst;

/// Releases free memory now, and from now on after `delay`. Each thread has its own allocator
/// state.
fn collect(delay: std::ffi::c_long) {
    // SAFETY: sets a number of the allocator, under a number that it checks.
    unsafe { mi_option_set(PURGE_DELAY, delay) };
    use_small_pages();
    // SAFETY: frees unused memory only.
    unsafe { mi_collect(true) };
}

/// Makes the kernel use small pages from now on, also where the process requested huge ones: a
/// released part of a huge page becomes resident with the first byte that is used.
#[cfg(target_os = "linux")]
fn use_small_pages() {
    // A kernel without huge pages refuses; nothing is lost then.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
fn use_small_pages() {}

/// What the process has resident, without pages of files.
#[cfg(target_os = "linux")]
fn resident_bytes() -> Option<usize> {
    // In pages: size, resident, shared with files, ...
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(str::parse::<usize>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(of_files).saturating_mul(rustix::param::page_size()))
}

#[cfg(not(target_os = "linux"))]
fn resident_bytes() -> Option<usize> {
    None
}

impl ArbitrationPolicy for FreeFirst {
    fn victim(&self, candidates: &[Candidate]) -> Option<u64> {
        collect(PURGE_MILLISECONDS_SCARCE);
        LargestFirst.victim(candidates)
    }

    fn runner(&self, queries: &[Candidate]) -> Option<u64> {
        LargestFirst.runner(queries)
    }

    fn half_full(&self) {
        let is_large = resident_bytes().is_some_and(|it| it > LARGE_BYTES);
        collect(if is_large { PURGE_MILLISECONDS_LARGE } else { PURGE_MILLISECONDS_SCARCE });
    }

    fn resident_bytes(&self) -> Option<usize> {
        // As good as the whole machine's.
        if reserve::was_given_up() { Some(usize::MAX / 4) } else { resident_bytes() }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::resident_bytes;

    #[test]
    fn memory_that_is_used_is_resident() {
        let before = resident_bytes().unwrap();
        let used = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes().unwrap();
        assert!(after >= before + (48 << 20), "{before} {after} {}", used.len());
    }
}
