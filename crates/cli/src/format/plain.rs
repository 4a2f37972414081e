//! Lines of text without a frame: plans.

use super::{PrintError, Printer, write_text};
use std::io::Write;
use volley::{Batch, Schema};

pub(super) struct PlainPrinter;

impl Printer for PlainPrinter {
    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError> {
        let columns = batch.cells(schema)?;
        let mut text = String::new();
        for row in 0..batch.rows() {
            for column in &columns {
                if !column.is_null(row) {
                    column.push_text(row, &mut text, &mut |it: &mut String| {
                        write_text(out, it).map_err(PrintError::Output)
                    })?;
                }
                text.push('\n');
            }
        }
        Ok(write_text(out, &mut text)?)
    }
}
