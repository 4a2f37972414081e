//! Columns of text from the bytes of a CSV file.

use crate::{
    csv_options::CsvReadOptions,
    csv_split::{Record, Splitter},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_vector::{BooleanBuffer, NullBuffer};

/// Takes bytes, and puts out columns of some lines.
pub(crate) struct CsvDecoder {
    options: Arc<CsvReadOptions>,
    splitter: Splitter,
    /// How many columns the file has.
    width: usize,
    /// The columns that are wanted.
    places: Vec<usize>,
    rows_max: usize,
    /// Whether the header comes next.
    is_before_header: bool,
    lines: Vec<i64>,
    columns: Vec<TextColumn>,
}

/// Some lines.
#[derive(Debug)]
pub(crate) struct TextRows {
    /// The number of each line, from 1 on.
    pub lines: Vec<i64>,
    pub columns: Vec<TextColumn>,
}

/// A column of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextColumn {
    /// All values, one behind the other.
    pub text: Vec<u8>,
    /// Where each value begins, and where the last one ends.
    pub offsets: Vec<i32>,
    valid: Vec<bool>,
}

impl TextColumn {
    fn push(&mut self, field: Option<&[u8]>) -> Result<()> {
        self.text.extend_from_slice(field.unwrap_or_default());
        let end = i32::try_from(self.text.len());
        let end = end.map_err(|_| Error::unsupported("lines of a batch are too long"))?;
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.offsets.push(end);
        self.valid.push(field.is_some());
        Ok(())
    }

    /// Which values are not null.
    pub fn nulls(&self) -> Option<NullBuffer> {
        let nulls = NullBuffer::new(BooleanBuffer::from(self.valid.as_slice()));
        Some(nulls).filter(|it| it.null_count() > 0)
    }
}

impl CsvDecoder {
    /// Reads the columns at `places` of files of `width` columns, which begin at a line.
    pub fn new(
        options: Arc<CsvReadOptions>,
        shape: CsvShape,
        places: Vec<usize>,
        rows_max: usize,
    ) -> CsvDecoder {
        CsvDecoder {
            splitter: Splitter::new(&options.form, shape.delimiter, options.skip_lines + 1),
            width: shape.width,
            is_before_header: shape.has_header,
            lines: Vec::new(),
            columns: vec![TextColumn::default(); places.len()],
            options,
            places,
            rows_max,
        }
    }

    /// Takes bytes until it is full; how many.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() && !self.is_full() {
            let (count, is_complete) = self.splitter.push(bytes.get(taken..).unwrap_or_default());
            taken += count;
            if is_complete {
                self.take_line()?;
            }
        }
        Ok(taken)
    }

    /// Takes the end of the file.
    pub fn finish(&mut self) -> Result<()> {
        if self.splitter.finish() { self.take_line() } else { Ok(()) }
    }

    /// Makes batches of so many lines.
    pub fn set_rows_max(&mut self, rows_max: usize) {
        self.rows_max = rows_max.max(1);
    }

    /// Whether there are as many lines as a batch has.
    pub fn is_full(&self) -> bool {
        self.lines.len() >= self.rows_max
    }

    /// The lines so far; `None` when there are none.
    pub fn flush(&mut self) -> Option<TextRows> {
        if self.lines.is_empty() {
            return None;
        }
        let lines = std::mem::take(&mut self.lines);
        let columns = self.columns.iter_mut().map(std::mem::take).collect();
        Some(TextRows { lines, columns })
    }

    fn take_line(&mut self) -> Result<()> {
        let record = self.splitter.record();
        // Of one column, an empty line is a row.
        if record.is_blank() && (self.width > 1 || self.is_before_header) {
            return Ok(());
        }
        if std::mem::take(&mut self.is_before_header) {
            return Ok(());
        }
        if let Some(wrong) = self.misfit(record) {
            if self.options.ignore_errors {
                return Ok(());
            }
            return Err(Error::corruption(wrong).at("line", record.line));
        }
        for (place, column) in self.places.iter().zip(&mut self.columns) {
            let field = record.field(*place);
            let field = field.filter(|it| !self.options.is_null(it.0, it.1)).map(|it| it.0);
            column.push(field)?;
        }
        self.lines.push(i64::try_from(record.line).unwrap_or(i64::MAX));
        Ok(())
    }

    /// What is wrong with a line.
    fn misfit(&self, record: &Record) -> Option<String> {
        if let Some(wrong) = record.wrong {
            return Some(wrong.to_owned());
        }
        let (found, wanted) = (record.len(), self.width);
        let is_right = found == wanted
            || found < wanted && self.options.null_padding
            || found > wanted && !self.options.form.is_strict;
        if !is_right {
            let plural = if found == 1 { "field" } else { "fields" };
            return Some(format!("line has {found} {plural}, not {wanted}"));
        }
        (!record.is_utf8()).then(|| "text that is not UTF-8".to_owned())
    }
}

/// What was found out about a file, or is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CsvShape {
    pub delimiter: u8,
    pub has_header: bool,
    /// How many columns there are.
    pub width: usize,
}
