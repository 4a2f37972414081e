//! Work that goes on next to commits: one job at a time. No job blocks readers.

mod checkpoint;
mod maintain;
mod propagate;

pub use maintain::Due;
