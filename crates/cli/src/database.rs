//! Databases in folders, as the command line names them.

use crate::error_text::Failure;
use std::path::Path;
use volley::{Error, Session, connector::WriteAccess};

/// Opens the database in a folder, or makes it, and makes it the default one.
pub fn open(session: &Session, folder: &Path, access: WriteAccess) -> Result<(), Failure> {
    let path = text(folder)?;
    session.open_database(path, access).map(drop).map_err(|e| Failure::of_error(&e))
}

/// A path as text, as SQL has it.
pub fn text(folder: &Path) -> Result<&str, Failure> {
    folder.to_str().ok_or_else(|| {
        let error = Error::invalid_value(format!("not UTF-8: {}", folder.display()));
        Failure::usage(&error)
    })
}

/// The failure of a folder before a subcommand.
pub fn misplaced() -> Failure {
    let error = Error::invalid_value("a folder stands before a subcommand");
    Failure::usage(&error.hint("name the database behind the subcommand, as --database DIR"))
}
