//! `volley check`: verifies every checksum of a database.
//!
//! Exit status: 0 nothing is wrong, 1 something is, 2 wrong usage.

use crate::{
    args::{CheckArgs, SessionArgs},
    error_text::{Failure, render},
    interrupt, session,
};
use std::sync::Arc;
use volley::{Error, ErrorKind, check_database, format_bytes};

/// Runs the command.
pub fn main(args: &CheckArgs, session_args: &SessionArgs) -> Result<(), Failure> {
    let session = Arc::new(session::open(session_args)?);
    interrupt::cancel_on_interrupt(&session);
    let report = check_database(&session, &args.database).map_err(|e| Failure::of_error(&e))?;
    for finding in &report.findings {
        print!("{}", render(finding, "", 0));
    }
    let (blocks, bytes) = (report.blocks, usize::try_from(report.bytes).unwrap_or(usize::MAX));
    let read = format!("{blocks} blocks of {} were read", format_bytes(bytes));
    match report.findings.len() {
        0 => {
            println!("{read}: nothing is wrong");
            Ok(())
        }
        count => {
            let things = if count == 1 { "thing is" } else { "things are" };
            let error =
                Error::new(ErrorKind::Corruption, format!("{read}: {count} {things} wrong"));
            let hint = "restore the folder from a copy, or save what can be read: \
                        volley salvage DIR --out DIR2";
            Err(Failure::of_error(&error.hint(hint)))
        }
    }
}
