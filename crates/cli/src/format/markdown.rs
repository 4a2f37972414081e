//! A Markdown table.

use super::{Lines, PrintError, Printer};
use std::io::{self, Write};
use volley::{Batch, Schema};

pub(super) struct MarkdownPrinter;

impl Printer for MarkdownPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::new(out);
        for (index, field) in schema.fields.iter().enumerate() {
            lines.push(if index == 0 { "| " } else { " | " })?;
            push_escaped(&mut lines, &field.name)?;
        }
        lines.push(" |\n")?;
        for data_type in schema.types() {
            lines.push(if data_type.is_number() { "|---:" } else { "|---" })?;
        }
        lines.push("|\n")?;
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
                lines.push(if index == 0 { "| " } else { " | " })?;
                column.push_text(row, &mut value, &mut |value: &mut String| {
                    push_escaped(&mut lines, value)?;
                    value.clear();
                    Ok::<(), PrintError>(())
                })?;
                push_escaped(&mut lines, &value)?;
                value.clear();
            }
            lines.push(" |\n")?;
        }
        Ok(lines.write()?)
    }
}

fn push_escaped(lines: &mut Lines<'_>, text: &str) -> io::Result<()> {
    for part in text.split_inclusive(['|', '\n', '\r']) {
        match part.strip_suffix(['|', '\n', '\r']) {
            Some(before) => {
                lines.push(before)?;
                lines.push(if part.ends_with('|') { "\\|" } else { " " })?;
            }
            None => lines.push(part)?,
        }
    }
    Ok(())
}
