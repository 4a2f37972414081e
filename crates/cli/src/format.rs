//! Printing rows.

use crate::interrupt;
use clap::ValueEnum;
use std::{
    io::{self, Write},
    time::{Duration, Instant},
};
use volley::{Batch, Error, ResultStream, Schema, TypeNames};

mod agent;
mod csv;
mod html;
mod insert;
mod json;
mod line;
mod markdown;
mod plain;
mod table;

pub use table::write_table;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table with lines, fit to the terminal
    Table,
    /// A table with more lines that shows all of every value
    Box,
    /// A line per value
    Line,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    Ndjson,
    /// A Markdown table
    Markdown,
    /// An HTML table
    Html,
    /// INSERT statements
    Insert,
    /// For programs: names and types, then rows, with tabs in between
    Agent,
}

/// How rows are printed, in full.
#[derive(Clone, Debug)]
pub struct Printing {
    /// The form.
    pub format: Format,
    /// The table that INSERT statements name.
    pub insert_table: String,
    /// The maximum number of rows of a table.
    pub rows_max: usize,
    /// The maximum number of bytes for programs.
    pub bytes_max: usize,
    /// The width of the terminal in characters; `None` if the output is not a terminal.
    pub width: Option<u16>,
    /// What NULL looks like in tables.
    pub null: String,
    /// Whether numbers in tables have thousands separators.
    pub has_thousands: bool,
    /// Whether tables show the types of columns.
    pub shows_types: bool,
    /// How names of types are written.
    pub type_names: TypeNames,
    /// The start of the statement, for its time below a table.
    pub start: Option<Instant>,
}

impl Default for Printing {
    /// All rows as a table.
    fn default() -> Printing {
        Printing {
            format: Format::Table,
            insert_table: "table_name".to_owned(),
            rows_max: usize::MAX,
            bytes_max: usize::MAX,
            width: None,
            null: "NULL".to_owned(),
            has_thousands: false,
            shows_types: true,
            type_names: TypeNames::default(),
            start: None,
        }
    }
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

    /// Whether it needs no more rows, not even to count them.
    fn is_full(&self) -> bool {
        false
    }
}

/// Prints all rows of `result`. Ctrl-C ends it with the error of cancelled queries, also when only
/// printing is left. Calls `before_rows` once the first rows are there, before they are printed.
pub fn print(
    result: &mut ResultStream,
    printing: &Printing,
    out: &mut dyn Write,
    before_rows: impl FnOnce(),
) -> Result<(), PrintError> {
    match print_rows(result, printing, &mut Interruptible(out), before_rows) {
        Err(PrintError::Output(_)) if interrupt::is_interrupted() => {
            Err(PrintError::Query(Error::cancelled()))
        }
        other => other,
    }
}

fn print_rows(
    result: &mut ResultStream,
    printing: &Printing,
    out: &mut dyn Write,
    before_rows: impl FnOnce(),
) -> Result<(), PrintError> {
    let schema = result.schema().clone();
    if schema.is_empty() {
        while result.next()?.is_some() {}
        return Ok(());
    }
    let mut printer: Box<dyn Printer> = match printing.format {
        Format::Table if result.is_plain_text() => Box::new(plain::PlainPrinter),
        Format::Box if result.is_plain_text() => Box::new(plain::PlainPrinter),
        Format::Table | Format::Box => Box::new(table::TablePrinter::new(printing)),
        Format::Line => Box::new(line::LinePrinter::new(printing)),
        Format::Html => Box::new(html::HtmlPrinter),
        Format::Insert => Box::new(insert::InsertPrinter::new(printing)),
        Format::Agent => Box::new(agent::AgentPrinter::new(printing)),
        Format::Csv => Box::new(csv::CsvPrinter),
        Format::Json => Box::new(json::JsonPrinter::new(true)),
        Format::Ndjson => Box::new(json::JsonPrinter::new(false)),
        Format::Markdown => Box::new(markdown::MarkdownPrinter),
    };
    // An error before the first row prints nothing.
    let mut next = result.next()?;
    before_rows();
    printer.begin(&schema, out)?;
    while let Some(batch) = next {
        let rows = batch.rows();
        let wanted = printer.rows_wanted().min(rows);
        if wanted > 0 {
            printer.batch(&schema, &batch.loaded()?.slice(0, wanted), out)?;
        }
        printer.skip(rows - wanted);
        if printer.is_full() {
            break;
        }
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

/// Digits of the integer part of a number in groups of three.
fn with_thousands(text: &str) -> String {
    let start = text.find(|it: char| it.is_ascii_digit()).unwrap_or(text.len());
    let (sign, number) = text.split_at(start);
    let end = number.find(|it: char| !it.is_ascii_digit()).unwrap_or(number.len());
    let (digits, fraction) = number.split_at(end);
    let mut grouped = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + fraction
}

/// Such as `0.012 s`.
pub fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
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
        let printing = Printing { format, rows_max: 2, ..Printing::default() };
        assert_eq!(printed(&printing, sql), expected);
    }

    fn printed(printing: &Printing, sql: &str) -> String {
        let session = Session::new().unwrap();
        let mut out = Vec::new();
        print(&mut session.sql(sql).unwrap(), printing, &mut out, || {}).unwrap();
        String::from_utf8(out).unwrap()
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

    #[test]
    fn lines_name_every_value() {
        check(
            Format::Line,
            "SELECT 1 AS a, NULL AS long_name",
            "        a = 1\nlong_name = NULL\n",
        );
        let text = printed(&Printing { format: Format::Line, ..Printing::default() }, ROWS);
        assert_eq!(text, "n = 1\ns = a|b\n\nn = 2\ns = NULL\n\nn = 3\ns = c, \"d\"\n");
    }

    #[test]
    fn html_escapes_and_aligns() {
        let expected = "<table>\n<thead><tr><th>a&amp;b</th><th>n</th></tr></thead>\n<tbody>\n\
                        <tr><td>&lt;x&gt;</td><td class=\"number\">1</td></tr>\n</tbody>\n</table>\n";
        check(Format::Html, "SELECT '<x>' AS \"a&b\", 1 AS n", expected);
    }

    #[test]
    fn inserts_are_statements_that_make_the_rows_again() {
        let sql = "SELECT 1 AS a, 'it''s' AS b, DATE '2020-01-02' AS c, NULL AS d, true AS e";
        let expected = "INSERT INTO table_name VALUES (1, 'it''s', CAST('2020-01-02' AS DATE), \
                        NULL, true);\n";
        check(Format::Insert, sql, expected);
    }

    #[test]
    fn programs_get_types_and_limits() {
        let printing = Printing { format: Format::Agent, rows_max: 2, ..Printing::default() };
        let text = printed(&printing, ROWS);
        let expected = "n:INTEGER\ts:VARCHAR\n1\ta|b\n2\t\\N\n\
                        # 2 rows shown, there are more: add LIMIT or raise --max-rows\n";
        assert_eq!(text, expected);
        let printing = Printing { format: Format::Agent, bytes_max: 10, ..Printing::default() };
        let text = printed(&printing, "SELECT 'a\tb\\' AS s FROM range(100)");
        let expected = "s:VARCHAR\na\\tb\\\\\na\\tb\\\\\n\
                        # 2 rows shown, there are more: add LIMIT or raise --max-bytes\n";
        assert_eq!(text, expected);
        let printing = Printing { format: Format::Agent, ..Printing::default() };
        assert_eq!(printed(&printing, "SELECT 1 AS a"), "a:INTEGER\n1\n# 1 row\n");
    }

    #[test]
    fn numbers_have_thousands_separators_where_wanted() {
        for (text, expected) in [
            ("1234567", "1,234,567"),
            ("-1234.5678", "-1,234.5678"),
            ("999", "999"),
            ("1e300", "1e300"),
            ("NaN", "NaN"),
            ("", ""),
        ] {
            assert_eq!(with_thousands(text), expected);
        }
        let printing = Printing { has_thousands: true, ..Printing::default() };
        let text = printed(&printing, "SELECT 1234567 AS n, '1234567' AS s");
        assert!(text.contains("│ 1,234,567 ┆ 1234567 │"), "{text}");
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
        let printing = Printing { format, ..Printing::default() };
        let mut out = Output { bytes: Vec::new(), longest: 0 };
        print(&mut session.sql(sql).unwrap(), &printing, &mut out, || {}).unwrap();
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
        let printing = Printing { rows_max: 2, ..Printing::default() };
        let text = printed(&printing, ROWS);
        assert!(text.ends_with("3 rows (2 shown)\n"), "{text}");
    }
}
