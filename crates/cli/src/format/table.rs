//! A table with lines, fit to the terminal.
//!
//! Widths are those of the first rows. Text that does not fit its column ends in `…`; numbers are
//! never cut. When the columns do not fit even so, some in the middle are left out, and a column of
//! `…` stands for them. Rows after the first ones stream, so that a long result takes no memory.

use super::{Cells, Printer, Printing};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use volley::Schema;

/// Rows that decide the widths of columns.
const SAMPLE_ROWS: usize = 1000;

/// Text columns are not made narrower than this, in characters.
const TEXT_WIDTH_MIN: usize = 10;

const CUT: &str = "…";

pub(super) struct TablePrinter {
    printing: Printing,
    /// The first rows, until the widths are decided.
    sample: Vec<Vec<String>>,
    layout: Option<Layout>,
    rows: usize,
}

/// Which columns are shown, and how wide.
struct Layout {
    columns: Vec<ShownColumn>,
}

enum ShownColumn {
    /// A column of the result.
    Column {
        index: usize,
        /// In characters of the terminal.
        width: usize,
        is_numeric: bool,
    },
    /// Stands for those that do not fit.
    Gap,
}

/// Writes a whole table; `rows` have one text per field of `schema`.
pub fn write_table(schema: &Schema, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::new(schema, rows, None);
    layout.begin(schema, rows, out)?;
    layout.end(out)
}

impl TablePrinter {
    pub(super) fn new(printing: Printing) -> TablePrinter {
        TablePrinter { printing, sample: Vec::new(), layout: None, rows: 0 }
    }

    fn shown(&self) -> usize {
        self.rows.min(self.printing.rows_max)
    }

    /// Decides the widths, and prints the header and the first rows.
    fn start(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<&Layout> {
        if self.layout.is_none() {
            let sample = std::mem::take(&mut self.sample);
            let layout = Layout::new(schema, &sample, self.printing.width);
            layout.begin(schema, &sample, out)?;
            self.layout = Some(layout);
        }
        self.layout.as_ref().ok_or_else(|| io::Error::other("table without a layout"))
    }
}

impl Printer for TablePrinter {
    fn begin(&mut self, _schema: &Schema, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..batch.rows {
            let cells = schema.types().enumerate().map(|(column, data_type)| {
                one_line(batch.text(row, column, data_type).as_deref().unwrap_or("NULL"))
            });
            let cells: Vec<String> = cells.collect();
            if self.layout.is_none() && self.sample.len() < SAMPLE_ROWS {
                self.sample.push(cells);
            } else {
                self.start(schema, out)?.row(&cells, out)?;
            }
        }
        self.rows += batch.rows;
        Ok(())
    }

    fn skip(&mut self, rows: usize) {
        self.rows += rows;
    }

    fn rows_wanted(&self) -> usize {
        self.printing.rows_max - self.shown()
    }

    fn end(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        let layout = self.start(schema, out)?;
        layout.end(out)?;
        let columns = layout.shown();
        let rows = if self.rows == 1 { "row" } else { "rows" };
        write!(out, "{} {rows}", self.rows)?;
        if self.shown() < self.rows {
            write!(out, " ({} shown)", self.shown())?;
        }
        if columns < schema.len() {
            write!(out, ", {} columns ({columns} shown)", schema.len())?;
        }
        writeln!(out)
    }
}

impl Layout {
    fn new(schema: &Schema, sample: &[Vec<String>], terminal: Option<u16>) -> Layout {
        let columns = schema.fields.iter().enumerate().map(|(index, field)| {
            let cells = sample.iter().filter_map(|row| row.get(index)).map(|it| it.width());
            let width = cells.fold(one_line(&field.name).width(), usize::max);
            ShownColumn::Column { index, width, is_numeric: field.data_type.is_numeric() }
        });
        let mut layout = Layout { columns: columns.collect() };
        if let Some(terminal) = terminal {
            layout.fit(usize::from(terminal));
        }
        layout
    }

    /// Narrows text columns, the widest first, then leaves out columns in the middle.
    fn fit(&mut self, terminal: usize) {
        for column in &mut self.columns {
            if let ShownColumn::Column { width, is_numeric: false, .. } = column {
                *width = (*width).min(terminal);
            }
        }
        self.narrow(terminal, TEXT_WIDTH_MIN);
        while self.width() > terminal && self.shown() > 1 {
            let gap = self.columns.iter().position(|it| matches!(it, ShownColumn::Gap));
            match gap {
                None => {
                    let middle = self.columns.len() / 2;
                    self.columns[middle] = ShownColumn::Gap;
                }
                // The side with more columns loses one; the left one is kept longer.
                Some(gap) if gap > self.columns.len() - 1 - gap => _ = self.columns.remove(gap - 1),
                Some(gap) => _ = self.columns.remove(gap + 1),
            }
        }
        // What is left may be a single wide column.
        self.narrow(terminal, 1);
    }

    /// Takes from the widest text columns what the table is too wide, down to `width_min` each.
    fn narrow(&mut self, terminal: usize, width_min: usize) {
        let mut excess = self.width().saturating_sub(terminal);
        while excess > 0 {
            let texts = self.columns.iter_mut().filter_map(|it| match it {
                ShownColumn::Column { width, is_numeric: false, .. } if *width > width_min => {
                    Some(width)
                }
                _ => None,
            });
            let Some(widest) = texts.max() else { return };
            *widest -= 1;
            excess -= 1;
        }
    }

    /// Characters of a line.
    fn width(&self) -> usize {
        self.columns.iter().map(|it| it.width() + 3).sum::<usize>() + 1
    }

    /// Columns of the result that are shown.
    fn shown(&self) -> usize {
        self.columns.iter().filter(|it| matches!(it, ShownColumn::Column { .. })).count()
    }

    /// The header and the first rows.
    fn begin(&self, schema: &Schema, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<_> = schema.fields.iter().map(|it| one_line(&it.name)).collect();
        self.rule(['┌', '─', '┬', '┐'], out)?;
        self.row(&names, out)?;
        self.rule(['╞', '═', '╪', '╡'], out)?;
        rows.iter().try_for_each(|it| self.row(it, out))
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        self.rule(['└', '─', '┴', '┘'], out)
    }

    fn rule(&self, [left, line, cross, right]: [char; 4], out: &mut dyn Write) -> io::Result<()> {
        let lines = self.columns.iter().map(|it| line.to_string().repeat(it.width() + 2));
        writeln!(out, "{left}{}{right}", lines.collect::<Vec<_>>().join(&cross.to_string()))
    }

    /// A line of cells; `cells` has one text per column of the result.
    fn row(&self, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
        let mut line = String::from("│");
        for (position, column) in self.columns.iter().enumerate() {
            if position > 0 {
                line.push('┆');
            }
            line.push(' ');
            column.push_cell(&mut line, cells);
            line.push(' ');
        }
        line.push_str("│\n");
        out.write_all(line.as_bytes())
    }
}

impl ShownColumn {
    fn width(&self) -> usize {
        match self {
            ShownColumn::Column { width, .. } => *width,
            ShownColumn::Gap => 1,
        }
    }

    fn push_cell(&self, line: &mut String, cells: &[String]) {
        let ShownColumn::Column { index, width, is_numeric } = self else {
            return line.push_str(CUT);
        };
        let text = cells.get(*index).map_or("", String::as_str);
        // Numbers are wider than their column only after the sample: better a crooked line.
        let text = if *is_numeric { text.to_owned() } else { cut(text, *width) };
        let blanks = " ".repeat(width.saturating_sub(text.width()));
        let (left, right) = if *is_numeric { (&*blanks, "") } else { ("", &*blanks) };
        line.extend([left, text.as_str(), right]);
    }
}

/// `text` in at most `width` characters of the terminal.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut rest = width.saturating_sub(CUT.width());
    for char in text.chars() {
        let Some(left) = rest.checked_sub(char.width().unwrap_or(0)) else { break };
        rest = left;
        cut.push(char);
    }
    cut.push_str(CUT);
    cut
}

/// Control characters as their escapes, so that a row stays a row and the terminal stays sane.
fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let escaped =
        |it: char| if it.is_control() { it.escape_default().to_string() } else { it.into() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests;
