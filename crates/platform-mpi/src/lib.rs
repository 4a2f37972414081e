//! Runs queries in the processes of an MPI job, started by `mpirun`.
//!
//! ```text
//! rank 0    Session ── schedule::Platform ──> World ── control messages ──> serve: rank 1 ...
//!           tasks ── exchange::RoutedTransport ── frames ── Node ── Messenger ──> other ranks
//! ```
//!
//! Read [`World`] first, then `node.rs`. One thread per process makes all calls of MPI
//! (`MPI_THREAD_FUNNELED`); others leave messages in its outbox. Each rank runs one task of every
//! fragment that several tasks run; rank 0 also plans, lists splits and has the result. Messages
//! between two ranks arrive in order and without loss: nothing is sent twice. The job trusts its
//! processes; plans and frames are checked, so that damaged ones are errors.
//!
//! This crate does not know sessions, SQL or operators. All but `mpi.rs` and `mpi_window.rs` works
//! over any [`Messenger`]: tests connect threads by [`Channels`]. Those two need the feature `mpi`.
//! `MpiWindows` are the windows of [`volley_exchange::WindowWriter`] between ranks.

mod launch;
mod messenger;
mod message;
mod splits;
mod node;
mod query;
mod world;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "mpi")]
mod mpi_window;
pub mod relay;
#[cfg(test)]
mod tests;

pub use launch::{not_started, rank_of_environment};
pub use messenger::{Channels, Messenger};
#[cfg(feature = "mpi")]
pub use mpi::MpiMessenger;
#[cfg(feature = "mpi")]
pub use mpi_window::MpiWindows;
pub use world::{StartFragments, World};
