//! The 22 TPC-H queries while the system refuses an allocation, which the reserve then serves: the
//! query fails or returns the right answer, and nothing is leaked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};
use volley::{ErrorKind, Result, Session, Value, note_failed_allocation};

/// Allocations that are tried per query.
const PLACES: u64 = 3;

/// Smaller ones are not counted: there are too many to try.
const COUNTED_BYTES: usize = 4 << 10;

/// Counts allocations, and fails one as an allocator does that has a reserve.
struct Failing;

#[global_allocator]
static ALLOCATOR: Failing = Failing;

static COUNT: AtomicU64 = AtomicU64::new(0);

static FAILED: AtomicU64 = AtomicU64::new(u64::MAX);

// SAFETY: all memory is the system's.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= COUNTED_BYTES {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            if number == FAILED.load(Ordering::Relaxed) {
                note_failed_allocation();
            }
        }
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's, which came from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// A session on TPC-H, and what its tables hold.
fn session(data: &Path, spills: bool, spill_directory: &Path) -> (Session, usize) {
    let session = Session::new().unwrap();
    session.set("threads", "2").unwrap();
    session.set("spill_directory", spill_directory.to_str().unwrap()).unwrap();
    session.set("debug_spill_always", if spills { "true" } else { "false" }).unwrap();
    for (table, _) in volley_tpch::TABLES {
        let path = data.join(format!("{table}.parquet"));
        session.register_files(table, path.to_str().unwrap()).unwrap();
    }
    let bytes = session.pool().stats().bytes;
    (session, bytes)
}

/// The rows as text, with doubles rounded: sums depend on the order of additions.
fn answer((session, bytes): &(Session, usize), sql: &str) -> Result<String> {
    let rows = session.sql(sql).and_then(|it| it.collect_values());
    session.wait_released();
    assert_eq!(session.pool().stats().bytes, *bytes, "bytes stay charged: {sql}");
    assert_eq!(session.spill_space().stats().bytes, 0, "bytes stay on disk: {sql}");
    let rounded = |it: &Value| match it {
        Value::Double(it) => format!("{it:.6e}"),
        other => format!("{other:?}"),
    };
    let lines = rows?;
    let lines = lines.iter().map(|row| row.iter().map(rounded).collect::<Vec<_>>().join(" "));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn an_allocation_that_fails_is_an_error_of_its_query() {
    let (data, spill_directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    volley_tpch::generate(0.01, data.path(), &|_| Ok(())).unwrap();
    let (mut tried, mut failed) = (0, 0);
    for spills in [false, true] {
        let session = session(data.path(), spills, spill_directory.path());
        for sql in volley_tpch::QUERIES {
            let before = COUNT.load(Ordering::Relaxed);
            let expected = answer(&session, sql).unwrap();
            let places = COUNT.load(Ordering::Relaxed) - before;
            for place in (0..places).step_by((places / PLACES).max(1) as usize) {
                FAILED.store(COUNT.load(Ordering::Relaxed) + place, Ordering::Relaxed);
                tried += 1;
                let found = answer(&session, sql);
                // There may have been fewer this time.
                FAILED.store(u64::MAX, Ordering::Relaxed);
                match found {
                    Ok(found) => assert_eq!(found, expected, "{sql}"),
                    Err(error) => {
                        failed += 1;
                        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                        assert!(error.to_string().contains("no more memory"), "{error}");
                    }
                }
            }
        }
    }
    println!("{failed} of {tried} failed");
    assert!(failed > 44, "{failed} of {tried} failed");
    for folder in fs::read_dir(spill_directory.path()).unwrap() {
        let files = fs::read_dir(folder.unwrap().path()).unwrap();
        assert!(files.count() <= 1, "files beside the lock");
    }
}
