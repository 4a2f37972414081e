//! For programs: `name:TYPE` of every column, rows, and a line about their number.
//!
//! Columns are separated by tabs. In values, a backslash, a tab and the end of a line are `\\`,
//! `\t` and `\n`; NULL is `\N`. The last line begins with `#` and says whether there are more rows.

use super::{Lines, PrintError, Printer, Printing};
use std::io::{self, Write};
use volley::{Batch, Schema, TypeNames};

pub(super) struct AgentPrinter {
    rows_max: usize,
    bytes_max: usize,
    type_names: TypeNames,
    rows: usize,
    /// Of rows, so far.
    bytes: usize,
    /// The option that limits the rows, once there are more.
    limited_by: Option<&'static str>,
}

impl AgentPrinter {
    pub(super) fn new(printing: &Printing) -> AgentPrinter {
        let Printing { rows_max, bytes_max, type_names, .. } = *printing;
        AgentPrinter { rows_max, bytes_max, type_names, rows: 0, bytes: 0, limited_by: None }
    }
}

impl Printer for AgentPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let mut line = String::new();
        for (index, field) in schema.fields.iter().enumerate() {
            line.push_str(if index == 0 { "" } else { "\t" });
            push_escaped(&mut line, &field.name);
            line.push(':');
            line.push_str(&self.type_names.name(&field.data_type));
        }
        writeln!(out, "{line}")
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
            if self.bytes >= self.bytes_max || self.rows >= self.rows_max {
                let is_rows = self.rows >= self.rows_max;
                self.limited_by = Some(if is_rows { "--max-rows" } else { "--max-bytes" });
                break;
            }
            let mut line = String::new();
            for (index, column) in columns.iter().enumerate() {
                line.push_str(if index == 0 { "" } else { "\t" });
                if column.is_null(row) {
                    line.push_str("\\N");
                    continue;
                }
                column.push_text(row, &mut value, &mut |part: &mut String| {
                    push_escaped(&mut line, part);
                    part.clear();
                    Ok::<(), PrintError>(())
                })?;
                push_escaped(&mut line, &value);
                value.clear();
            }
            line.push('\n');
            self.rows += 1;
            self.bytes += line.len();
            lines.push(&line)?;
        }
        Ok(lines.write()?)
    }

    fn end(&mut self, _schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        match self.limited_by {
            None => writeln!(out, "# {} {rows}", self.rows),
            Some(option) => writeln!(
                out,
                "# {} {rows} shown, there are more: add LIMIT or raise {option}",
                self.rows
            ),
        }
    }

    fn is_full(&self) -> bool {
        self.limited_by.is_some()
    }
}

fn push_escaped(line: &mut String, text: &str) {
    for char in text.chars() {
        match char {
            '\\' => line.push_str("\\\\"),
            '\t' => line.push_str("\\t"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            other => line.push(other),
        }
    }
}
