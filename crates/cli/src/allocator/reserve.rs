//! A memory reserve for the case that the system refuses memory: enough for queries to end with an
//! error.
//!
//! Linux grants nearly every allocation and reclaims memory by ending processes. It refuses if a
//! process has its own limits (`ulimit -v`, `-d`) or if memory is accounted for strictly
//! (`vm.overcommit_memory = 2`). The allocator keeps unused address space for that case.

use mimalloc::MiMalloc;
use std::{
    alloc::{GlobalAlloc, Layout},
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};
use volley::note_failed_allocation;

/// Some of mimalloc's segments (32 MiB each, that may need twice as much to be aligned).
const RESERVE_BYTES: usize = 128 << 20;

/// Null before it is made and once it is given up.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

static WAS_GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// mimalloc, which gives up the reserve rather than end the process.
pub struct Reserving;

/// Makes the reserve if there is none and the system grants it.
pub fn refill() {
    WAS_GIVEN_UP.store(false, Ordering::Relaxed);
    if !RESERVE.load(Ordering::Relaxed).is_null() {
        return;
    }
    let Some(made) = system::map(RESERVE_BYTES) else { return };
    let (null, order) = (ptr::null_mut(), Ordering::AcqRel);
    if RESERVE.compare_exchange(null, made, order, Ordering::Relaxed).is_err() {
        system::unmap(made, RESERVE_BYTES);
    }
}

/// Whether memory was refused since the last refill.
pub fn was_given_up() -> bool {
    WAS_GIVEN_UP.load(Ordering::Relaxed)
}

/// Tries again without the reserve.
#[cold]
fn retry(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    WAS_GIVEN_UP.store(true, Ordering::Relaxed);
    let reserve = RESERVE.swap(ptr::null_mut(), Ordering::AcqRel);
    if !reserve.is_null() {
        system::unmap(reserve, RESERVE_BYTES);
    }
    // Another thread may have given it up just now.
    let found = allocate();
    if !found.is_null() {
        note_failed_allocation();
    }
    found
}

// SAFETY: all memory is mimalloc's, as it gives it and takes it back.
unsafe impl GlobalAlloc for Reserving {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        let allocate = || unsafe { MiMalloc.alloc(layout) };
        let found = allocate();
        if found.is_null() { retry(allocate) } else { found }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's layout.
        let allocate = || unsafe { MiMalloc.alloc_zeroed(layout) };
        let found = allocate();
        if found.is_null() { retry(allocate) } else { found }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's, which came from mimalloc.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's, which came from mimalloc; it stays valid where this fails.
        let allocate = || unsafe { MiMalloc.realloc(pointer, layout, bytes) };
        let found = allocate();
        if found.is_null() { retry(allocate) } else { found }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    use std::ptr;

    /// Memory that is reserved, and not resident until it is used.
    pub(super) fn map(bytes: usize) -> Option<*mut u8> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at no given address.
        let mapped =
            unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
        mapped.ok().map(|it| it.cast())
    }

    pub(super) fn unmap(mapped: *mut u8, bytes: usize) {
        // SAFETY: a whole, unused mapping of `map`.
        let _ = unsafe { munmap(mapped.cast(), bytes) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Other systems refuse no memory before they end processes.
    pub(super) fn map(_bytes: usize) -> Option<*mut u8> {
        None
    }

    pub(super) fn unmap(_mapped: *mut u8, _bytes: usize) {}
}
