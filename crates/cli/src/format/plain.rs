//! Lines of text without a frame: plans.

use super::{Cells, Printer};
use std::io::{self, Write};
use volley::Schema;

pub(super) struct PlainPrinter;

impl Printer for PlainPrinter {
    fn begin(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..batch.rows {
            for (column, data_type) in schema.types().enumerate() {
                writeln!(out, "{}", batch.text(row, column, data_type).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
