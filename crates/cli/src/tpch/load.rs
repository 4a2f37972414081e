//! Makes the tables in a database: their rows are generated while they are stored.

use crate::{
    args::SessionArgs,
    database,
    error_text::Failure,
    interrupt,
    progress_line::{ProgressLine, duration_text, share_text},
    session,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use volley::{Error, Session, connector::WriteAccess};
use volley_connector_tpch::TpchTable;

/// About as many rows are a part that one driver generates at a time.
const PART_ROWS: u64 = 100_000;

/// A share that is less says nothing about the remaining time.
const ESTIMATED_SHARE: f64 = 0.01;

/// Makes the eight tables, all or none of them.
pub fn load(scale: f64, folder: &Path, session_args: &SessionArgs) -> Result<(), Failure> {
    let session = Arc::new(session::open(session_args)?);
    interrupt::cancel_on_interrupt(&session);
    database::open(&session, folder, WriteAccess::ReadWrite)?;
    let progress = LoadProgress::new(scale);
    let line = (!session_args.no_progress).then(|| progress.line(&session)).flatten();
    let made = make_tables(&session, scale, &progress);
    drop(line);
    made.map_err(|e| Failure::of_error(&e))?;
    session.close().map_err(|e| Failure::of_error(&e))
}

fn make_tables(session: &Session, scale: f64, progress: &LoadProgress) -> Result<(), Error> {
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
        progress.tables_done.fetch_add(1, Ordering::Relaxed);
    }
    session.sql("COMMIT").map(drop)
}

/// The name of a table whose rows are generated.
fn generated_name(table: &str) -> String {
    format!("generated_{table}")
}

/// How many tables are made.
#[derive(Clone)]
struct LoadProgress {
    start: Instant,
    tables_done: Arc<AtomicUsize>,
    /// About how many rows each table gets, in the order in which they are made.
    rows: Arc<[f64]>,
}

impl LoadProgress {
    fn new(scale: f64) -> LoadProgress {
        let rows = |(_, rows): &(&str, u64)| *rows as f64 * scale;
        LoadProgress {
            start: Instant::now(),
            tables_done: Arc::default(),
            rows: volley_tpch::TABLES.iter().map(rows).collect(),
        }
    }

    /// A line on the terminal that shows it until it is dropped.
    fn line(&self, session: &Arc<Session>) -> Option<ProgressLine> {
        let (progress, session) = (self.clone(), Arc::clone(session));
        ProgressLine::start(Box::new(move || {
            let of_table = session.progress().map_or(0.0, |it| it.done);
            Some(progress.text(of_table, progress.start.elapsed()))
        }))
    }

    /// The line, when this share of the current table is done.
    fn text(&self, of_table: f64, elapsed: Duration) -> String {
        let tables_done = self.tables_done.load(Ordering::Relaxed);
        let rows_done: f64 = self.rows.iter().take(tables_done).sum();
        let of_table = self.rows.get(tables_done).map_or(0.0, |it| it * of_table);
        let share = (rows_done + of_table) / self.rows.iter().sum::<f64>().max(1.0);
        let count = volley_tpch::TABLES.len();
        let mut text = share_text(share);
        match volley_tpch::TABLES.get(tables_done) {
            Some((table, _)) => text += &format!("  {table} ({} of {count})", tables_done + 1),
            None => text += "  commit",
        }
        if (ESTIMATED_SHARE..1.0).contains(&share) {
            let remaining = elapsed.mul_f64((1.0 - share) / share);
            text += &format!("  {} left", duration_text(remaining));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_count_by_their_rows() {
        let progress = LoadProgress::new(0.01);
        let check = |tables_done: usize, of_table: f64, expected: &str| {
            progress.tables_done.store(tables_done, Ordering::Relaxed);
            let text = progress.text(of_table, Duration::from_secs(10));
            assert!(text.ends_with(expected), "{text}");
        };
        check(0, 0.0, "░   0 %  lineitem (1 of 8)");
        // 6.0 of 8.7 million rows at scale 1.
        check(0, 0.5, "  34 %  lineitem (1 of 8)  19 s left");
        check(1, 0.0, "  69 %  orders (2 of 8)  5 s left");
        check(8, 0.0, " 100 %  commit");
    }
}
