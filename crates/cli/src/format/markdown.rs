//! A Markdown table.

use super::{Cells, Printer};
use std::io::{self, Write};
use volley::Schema;

pub(super) struct MarkdownPrinter;

impl Printer for MarkdownPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<_> = schema.fields.iter().map(|it| escaped(&it.name)).collect();
        writeln!(out, "| {} |", names.join(" | "))?;
        let lines = schema.types().map(|it| if it.is_numeric() { "---:" } else { "---" });
        writeln!(out, "|{}|", lines.collect::<Vec<_>>().join("|"))
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..batch.rows {
            let cells = schema.types().enumerate().map(|(column, data_type)| {
                batch.text(row, column, data_type).map_or_else(|| "NULL".into(), |it| escaped(&it))
            });
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))?;
        }
        Ok(())
    }

    fn end(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
