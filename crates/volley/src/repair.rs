//! Checking databases in folders, and saving what can be read of damaged ones.

use crate::Session;
use std::{path::Path, sync::Arc};
use volley_connector_native::{CheckReport, NativeOptions, SalvageReport};
use volley_error::Result;
use volley_memory::with_cancellation;

/// Reads every block of the database in a folder and verifies checksums and bounds. Another process
/// may write the database.
///
/// # Errors
///
/// I/O: there is no database. Cancelled. What is wrong is in the report.
pub fn check_database(session: &Session, folder: &Path) -> Result<CheckReport> {
    let cancellation = session.begin().cancellation.clone();
    with_cancellation(&cancellation, || {
        volley_connector_native::check_folder(folder, &options(session))
    })
}

/// Saves what can be read of the database in the folder `from` as a new one in `to`.
///
/// # Errors
///
/// I/O: there is no database in `from`, or one in `to`. Corruption: nothing can be read. Out of
/// memory, cancelled. The new database then has a part of the tables.
pub fn salvage_database(session: &Session, from: &Path, to: &Path) -> Result<SalvageReport> {
    let cancellation = session.begin().cancellation.clone();
    with_cancellation(&cancellation, || {
        volley_connector_native::salvage(from, to, &options(session))
    })
}

fn options(session: &Session) -> NativeOptions {
    NativeOptions::new(&session.pool, Arc::new(session.registry.types().clone()))
}
