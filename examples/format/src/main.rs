//! A crate that adds a file system, a format of files and a format of pages, each in its own file.
//!
//! ```text
//! cargo run -p volley-example-format
//! ```
//!
//! Start with `tally.rs`, the format; then read `shelf.rs`, the file system, and `counted.rs`, the
//! pages that cross between tasks.

mod counted;
mod shelf;
mod tally;

use counted::CountedFormat;
use shelf::Shelf;
use std::{path::Path, sync::Arc};
use tally::TallyFormat;
use volley::{Error, Result, Session, Value};

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(|it| Error::io("a temporary folder", it))?;
    let session = session(folder.path())?;

    // The name of a file that is read tells file system and format.
    session.sql(
        "COPY (SELECT i FROM range(3000000) r(i)) TO 'shelf://numbers.tally' (FORMAT tally)",
    )?;
    check(&session, "SELECT count(*), max(n) FROM 'shelf://numbers.tally'", "3000000 | 2999999")?;

    // Globs, columns of folders' names, filters, views: all that tables of files have.
    for year in [2024, 2025] {
        let copy =
            format!("COPY (SELECT {year} AS n) TO 'shelf://by/year={year}/a.tally' (FORMAT tally)");
        session.sql(&copy)?;
    }
    check(&session, "SELECT sum(n) FROM 'shelf://by/*/*.tally' WHERE year = 2025", "2025")?;
    check(&session, "SELECT count(*) FROM read_tally('shelf://by')", "2")?;

    // Rows that cross between tasks are in the added format.
    session.sql("SET tasks = 3; SET exchange_pages = 'counted'")?;
    let before = counted::pages();
    check(
        &session,
        "SELECT count(*) FROM (SELECT n % 1000 FROM 'shelf://numbers.tally' GROUP BY 1)",
        "1000",
    )?;
    match counted::pages() > before {
        true => Ok(()),
        false => Err(Error::internal("no page was written")),
    }
}

/// A session that knows everything in this crate, with the files of `folder` behind `shelf://`.
fn session(folder: &Path) -> Result<Session> {
    let builder = Session::builder();
    let shelf = Shelf::new(folder, builder.io_runtime());
    builder
        .add_file_system("shelf", Arc::new(shelf))
        .add_file_format(Arc::new(TallyFormat))
        .add_page_format(Arc::new(CountedFormat))
        .build()
}

/// Runs a query, prints its only row and compares it.
fn check(session: &Session, sql: &str, expected: &str) -> Result<()> {
    println!("{sql}");
    let rows = session.sql(sql)?.collect_values()?;
    let shown = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(" | ");
    let found = rows.iter().map(shown).collect::<Vec<_>>().join("\n");
    println!("    {found}");
    match found == expected {
        true => Ok(()),
        false => Err(Error::internal(format!("{sql}: {found} instead of {expected}"))),
    }
}

fn text(value: &Value) -> String {
    value.as_i128().map_or_else(|| format!("{value:?}"), |it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley::ErrorKind;

    #[test]
    fn the_example_runs() {
        main().expect("every check of the example holds");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let folder = tempfile::tempdir().expect("a folder");
        let session = session(folder.path()).expect("a session");
        std::fs::write(folder.path().join("short.tally"), "TALLY1abc").expect("a file");
        std::fs::write(folder.path().join("other.tally"), "something else").expect("a file");
        let refused = |sql: &str, kind: ErrorKind, message: &str| {
            let error = session.sql(sql).and_then(|it| it.collect()).expect_err(sql);
            assert_eq!((error.kind(), error.message()), (kind, message), "{sql}");
        };
        let corruption = ErrorKind::Corruption;
        refused("FROM 'shelf://short.tally'", corruption, "a tally has 8 bytes per number");
        refused(
            "FROM 'shelf://other.tally'",
            corruption,
            "not a tally: it does not begin with TALLY1",
        );
        refused(
            "COPY (SELECT 'a') TO 'shelf://x.tally' (FORMAT tally)",
            ErrorKind::Unsupported,
            "a tally has one column of integers",
        );
        let taken = Session::builder()
            .add_file_format(Arc::new(TallyFormat))
            .add_file_format(Arc::new(TallyFormat))
            .build();
        let error = taken.err().expect("the name is taken");
        assert!(error.message().starts_with("there is already a file format"), "{error}");
    }

    #[test]
    fn drivers_read_splits_with_all_sizes_of_batches() {
        let folder = tempfile::tempdir().expect("a folder");
        let session = session(folder.path()).expect("a session");
        let copy = "COPY (SELECT i FROM range(2100000) r(i)) TO 'shelf://n.tally' (FORMAT tally)";
        session.sql(copy).expect("it is written");
        for batch_rows in [3, 1024, 8192] {
            let sql = format!("SET batch_rows = {batch_rows}");
            session.sql(&sql).expect("a setting");
            let count = "SELECT count(*) FROM 'shelf://n.tally' WHERE n >= 2097000";
            check(&session, count, "3000").expect("the count is right");
        }
    }
}
