//! The rows of a CSV file as text, each with its line: for what must say where a value stands.

use crate::{csv_format::detect_format, input::FileStream};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::{RandomAccessFile, open_file};
use volley_types::Type;
use volley_vector::{Batch, BooleanBuffer, NullBuffer, StringBuilder, Vector};

/// What delimiter and header are found out from.
const SAMPLE_BYTES: u64 = 1 << 20;

/// How a CSV file is read. What is `None` is found out from its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvReadOptions {
    /// What stands between fields.
    pub delimiter: Option<u8>,
    /// Whether the first line has the names of the columns.
    pub has_header: Option<bool>,
    /// What stands around fields that contain delimiters.
    pub quote: u8,
    /// What stands before a quote within quotes.
    pub escape: u8,
    /// A field without quotes that is NULL.
    pub null: String,
}

impl Default for CsvReadOptions {
    fn default() -> CsvReadOptions {
        let (quote, escape) = (b'"', b'"');
        CsvReadOptions { delimiter: None, has_header: None, quote, escape, null: String::new() }
    }
}

/// Reads rows of a fixed number of fields, forward.
pub struct CsvRows {
    stream: FileStream,
    options: CsvReadOptions,
    delimiter: u8,
    columns: usize,
    path: String,
    /// The line that is read next, from 1 on.
    line: i64,
    peeked: Option<u8>,
}

/// The number of a line, and its fields.
type Line = (i64, Vec<Option<String>>);

/// Where a reader is in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first byte of a field.
    Start,
    Plain,
    Quoted,
    /// Behind the closing quote.
    Closed,
}

/// The fields of a row under way.
#[derive(Default)]
struct Row {
    fields: Vec<Option<String>>,
    field: Vec<u8>,
    was_quoted: bool,
}

impl CsvRows {
    /// Opens a file whose rows have so many `columns`.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the first line is none.
    pub fn open(path: &str, columns: usize, options: CsvReadOptions) -> Result<CsvRows> {
        let file = open_file(path)?;
        let (delimiter, has_header) = shape(&file, &options).map_err(|it| it.at("file", path))?;
        let mut stream = FileStream::new(file);
        if stream.fill()?.starts_with(b"\xef\xbb\xbf") {
            stream.consume(3);
        }
        let path = path.to_owned();
        let mut rows = CsvRows { stream, options, delimiter, columns, path, line: 1, peeked: None };
        if has_header {
            rows.row()?;
        }
        Ok(rows)
    }

    /// The next rows, at most `rows_max`: their lines as BIGINT, then the fields as VARCHAR. `None`
    /// at the end.
    ///
    /// # Errors
    ///
    /// I/O; corruption: a line of another number of fields, text that is not UTF-8, a quote that is
    /// not closed; with the file and the line.
    pub fn next(&mut self, rows_max: usize) -> Result<Option<Batch>> {
        let mut lines = Vec::new();
        let mut texts: Vec<StringBuilder> =
            (0..self.columns).map(|_| StringBuilder::with_capacity(rows_max)).collect();
        let mut valid: Vec<Vec<bool>> = vec![Vec::new(); self.columns];
        while lines.len() < rows_max {
            let Some((line, fields)) = self.row()? else { break };
            if fields.len() != self.columns {
                let (found, wanted) = (fields.len(), self.columns);
                let plural = if found == 1 { "field" } else { "fields" };
                let message = format!("line has {found} {plural}, not {wanted}");
                return Err(self.corrupt(&message, line));
            }
            lines.push(line);
            for ((field, text), valid) in fields.iter().zip(&mut texts).zip(&mut valid) {
                text.push(field.as_deref().unwrap_or_default().as_bytes());
                valid.push(field.is_some());
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let rows = lines.len();
        let mut columns = vec![Vector::native::<i64>(Type::BigInt, lines, None)];
        for (text, valid) in texts.into_iter().zip(valid) {
            let nulls = NullBuffer::new(BooleanBuffer::from(valid));
            let nulls = Some(nulls).filter(|it| it.null_count() > 0);
            columns.push(Vector::strings(Type::Varchar, text.finish(), nulls));
        }
        Ok(Some(Batch::new(columns, rows)))
    }

    fn corrupt(&self, message: &str, line: i64) -> Error {
        Error::corruption(message).at("file", &self.path).at("line", line)
    }

    fn next_byte(&mut self) -> Result<Option<u8>> {
        if let Some(byte) = self.peeked.take() {
            return Ok(Some(byte));
        }
        let byte = self.stream.fill()?.first().copied();
        if byte.is_some() {
            self.stream.consume(1);
        }
        Ok(byte)
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        if self.peeked.is_none() {
            self.peeked = self.next_byte()?;
        }
        Ok(self.peeked)
    }

    /// The next line that is not empty, its number and its fields; `None` at the end.
    fn row(&mut self) -> Result<Option<Line>> {
        let first_line = self.line;
        let (mut row, mut place) = (Row::default(), Place::Start);
        loop {
            let Some(byte) = self.next_byte()? else {
                if place == Place::Quoted {
                    return Err(self.corrupt("quote that is not closed", first_line));
                }
                let is_empty = row.fields.is_empty() && place == Place::Start;
                if !is_empty {
                    self.end_field(&mut row, first_line)?;
                }
                return Ok((!is_empty).then_some((first_line, row.fields)));
            };
            if byte == b'\n' || (byte == b'\r' && place != Place::Quoted) {
                if byte == b'\r' && self.peek()? == Some(b'\n') {
                    self.peeked = None;
                }
                self.line += 1;
                if place == Place::Quoted {
                    row.field.push(byte);
                    continue;
                }
                if row.fields.is_empty() && place == Place::Start && self.columns > 1 {
                    return self.row_after_empty_lines();
                }
                self.end_field(&mut row, first_line)?;
                return Ok(Some((first_line, row.fields)));
            }
            place = self.take(byte, place, &mut row, first_line)?;
        }
    }

    /// Passes over empty lines, however many, without recursion as deep as they are.
    fn row_after_empty_lines(&mut self) -> Result<Option<Line>> {
        while let Some(byte @ (b'\n' | b'\r')) = self.peek()? {
            self.peeked = None;
            if byte == b'\r' && self.peek()? == Some(b'\n') {
                self.peeked = None;
            }
            self.line += 1;
        }
        self.row()
    }

    /// Takes one byte of a row that is not its end.
    fn take(&mut self, byte: u8, place: Place, row: &mut Row, line: i64) -> Result<Place> {
        let (quote, escape) = (self.options.quote, self.options.escape);
        if place == Place::Quoted {
            if byte == escape && self.peek()? == Some(quote) {
                self.peeked = None;
                row.field.push(quote);
            } else if byte == quote {
                return Ok(Place::Closed);
            } else {
                row.field.push(byte);
            }
            return Ok(Place::Quoted);
        }
        if byte == self.delimiter {
            self.end_field(row, line)?;
            return Ok(Place::Start);
        }
        match place {
            Place::Start if byte == quote => {
                row.was_quoted = true;
                Ok(Place::Quoted)
            }
            Place::Closed => Err(self.corrupt("text behind a closing quote", line)),
            _ => {
                row.field.push(byte);
                Ok(Place::Plain)
            }
        }
    }

    fn end_field(&self, row: &mut Row, line: i64) -> Result<()> {
        let text = String::from_utf8(std::mem::take(&mut row.field));
        let text = text.map_err(|_| self.corrupt("text that is not UTF-8", line))?;
        let is_null = !std::mem::take(&mut row.was_quoted) && text == self.options.null;
        row.fields.push((!is_null).then_some(text));
        Ok(())
    }
}

/// Delimiter and header.
fn shape(file: &Arc<dyn RandomAccessFile>, options: &CsvReadOptions) -> Result<(u8, bool)> {
    if let (Some(delimiter), Some(has_header)) = (options.delimiter, options.has_header) {
        return Ok((delimiter, has_header));
    }
    let bytes = file.size_bytes().min(SAMPLE_BYTES);
    let sample = file.read(0..bytes)?;
    let text = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&sample);
    if text.is_empty() {
        return Ok((options.delimiter.unwrap_or(b','), options.has_header.unwrap_or(false)));
    }
    let found = detect_format(text, bytes == file.size_bytes())?;
    let delimiter = options.delimiter.unwrap_or(found.delimiter);
    Ok((delimiter, options.has_header.unwrap_or(found.has_header)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, columns: usize, options: CsvReadOptions) -> Result<Vec<Vec<String>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.csv");
        std::fs::write(&path, text).unwrap();
        let mut rows = CsvRows::open(path.to_str().unwrap(), columns, options)?;
        let mut read = Vec::new();
        while let Some(batch) = rows.next(2)? {
            for row in 0..batch.rows() {
                let value =
                    |it: &Vector| it.value(row).unwrap().display(it.data_type()).to_string();
                read.push(batch.columns().iter().map(value).collect());
            }
        }
        Ok(read)
    }

    fn plain() -> CsvReadOptions {
        let (delimiter, has_header) = (Some(b','), Some(false));
        CsvReadOptions { delimiter, has_header, ..CsvReadOptions::default() }
    }

    #[test]
    fn fields_are_taken_apart() {
        let rows = read("1,\"a,\"\"b\"\"\nc\"\r\n2,\n\n3,\"\"", 2, plain()).unwrap();
        assert_eq!(rows, [["1", "1", "a,\"b\"\nc"], ["3", "2", "NULL"], ["5", "3", ""]]);
        let options = CsvReadOptions { null: "-".into(), quote: b'\'', escape: b'\\', ..plain() };
        let rows = read("-,'-'\n'it\\'s',x", 2, options).unwrap();
        assert_eq!(rows, [["1", "NULL", "-"], ["2", "it's", "x"]]);
        assert!(read("", 2, plain()).unwrap().is_empty());
        assert_eq!(read("a\n\nb", 1, plain()).unwrap(), [["1", "a"], ["2", "NULL"], ["3", "b"]]);
    }

    #[test]
    fn a_header_is_found() {
        let rows = read("n;s\n1;x\n", 2, CsvReadOptions::default()).unwrap();
        assert_eq!(rows, [["2", "1", "x"]]);
    }

    #[test]
    fn errors_have_a_line() {
        let error = |text: &str| read(text, 2, plain()).unwrap_err().to_string();
        assert!(error("1,2\n3\n").contains("line has 1 field, not 2"));
        assert!(error("1,2\n3\n").contains("line: 2"));
        assert!(error("1,2\n\"3,4\n5").contains("quote that is not closed"));
        assert!(error("1,2\n\"3\"4,5").contains("text behind a closing quote"));
    }
}
