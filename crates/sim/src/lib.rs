//! Simulation of what storage runs on. The same seed gives the same run on every machine.
//!
//! ```text
//! SimDisk   a Store in memory: faults by chance, a crash at a given operation, a restart
//! Faults    the chance of each kind of fault
//! Fired     how often each kind happened
//! ```
//!
//! Read [`SimDisk`] first. A crash may keep any part of what was not synced, per sector; a failed
//! sync loses bytes that reads still show. This crate knows neither segments nor logs: programs
//! under test reach it by [`volley_storage::Store`] alone.

mod disk;

pub use disk::{Chance, FAULT_KINDS, Fault, Faults, Fired, SimDisk};
