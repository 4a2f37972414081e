//! Comma-separated values (RFC 4180): a header, NULL as nothing.

use super::{Cells, Printer};
use std::io::{self, Write};
use volley::Schema;

pub(super) struct CsvPrinter;

impl Printer for CsvPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let names = schema.fields.iter().map(|it| quoted(&it.name));
        writeln!(out, "{}", names.collect::<Vec<_>>().join(","))
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..batch.rows {
            let cells = schema.types().enumerate().map(|(column, data_type)| {
                batch.text(row, column, data_type).map_or_else(String::new, |it| quoted(&it))
            });
            writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }

    fn end(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// An empty string is quoted, so that it differs from NULL.
fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
