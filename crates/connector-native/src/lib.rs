//! Native tables: databases on disk.
//!
//! ```text
//! NativeDatabase ── begin ──> transaction: Changes of volley_storage ── commit
//!     └─ snapshot ──> NativeTable ── scan ──> segments merged with their changes
//! ```
//!
//! Read [`NativeDatabase`] first. `volley_storage` keeps rows, log and files; this crate knows what
//! connectors are: definitions, keys, row ids, filters, splits. A row id is a packed
//! `volley_pdt::RowId`, which is stable within a transaction. This crate does not know files.

mod database;
mod transaction;
mod define;
mod change;
mod writer;
mod foreign_key;
mod key;
mod table;
mod statistics;
mod lookup;
mod split;
mod scan;
mod source;
mod check;
mod salvage;
#[cfg(test)]
mod tests;

pub use database::{NativeDatabase, NativeOptions};
pub use salvage::{SalvageReport, SalvagedTable, check_folder, salvage};
pub use table::CONNECTOR;
pub use volley_storage::CheckReport;
