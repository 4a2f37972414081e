//! Makes the tables in a database: their rows are generated while they are stored.

use crate::{args::SessionArgs, database, error_text::Failure, interrupt, session};
use std::{path::Path, sync::Arc};
use volley::{Error, Session, connector::WriteAccess};
use volley_connector_tpch::TpchTable;

/// About as many rows are a part that one driver generates at a time.
const PART_ROWS: u64 = 100_000;

/// Makes the eight tables, all or none of them.
pub fn load(scale: f64, folder: &Path, session_args: &SessionArgs) -> Result<(), Failure> {
    let session = Arc::new(session::open(session_args)?);
    interrupt::cancel_on_interrupt(&session);
    database::open(&session, folder, WriteAccess::ReadWrite)?;
    make_tables(&session, scale).map_err(|e| Failure::of_error(&e))?;
    session.close().map_err(|e| Failure::of_error(&e))
}

fn make_tables(session: &Session, scale: f64) -> Result<(), Error> {
    for (table, rows) in volley_tpch::TABLES {
        let parts = ((rows as f64 * scale) as u64 / PART_ROWS).clamp(1, 1 << 20);
        let parts = if rows <= PART_ROWS / 1000 { 1 } else { parts as u32 };
        let generated = TpchTable::new(table, scale, parts)?.with_decimals();
        session.register_table(
            &format!("memory.main.{}", generated_name(table)),
            Arc::new(generated),
        )?;
    }
    session.sql("BEGIN")?;
    for (table, _) in volley_tpch::TABLES {
        let from = generated_name(table);
        session.sql(&format!("CREATE TABLE {table} AS FROM memory.main.{from}"))?;
    }
    session.sql("COMMIT").map(drop)
}

/// The name of a table whose rows are generated.
fn generated_name(table: &str) -> String {
    format!("generated_{table}")
}
