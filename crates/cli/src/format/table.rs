//! A table with lines, fit to the terminal.

use super::{Cells, Printer, Printing};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use std::io::{self, Write};
use volley::Schema;

/// Characters that a column needs at least, lines included.
const COLUMN_WIDTH_MIN: usize = 8;

pub(super) struct TablePrinter {
    table: Table,
    printing: Printing,
    /// Columns shown; the others do not fit.
    columns: usize,
    rows: usize,
}

impl TablePrinter {
    pub(super) fn new(printing: Printing) -> TablePrinter {
        TablePrinter { table: Table::new(), printing, columns: 0, rows: 0 }
    }
}

impl Printer for TablePrinter {
    fn begin(&mut self, schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        self.columns = schema.len();
        self.table.load_style(UTF8_FULL_CONDENSED);
        if let Some(width) = self.printing.width {
            self.table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            self.columns = schema.len().min((usize::from(width) / COLUMN_WIDTH_MIN).max(1));
        }
        self.table.set_header(schema.fields.iter().take(self.columns).map(|it| one_line(&it.name)));
        Ok(())
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, _out: &mut dyn Write) -> io::Result<()> {
        let shown = batch.rows.min(self.printing.rows_max.saturating_sub(self.rows));
        for row in 0..shown {
            let cells = schema.types().enumerate().take(self.columns).map(|(column, data_type)| {
                let text = batch.text(row, column, data_type);
                let cell = Cell::new(one_line(text.as_deref().unwrap_or("NULL")));
                let right = data_type.is_numeric();
                cell.set_alignment(if right { CellAlignment::Right } else { CellAlignment::Left })
            });
            self.table.add_row(cells.collect::<Vec<_>>());
        }
        self.rows += batch.rows;
        Ok(())
    }

    fn end(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.table)?;
        let shown = self.rows.min(self.printing.rows_max);
        let rows = if self.rows == 1 { "row" } else { "rows" };
        write!(out, "{} {rows}", self.rows)?;
        if shown < self.rows {
            write!(out, " ({shown} shown)")?;
        }
        if self.columns < schema.len() {
            write!(out, ", {} columns ({} shown)", schema.len(), self.columns)?;
        }
        writeln!(out)
    }
}

/// Line breaks and tabs as their escapes, so that a row stays a row.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}
