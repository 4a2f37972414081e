//! Simulation of what storage runs on. The same seed gives the same run on every machine.
//!
//! ```text
//! SimDisk   a Store in memory: faults by chance, a crash at a given operation, a restart
//! Faults    the chance of each kind of fault
//! Fired     how often each kind happened
//! run       a seed: clients, jobs and crashes of a database on such a disk, against a model
//! ```
//!
//! `cargo run --release -p volley-sim --example simulate -- 0 100000` runs seeds 0 to 99,999. Read
//! [`SimDisk`] and [`run`] first. A crash may keep any part of what was not synced, per sector; a
//! failed sync loses bytes that reads still show. The disk knows neither segments nor logs:
//! programs under test reach it by [`volley_storage::Store`] alone.

mod disk;
mod model;
mod client;
mod mistaken_store;
mod world;
#[cfg(test)]
mod tests;

pub use disk::{Chance, FAULT_KINDS, Fault, Faults, Fired, SimDisk};
pub use mistaken_store::{MistakenStore, StoreMistake};
pub use world::{Counts, Weather, run};
