//! A line per value, `name = value`, and an empty line between rows.

use super::{Lines, PrintError, Printer, Printing, with_thousands};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;
use volley::{Batch, Schema};

pub(super) struct LinePrinter {
    null: String,
    has_thousands: bool,
    /// The width of the longest name.
    width: usize,
    rows: usize,
    rows_max: usize,
}

impl LinePrinter {
    pub(super) fn new(printing: &Printing) -> LinePrinter {
        LinePrinter {
            null: printing.null.clone(),
            has_thousands: printing.has_thousands,
            width: 0,
            rows: 0,
            rows_max: if printing.width.is_some() { printing.rows_max } else { usize::MAX },
        }
    }
}

impl Printer for LinePrinter {
    fn begin(&mut self, schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        self.width = schema.fields.iter().map(|it| it.name.width()).max().unwrap_or(0);
        Ok(())
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
            lines.push(if self.rows == 0 { "" } else { "\n" })?;
            self.rows += 1;
            for (column, field) in columns.iter().zip(&schema.fields) {
                lines.push_repeated(' ', self.width - field.name.width().min(self.width))?;
                lines.push(&field.name)?;
                lines.push(" = ")?;
                if column.is_null(row) {
                    lines.push(&self.null)?;
                } else {
                    column.push_text(row, &mut value, &mut |part: &mut String| {
                        lines.push(part)?;
                        part.clear();
                        Ok::<(), PrintError>(())
                    })?;
                    if self.has_thousands && field.data_type.is_number() {
                        value = with_thousands(&value);
                    }
                    lines.push(&value)?;
                    value.clear();
                }
                lines.push("\n")?;
            }
        }
        Ok(lines.write()?)
    }

    fn rows_wanted(&self) -> usize {
        self.rows_max - self.rows.min(self.rows_max)
    }
}
