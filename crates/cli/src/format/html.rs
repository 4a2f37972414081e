//! An HTML table.

use super::{Lines, PrintError, Printer};
use std::io::{self, Write};
use volley::{Batch, Schema};

pub(super) struct HtmlPrinter;

impl Printer for HtmlPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::new(out);
        lines.push("<table>\n<thead><tr>")?;
        for field in &schema.fields {
            lines.push("<th>")?;
            push_escaped(&mut lines, &field.name)?;
            lines.push("</th>")?;
        }
        lines.push("</tr></thead>\n<tbody>\n")?;
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
            lines.push("<tr>")?;
            for (column, data_type) in columns.iter().zip(schema.types()) {
                let is_null = column.is_null(row);
                lines.push(match (is_null, data_type.is_number()) {
                    (true, _) => "<td class=\"null\">",
                    (false, true) => "<td class=\"number\">",
                    (false, false) => "<td>",
                })?;
                column.push_text(row, &mut value, &mut |part: &mut String| {
                    push_escaped(&mut lines, part)?;
                    part.clear();
                    Ok::<(), PrintError>(())
                })?;
                push_escaped(&mut lines, &value)?;
                value.clear();
                lines.push("</td>")?;
            }
            lines.push("</tr>\n")?;
        }
        Ok(lines.write()?)
    }

    fn end(&mut self, _schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "</tbody>\n</table>")
    }
}

fn push_escaped(lines: &mut Lines<'_>, text: &str) -> io::Result<()> {
    for part in text.split_inclusive(['&', '<', '>', '"']) {
        let (before, escape) = match part.chars().next_back() {
            Some('&') => (&part[..part.len() - 1], "&amp;"),
            Some('<') => (&part[..part.len() - 1], "&lt;"),
            Some('>') => (&part[..part.len() - 1], "&gt;"),
            Some('"') => (&part[..part.len() - 1], "&quot;"),
            _ => (part, ""),
        };
        lines.push(before)?;
        lines.push(escape)?;
    }
    Ok(())
}
