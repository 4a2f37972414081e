//! Printing rows.

use crate::interrupt;
use clap::ValueEnum;
use std::io::{self, Write};
use volley::{Batch, Error, ResultStream, Schema};

mod csv;
mod json;
mod markdown;
mod plain;
mod table;

pub use table::write_table;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table with lines, fit to the terminal
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    Ndjson,
    /// A Markdown table
    Markdown,
}

/// How rows are printed, in full.
#[derive(Clone, Copy, Debug)]
pub struct Printing {
    /// The form.
    pub format: Format,
    /// The maximum number of rows of a table.
    pub rows_max: usize,
    /// The width of the terminal in characters; `None` if the output is not a terminal.
    pub width: Option<u16>,
}

/// Why printing stopped.
#[derive(Debug)]
pub enum PrintError {
    /// The query failed, or Ctrl-C was pressed.
    Query(Error),
    /// The output did not take the text.
    Output(io::Error),
}

impl From<Error> for PrintError {
    fn from(error: Error) -> PrintError {
        PrintError::Query(error)
    }
}

impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> PrintError {
        PrintError::Output(error)
    }
}

/// One form of output: told the columns, then batches, then the end.
trait Printer {
    fn begin(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError>;

    fn end(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// How many more rows it prints; the others are only counted.
    fn rows_wanted(&self) -> usize {
        usize::MAX
    }

    /// Counts rows that are not printed.
    fn skip(&mut self, _rows: usize) {}
}

/// Prints all rows of `result`. Ctrl-C ends it with the error of cancelled queries, also when only
/// printing is left.
pub fn print(
    result: ResultStream,
    printing: Printing,
    out: &mut dyn Write,
) -> Result<(), PrintError> {
    match print_rows(result, printing, &mut Interruptible(out)) {
        Err(PrintError::Output(_)) if interrupt::is_interrupted() => {
            Err(PrintError::Query(Error::cancelled()))
        }
        other => other,
    }
}

fn print_rows(
    mut result: ResultStream,
    printing: Printing,
    out: &mut dyn Write,
) -> Result<(), PrintError> {
    let schema = result.schema().clone();
    if schema.is_empty() {
        while result.next()?.is_some() {}
        return Ok(());
    }
    let mut printer: Box<dyn Printer> = match printing.format {
        Format::Table if result.is_plain_text() => Box::new(plain::PlainPrinter),
        Format::Table => Box::new(table::TablePrinter::new(printing)),
        Format::Csv => Box::new(csv::CsvPrinter),
        Format::Json => Box::new(json::JsonPrinter::new(true)),
        Format::Ndjson => Box::new(json::JsonPrinter::new(false)),
        Format::Markdown => Box::new(markdown::MarkdownPrinter),
    };
    // An error before the first row prints nothing.
    let mut next = result.next()?;
    printer.begin(&schema, out)?;
    while let Some(batch) = next {
        let rows = batch.rows();
        let wanted = printer.rows_wanted().min(rows);
        if wanted > 0 {
            printer.batch(&schema, &batch.loaded()?.slice(0, wanted), out)?;
        }
        printer.skip(rows - wanted);
        next = result.next()?;
    }
    Ok(printer.end(&schema, out)?)
}

/// An output that takes no more once Ctrl-C was pressed.
struct Interruptible<'a>(&'a mut dyn Write);

/// The maximum number of bytes written between two checks for an interrupt.
const WRITE_BYTES: usize = 1 << 20;

impl Write for Interruptible<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if interrupt::is_interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        self.0.write(&bytes[..bytes.len().min(WRITE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text on its way to an output: short parts are gathered, long ones are not copied.
struct Lines<'a> {
    text: String,
    out: &'a mut dyn Write,
}

/// The buffer is written when it has this number of bytes.
const LINES_BYTES: usize = 64 << 10;

impl Lines<'_> {
    fn new(out: &mut dyn Write) -> Lines<'_> {
        Lines { text: String::new(), out }
    }

    fn push(&mut self, part: &str) -> io::Result<()> {
        if part.len() < LINES_BYTES {
            self.text.push_str(part);
            return self.write_if_long();
        }
        self.write()?;
        self.out.write_all(part.as_bytes())
    }

    fn push_repeated(&mut self, part: char, times: usize) -> io::Result<()> {
        /// At a time.
        const TIMES_MAX: usize = 4096;
        let mut rest = times;
        while rest > 0 {
            let times = rest.min(TIMES_MAX);
            self.text.extend(std::iter::repeat_n(part, times));
            self.write_if_long()?;
            rest -= times;
        }
        Ok(())
    }

    fn write_if_long(&mut self) -> io::Result<()> {
        if self.text.len() < LINES_BYTES { Ok(()) } else { self.write() }
    }

    /// Writes what is gathered.
    fn write(&mut self) -> io::Result<()> {
        write_text(self.out, &mut self.text)
    }
}

/// Writes a text, and empties it.
fn write_text(out: &mut dyn Write, text: &mut String) -> io::Result<()> {
    let result = out.write_all(text.as_bytes());
    text.clear();
    result
}

/// The terminal's width in characters; `None` when it is not known.
pub fn terminal_width() -> Option<u16> {
    crossterm::terminal::size().ok().map(|it| it.0).filter(|it| *it > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley::Session;

    #[track_caller]
    fn check(format: Format, sql: &str, expected: &str) {
        let session = Session::new().unwrap();
        let printing = Printing { format, rows_max: 2, width: None };
        let mut out = Vec::new();
        print(session.sql(sql).unwrap(), printing, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    const ROWS: &str =
        "SELECT * FROM (VALUES (1, 'a|b'), (2, NULL), (3, 'c, \"d\"')) v(n, s) ORDER BY n";

    #[test]
    fn csv_quotes_what_needs_it_and_leaves_null_empty() {
        check(Format::Csv, ROWS, "n,s\n1,a|b\n2,\n3,\"c, \"\"d\"\"\"\n");
    }

    #[test]
    fn json_keeps_types() {
        check(
            Format::Ndjson,
            ROWS,
            "{\"n\":1,\"s\":\"a|b\"}\n{\"n\":2,\"s\":null}\n{\"n\":3,\"s\":\"c, \\\"d\\\"\"}\n",
        );
        check(Format::Json, "SELECT 1.50 AS d, true AS b", "[{\"d\":1.50,\"b\":true}]\n");
        check(Format::Json, "SELECT 1 AS a WHERE false", "[]\n");
    }

    #[test]
    fn markdown_escapes_bars() {
        check(Format::Markdown, "SELECT 'a|b' AS s", "| s |\n|---|\n| a\\|b |\n");
    }

    /// Notes the longest write.
    struct Output {
        bytes: Vec<u8>,
        longest: usize,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.bytes.extend_from_slice(bytes);
            self.longest = self.longest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The output, after a check that no write was longer than `longest`.
    #[track_caller]
    fn large(format: Format, sql: &str, longest: usize) -> String {
        let session = Session::new().unwrap();
        let printing = Printing { format, rows_max: usize::MAX, width: None };
        let mut out = Output { bytes: Vec::new(), longest: 0 };
        print(session.sql(sql).unwrap(), printing, &mut out).unwrap();
        assert!(out.longest <= longest, "{format:?}: {} bytes at once", out.longest);
        String::from_utf8(out.bytes).unwrap()
    }

    #[test]
    fn large_values_are_printed_in_pieces() {
        let numbers: Vec<String> = (0..50_000).map(|it| it.to_string()).collect();
        let sql = "SELECT range(0, 50000) AS a FROM generate_series(1, 3)";
        let list = numbers.join(", ");
        let piece = 4 * LINES_BYTES;
        assert!(
            large(Format::Csv, sql, piece) == format!("a\n{}", format!("\"[{list}]\"\n").repeat(3))
        );
        let line = format!("{{\"a\":[{}]}}\n", numbers.join(","));
        assert!(large(Format::Ndjson, sql, piece) == line.repeat(3));
        let line = format!("| [{list}] |\n");
        assert!(large(Format::Markdown, sql, piece) == format!("| a |\n|---|\n{}", line.repeat(3)));
        let table = large(Format::Table, sql, WRITE_BYTES);
        assert!(table.contains(&format!("│ [{list}] │\n")) && table.ends_with("3 rows\n"));
    }

    #[test]
    fn large_texts_are_printed_whole() {
        let text = "y\"|".repeat(1_000_000);
        let sql = "SELECT repeat('y\"|', 1000000) AS a";
        let quoted = text.replace('"', "\"\"");
        assert!(large(Format::Csv, sql, WRITE_BYTES) == format!("a\n\"{quoted}\"\n"));
        let escaped = text.replace('"', "\\\"");
        let expected = format!("[{{\"a\":\"{escaped}\"}}]\n");
        assert!(large(Format::Json, sql, WRITE_BYTES) == expected);
        let table = large(Format::Table, sql, WRITE_BYTES);
        assert!(table.contains(&format!("│ {text} │\n")));
        let escaped = text.replace('|', "\\|");
        assert!(large(Format::Markdown, sql, WRITE_BYTES).ends_with(&format!("| {escaped} |\n")));
    }

    #[test]
    fn a_table_says_how_many_rows_were_cut() {
        let session = Session::new().unwrap();
        let printing = Printing { format: Format::Table, rows_max: 2, width: None };
        let mut out = Vec::new();
        print(session.sql(ROWS).unwrap(), printing, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.ends_with("3 rows (2 shown)\n"), "{text}");
    }
}
