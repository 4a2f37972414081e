//! `volley salvage`: saves what can be read of a damaged database.
//!
//! Exit status: 0 all was saved, 1 something was lost, 2 wrong usage.

use crate::{
    args::{SalvageArgs, SessionArgs},
    error_text::{Failure, render},
    interrupt, session,
};
use std::sync::Arc;
use volley::{Error, ErrorKind, salvage_database};

/// Runs the command.
pub fn main(args: &SalvageArgs, session_args: &SessionArgs) -> Result<(), Failure> {
    let session = Arc::new(session::open(session_args)?);
    interrupt::cancel_on_interrupt(&session);
    let report =
        salvage_database(&session, &args.database, &args.out).map_err(|e| Failure::of_error(&e))?;
    for lost in &report.lost {
        print!("{}", render(lost, "", 0));
    }
    for table in &report.tables {
        println!("{}: {} rows saved, {} lost", table.name, table.saved_rows, table.lost_rows);
    }
    if report.lost.is_empty() {
        println!("all was saved");
        return Ok(());
    }
    let message = format!("{} things could not be saved", report.lost.len());
    Err(Failure::of_error(&Error::new(ErrorKind::Corruption, message)))
}
