//! Printing rows.

use clap::ValueEnum;
use std::io::{self, Write};
use volley::{Batch, Error, ResultStream, Schema, Type, Value};

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
    /// The most rows of a table.
    pub rows_max: usize,
    /// The width of the terminal in characters; `None` when the output is no terminal.
    pub width: Option<u16>,
}

/// Why printing stopped.
#[derive(Debug)]
pub enum PrintError {
    /// The query failed.
    Query(Error),
    /// The output did not take the text.
    Output(io::Error),
}

/// One form of output: told the columns, then batches, then the end.
trait Printer {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()>;
    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()>;
    fn end(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()>;

    /// How many more rows it prints; the others are only counted.
    fn rows_wanted(&self) -> usize {
        usize::MAX
    }

    /// Counts rows that are not printed.
    fn skip(&mut self, _rows: usize) {}
}

/// The values of a batch, by column.
struct Cells {
    columns: Vec<Vec<Value>>,
    rows: usize,
}

/// Prints all rows of `result`.
pub fn print(
    mut result: ResultStream,
    printing: Printing,
    out: &mut dyn Write,
) -> Result<(), PrintError> {
    let schema = result.schema().clone();
    if schema.is_empty() {
        while result.next().map_err(PrintError::Query)?.is_some() {}
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
    let mut next = result.next().map_err(PrintError::Query)?;
    printer.begin(&schema, out).map_err(PrintError::Output)?;
    while let Some(batch) = next {
        let wanted = printer.rows_wanted().min(batch.rows());
        if wanted > 0 {
            let cells = Cells::of(&batch, wanted).map_err(PrintError::Query)?;
            printer.batch(&schema, &cells, out).map_err(PrintError::Output)?;
        }
        printer.skip(batch.rows() - wanted);
        next = result.next().map_err(PrintError::Query)?;
    }
    printer.end(&schema, out).map_err(PrintError::Output)
}

impl Cells {
    /// The first `rows` rows.
    fn of(batch: &Batch, rows: usize) -> Result<Cells, Error> {
        let columns = batch.columns().iter().map(|it| {
            if rows == batch.rows() {
                return it.to_values();
            }
            (0..rows).map(|row| it.value(row)).collect()
        });
        Ok(Cells { columns: columns.collect::<Result<_, _>>()?, rows })
    }

    /// The text of a cell; `None` for NULL.
    fn text(&self, row: usize, column: usize, data_type: &Type) -> Option<String> {
        let value = &self.columns[column][row];
        (!value.is_null()).then(|| value.display(data_type).to_string())
    }
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
