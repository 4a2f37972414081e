//! A table with borders, fitted to the width of the terminal.
//!
//! Widths are those of the first rows. Text that does not fit its column ends in `…`; numbers are
//! never cut. If the columns still do not fit, some in the middle are omitted and replaced by a
//! column of `…`. Rows after the first ones stream, so that a long result takes no memory. Of a
//! text wider than the terminal, only the beginning is read.

use super::{Format, Lines, PrintError, Printer, Printing, seconds, with_thousands};
use crate::interrupt;
use std::{
    borrow::Cow,
    io::{self, Write},
};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use volley::{Batch, Error, Field, Schema, TypeNames};

/// Rows that decide the widths of columns: the first ones, fewer if their text is long.
const SAMPLE_ROWS: usize = 1000;
const SAMPLE_BYTES: usize = 32 << 20;

/// Text columns are not made narrower than this, in characters.
const TEXT_WIDTH_MIN: usize = 10;

const CUT: &str = "…";

pub(super) struct TablePrinter {
    printing: Printing,
    /// The first rows, until the widths are decided.
    sample: Vec<Vec<String>>,
    /// Of its text.
    sample_bytes: usize,
    layout: Option<Layout>,
    rows: usize,
}

/// Which columns are shown, and how wide.
struct Layout {
    columns: Vec<ShownColumn>,
    style: &'static Style,
    shows_types: bool,
    type_names: TypeNames,
}

/// The lines of a table: left, line, cross and right.
struct Style {
    top: [char; 4],
    head: [char; 4],
    bottom: [char; 4],
    between: &'static str,
}

/// Few lines.
const TABLE: Style = Style {
    top: ['┌', '─', '┬', '┐'],
    head: ['╞', '═', '╪', '╡'],
    bottom: ['└', '─', '┴', '┘'],
    between: " ┆ ",
};

/// Lines everywhere.
const BOX: Style = Style {
    top: ['┌', '─', '┬', '┐'],
    head: ['├', '─', '┼', '┤'],
    bottom: ['└', '─', '┴', '┘'],
    between: " │ ",
};

/// Characters of a type that widen a column.
const TYPE_WIDTH_MAX: usize = 24;

enum ShownColumn {
    /// A column of the result.
    Column {
        index: usize,
        /// In characters of the terminal.
        width: usize,
        is_numeric: bool,
    },
    /// The column that replaces those that do not fit.
    Gap,
}

/// Writes a whole table; `rows` have one text per field of `schema`.
pub fn write_table(schema: &Schema, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::new(schema, rows, &Printing { shows_types: false, ..Printing::default() });
    layout.begin(schema, rows, out)?;
    layout.end(out)
}

impl TablePrinter {
    pub(super) fn new(printing: &Printing) -> TablePrinter {
        let mut printing = printing.clone();
        if printing.format == Format::Box {
            printing.width = None;
        }
        let (sample, layout) = (Vec::new(), None);
        TablePrinter { printing, sample, sample_bytes: 0, layout, rows: 0 }
    }

    fn shown(&self) -> usize {
        self.rows.min(self.printing.rows_max)
    }

    /// Decides the widths, and prints the header and the first rows.
    fn start(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<&Layout> {
        if self.layout.is_none() {
            let sample = std::mem::take(&mut self.sample);
            let layout = Layout::new(schema, &sample, &self.printing);
            layout.begin(schema, &sample, out)?;
            self.layout = Some(layout);
        }
        self.layout.as_ref().ok_or_else(|| io::Error::other("table without a layout"))
    }
}

impl Printer for TablePrinter {
    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError> {
        let columns = batch.cells(schema)?;
        for row in 0..batch.rows() {
            let cells = columns.iter().zip(schema.types()).map(|(column, data_type)| {
                let width = self.printing.width.filter(|_| !data_type.is_number());
                let width_max = width.map_or(usize::MAX, usize::from);
                if column.is_null(row) {
                    return Ok(self.printing.null.clone());
                }
                if self.printing.has_thousands && data_type.is_number() {
                    let text = cell(width_max, |text, full| column.push_text(row, text, full))?;
                    return Ok(with_thousands(&text));
                }
                match column.text(row) {
                    Some(text) => {
                        let mut line = one_line(beginning(text, width_max)).into_owned();
                        shorten(&mut line, width_max);
                        Ok(line)
                    }
                    None => cell(width_max, |text, full| column.push_text(row, text, full)),
                }
            });
            let cells = cells.collect::<Result<Vec<String>, PrintError>>()?;
            let may_wait = self.sample.len() < SAMPLE_ROWS && self.sample_bytes < SAMPLE_BYTES;
            if self.layout.is_none() && may_wait {
                self.sample_bytes += cells.iter().map(String::len).sum::<usize>();
                self.sample.push(cells);
            } else {
                self.start(schema, out)?.row(&cells, out)?;
            }
        }
        self.rows += batch.rows();
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
        if let Some(start) = self.printing.start {
            write!(out, " in {}", seconds(start.elapsed()))?;
        }
        writeln!(out)
    }
}

impl Layout {
    fn new(schema: &Schema, sample: &[Vec<String>], printing: &Printing) -> Layout {
        let columns = schema.fields.iter().enumerate().map(|(index, field)| {
            let cells = sample.iter().filter_map(|row| row.get(index)).map(|it| it.width());
            let of_type = match printing.shows_types {
                true => type_name(field, printing.type_names).width().min(TYPE_WIDTH_MAX),
                false => 0,
            };
            let width = cells.fold(one_line(&field.name).width().max(of_type), usize::max);
            ShownColumn::Column { index, width, is_numeric: field.data_type.is_number() }
        });
        let mut layout = Layout {
            columns: columns.collect(),
            style: if printing.format == Format::Box { &BOX } else { &TABLE },
            shows_types: printing.shows_types,
            type_names: printing.type_names,
        };
        if let Some(terminal) = printing.width {
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
        let names = schema.fields.iter().map(|it| one_line(&it.name).into_owned());
        let names: Vec<String> = names.collect();
        self.rule(self.style.top, out)?;
        self.row(&names, out)?;
        if self.shows_types {
            let types: Vec<String> =
                schema.fields.iter().map(|it| type_name(it, self.type_names)).collect();
            self.row(&types, out)?;
        }
        self.rule(self.style.head, out)?;
        rows.iter().try_for_each(|it| self.row(it, out))
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        self.rule(self.style.bottom, out)
    }

    fn rule(&self, [left, line, cross, right]: [char; 4], out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::new(out);
        for (position, column) in self.columns.iter().enumerate() {
            lines.push_repeated(if position == 0 { left } else { cross }, 1)?;
            lines.push_repeated(line, column.width() + 2)?;
        }
        lines.push_repeated(right, 1)?;
        lines.push("\n")?;
        lines.write()
    }

    /// A line of cells; `cells` has one text per column of the result.
    fn row(&self, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Lines::new(out);
        for (position, column) in self.columns.iter().enumerate() {
            lines.push(if position == 0 { "│ " } else { self.style.between })?;
            column.push_cell(&mut lines, cells)?;
        }
        lines.push(" │\n")?;
        lines.write()
    }
}

impl ShownColumn {
    fn width(&self) -> usize {
        match self {
            ShownColumn::Column { width, .. } => *width,
            ShownColumn::Gap => 1,
        }
    }

    fn push_cell(&self, lines: &mut Lines<'_>, cells: &[String]) -> io::Result<()> {
        let ShownColumn::Column { index, width, is_numeric } = self else {
            return lines.push(CUT);
        };
        let text = cells.get(*index).map_or("", String::as_str);
        let text_width = text.width();
        let blanks = width.saturating_sub(text_width);
        // Numbers are wider than their column only after the sample: better a crooked line.
        if *is_numeric {
            lines.push_repeated(' ', blanks)?;
            return lines.push(text);
        }
        if text_width <= *width {
            lines.push(text)?;
            return lines.push_repeated(' ', blanks);
        }
        let text = cut(text, *width);
        lines.push(text)?;
        lines.push(CUT)?;
        lines.push_repeated(' ', width.saturating_sub(text.width() + CUT.width()))
    }
}

/// A type as it stands below the name of its column.
fn type_name(field: &Field, type_names: TypeNames) -> String {
    let name = type_names.name(&field.data_type);
    // Types of numbers are short; those of nested values may be as long as they like.
    match name.width() > TYPE_WIDTH_MAX {
        true => format!("{}{CUT}", cut(&name, TYPE_WIDTH_MAX)),
        false => name,
    }
}

/// What is shown of `text`, which is wider than `width` characters of the terminal, before `…`.
fn cut(text: &str, width: usize) -> &str {
    let mut rest = width.saturating_sub(CUT.width());
    for (at, char) in text.char_indices() {
        let Some(left) = rest.checked_sub(char.width().unwrap_or(0)) else { return &text[..at] };
        rest = left;
    }
    text
}

/// Why the text of a cell has ended before its end.
enum Stop {
    /// It is wide enough.
    Wide,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// What takes a part of the text of a cell, and empties it.
type Full<'a> = &'a mut dyn FnMut(&mut String) -> Result<(), Stop>;

/// The text of a cell in one line, or the beginning of one that is wider than `width_max`.
fn cell(
    width_max: usize,
    push: impl FnOnce(&mut String, Full<'_>) -> Result<(), Stop>,
) -> Result<String, PrintError> {
    let (mut text, mut cell, mut width) = (String::new(), String::new(), 0usize);
    let pushed = push(&mut text, &mut |part: &mut String| {
        if interrupt::is_interrupted() {
            return Err(Stop::Failed(Error::cancelled()));
        }
        cell.push_str(&one_line(part));
        width = width.saturating_add(part.width());
        part.clear();
        // Characters that combine on the terminal may be in two parts.
        if width / 4 > width_max { Err(Stop::Wide) } else { Ok(()) }
    });
    if let Err(Stop::Failed(error)) = pushed {
        return Err(PrintError::Query(error));
    }
    cell.push_str(&one_line(&text));
    shorten(&mut cell, width_max);
    Ok(cell)
}

/// Leaves the beginning of what is wider than `width_max`.
fn shorten(line: &mut String, width_max: usize) {
    let end = beginning(line, width_max).len();
    if end < line.len() {
        line.truncate(end);
        line.shrink_to_fit();
    }
}

/// The first characters of a text that is wider than `width_max`, more of them than that; all of
/// others.
fn beginning(text: &str, width_max: usize) -> &str {
    // A character has at least as many bytes as it is wide.
    if text.len() <= width_max {
        return text;
    }
    let mut enough = width_max.saturating_mul(2).saturating_add(16);
    loop {
        let mut rest = enough;
        let end = text.char_indices().find_map(|(at, char)| {
            match rest.checked_sub(char.width().unwrap_or(0)) {
                Some(left) => rest = left,
                None => return Some(at),
            }
            None
        });
        let Some(end) = end else { return text };
        // Several characters may be one on the terminal.
        if text[..end].width() > width_max {
            return &text[..end];
        }
        enough = enough.saturating_mul(2);
    }
}

/// Control characters as their escapes, so that a row stays a row and the terminal stays sane.
fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() {
            line.extend(char.escape_default());
        } else {
            line.push(char);
        }
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests;
