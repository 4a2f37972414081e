//! A statement per row that inserts it into a table.

use super::{Lines, PrintError, Printer, Printing};
use std::io::Write;
use volley::{Batch, Schema, Type};

pub(super) struct InsertPrinter {
    /// As SQL reads it.
    table: String,
}

impl InsertPrinter {
    pub(super) fn new(printing: &Printing) -> InsertPrinter {
        InsertPrinter { table: printing.insert_table.clone() }
    }
}

impl Printer for InsertPrinter {
    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError> {
        let columns = batch.cells(schema)?;
        let (mut lines, mut value) = (Lines::new(out), String::new());
        for row in 0..batch.rows() {
            lines.push("INSERT INTO ")?;
            lines.push(&self.table)?;
            lines.push(" VALUES (")?;
            for (index, (column, data_type)) in columns.iter().zip(schema.types()).enumerate() {
                lines.push(if index == 0 { "" } else { ", " })?;
                if column.is_null(row) {
                    lines.push("NULL")?;
                    continue;
                }
                // The text is whole: what would take a part of it leaves it.
                column.push_text(
                    row,
                    &mut value,
                    &mut |_: &mut String| Ok::<(), PrintError>(()),
                )?;
                push_literal(&mut lines, data_type, &value)?;
                value.clear();
            }
            lines.push(");\n")?;
        }
        Ok(lines.write()?)
    }
}

/// A value that is not NULL as SQL reads it.
fn push_literal(lines: &mut Lines<'_>, data_type: &Type, text: &str) -> std::io::Result<()> {
    // `NaN` and `Infinity` are no literals.
    let is_number = text.ends_with(|it: char| it.is_ascii_digit());
    let is_bare = *data_type == Type::Boolean || data_type.is_number() && is_number;
    if is_bare {
        return lines.push(text);
    }
    let is_text = *data_type == Type::Varchar;
    lines.push(if is_text { "'" } else { "CAST('" })?;
    for (index, part) in text.split('\'').enumerate() {
        lines.push(if index == 0 { "" } else { "''" })?;
        lines.push(part)?;
    }
    if is_text {
        return lines.push("'");
    }
    lines.push("' AS ")?;
    lines.push(&data_type.to_string())?;
    lines.push(")")
}
