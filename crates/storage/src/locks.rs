//! Locks between threads that commit, read and run jobs: those of the standard library, or those of
//! `shuttle`, which runs the threads of a test in one schedule after the other.

#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
