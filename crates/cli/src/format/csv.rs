//! Comma-separated values (RFC 4180): a header, NULL as nothing.

use super::{Lines, PrintError, Printer};
use std::io::{self, Write};
use volley::{Batch, Schema};

pub(super) struct CsvPrinter;

impl Printer for CsvPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::new(out);
        for (index, field) in schema.fields.iter().enumerate() {
            lines.push(if index == 0 { "" } else { "," })?;
            push_field(&mut lines, &field.name)?;
        }
        lines.push("\n")?;
        lines.write()
    }

    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError> {
        let columns = batch.cells(schema)?;
        let (mut lines, mut value) = (Lines::new(out), String::new());
        for row in 0..batch.rows() {
            for (index, column) in columns.iter().enumerate() {
                lines.push(if index == 0 { "" } else { "," })?;
                if column.is_null(row) {
                    continue;
                }
                if let Some(text) = column.text(row) {
                    push_field(&mut lines, text)?;
                    continue;
                }
                let mut is_open = false;
                column.push_text(row, &mut value, &mut |value: &mut String| {
                    // What comes in pieces is quoted, needed or not: the rest is not known yet.
                    lines.push(if is_open { "" } else { "\"" })?;
                    is_open = true;
                    push_quoted(&mut lines, value)?;
                    value.clear();
                    Ok::<(), PrintError>(())
                })?;
                if is_open {
                    push_quoted(&mut lines, &value)?;
                    lines.push("\"")?;
                } else {
                    push_field(&mut lines, &value)?;
                }
                value.clear();
            }
            lines.push("\n")?;
        }
        Ok(lines.write()?)
    }
}

/// An empty string is quoted, so that it differs from NULL.
fn push_field(lines: &mut Lines<'_>, text: &str) -> io::Result<()> {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return lines.push(text);
    }
    lines.push("\"")?;
    push_quoted(lines, text)?;
    lines.push("\"")
}

/// The content of quotes.
fn push_quoted(lines: &mut Lines<'_>, text: &str) -> io::Result<()> {
    for (index, part) in text.split('"').enumerate() {
        lines.push(if index == 0 { "" } else { "\"\"" })?;
        lines.push(part)?;
    }
    Ok(())
}
