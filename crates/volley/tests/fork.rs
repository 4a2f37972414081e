//! A forked process: sessions of its parent answer with an error, and its own ones work.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::catch_unwind;
use volley::{ErrorKind, Session, Value};
use volley_io::{IoRuntime, wait};

// The C library's, which std links.
unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn alarm(seconds: u32) -> u32;
    fn _exit(status: i32) -> !;
}

/// Runs in the child.
fn in_child(session: Session, runtime: IoRuntime) {
    let error = session.sql("SELECT 1").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().starts_with("threads of the session of process "), "{error}");
    assert_eq!(error.hint_text(), Some("make a new session in the forked process"));
    let error = wait(runtime.run(|| Ok(()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // Neither waits for threads that do not exist here.
    drop(session);
    drop(runtime);
    let session = Session::new().unwrap();
    let sum = session.sql("SELECT sum(i) FROM range(1000) r(i)").unwrap().collect_values().unwrap();
    assert_eq!(sum[0][0].as_i128(), Some(499_500));
    assert_eq!(wait(IoRuntime::new().run(|| Ok(7))).unwrap(), 7);
}

#[test]
fn a_forked_process_gets_an_error_and_can_make_a_new_session() {
    let session = Session::new().unwrap();
    let rows = || session.sql("SELECT count(*) FROM range(5)").unwrap().collect_values().unwrap();
    assert_eq!(rows(), [[Value::BigInt(5)]]);
    let runtime = IoRuntime::new();
    wait(runtime.run(|| Ok(()))).unwrap();
    // SAFETY: the test's other threads (its harness, the session's) hold no lock that the child
    // takes: the harness waits for this test, and the session's threads are idle.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: `alarm` has no preconditions. A child that hangs is ended, and the test fails.
        unsafe { alarm(60) };
        let status = catch_unwind(std::panic::AssertUnwindSafe(|| in_child(session, runtime)));
        // SAFETY: `_exit` ends the process at once; nothing of the parent's is flushed twice.
        unsafe { _exit(i32::from(status.is_err())) }
    }
    assert!(child > 0, "no process");
    let mut status = -1;
    // SAFETY: `status` is a valid place for the call's result.
    let waited = unsafe { waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "the child failed");
    assert_eq!(rows(), [[Value::BigInt(5)]]);
    assert_eq!(wait(runtime.run(|| Ok(7))).unwrap(), 7);
}
