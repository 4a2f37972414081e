//! Writes CSV: values as text, quotes only if needed.

use std::io::Write;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_types::Schema;
use volley_vector::{Batch, Cells, PIECE_BYTES, pieces};

const OUTPUT: &str = "CSV output";

/// Writes batches as CSV.
pub struct CsvWriter<W: Write + Send> {
    lines: Gathered<W>,
    schema: Schema,
    form: Form,
    /// A value that is no text, before it is known whether it must be quoted.
    value: String,
}

/// Bytes that are searched at once for characters that need quotes.
const SPECIAL_BYTES: usize = 32;

/// How fields look.
struct Form {
    delimiter: char,
    quote: char,
    null: String,
}

/// Text on its way to an output, gathered until it is as long as a piece.
pub(crate) struct Gathered<W: Write> {
    pub(crate) text: String,
    output: W,
    /// For errors.
    name: &'static str,
}

impl<W: Write + Send> CsvWriter<W> {
    /// A writer of columns of `schema`, with `delimiter` between fields.
    pub fn new(output: W, schema: &Schema, delimiter: char) -> CsvWriter<W> {
        let form = Form { delimiter, quote: '"', null: String::new() };
        let lines = Gathered::new(output, OUTPUT);
        CsvWriter { lines, schema: schema.clone(), form, value: String::new() }
    }

    /// The writer with another quote than `"`, and another text for NULL than none.
    pub fn with_texts(mut self, quote: char, null: String) -> CsvWriter<W> {
        self.form = Form { quote, null, ..self.form };
        self
    }

    /// Writes the line of column names.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn write_header(&mut self) -> Result<()> {
        for (index, field) in self.schema.fields.iter().enumerate() {
            if index > 0 {
                self.lines.text.push(self.form.delimiter);
            }
            self.form.push_text(&mut self.lines, &field.name, field.name.is_empty())?;
        }
        self.lines.text.push('\n');
        self.lines.write()
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports; cancelled.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns = batch.cells(&self.schema)?;
        let is_bare = |it: &Cells| self.form.keeps_bare() && it.is_number_or_time();
        let with_bare = |it: Cells| {
            let is_bare = is_bare(&it);
            (it, is_bare)
        };
        let columns: Vec<(Cells, bool)> = columns.into_iter().map(with_bare).collect();
        for row in 0..batch.rows() {
            for (index, (column, is_bare)) in columns.iter().enumerate() {
                if index > 0 {
                    self.lines.text.push(self.form.delimiter);
                }
                match is_bare {
                    true => self.form.push_bare(&mut self.lines, column, row)?,
                    false => self.form.push_cell(&mut self.lines, column, row, &mut self.value)?,
                }
            }
            self.lines.text.push('\n');
            self.lines.write_if_long()?;
        }
        self.lines.write()
    }

    /// Appends lines that another writer of the same columns and form wrote.
    ///
    /// # Errors
    ///
    /// I/O; cancelled.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.lines.append(lines)
    }

    /// Gives the output back.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<W> {
        self.lines.finish()
    }
}

impl CsvWriter<Vec<u8>> {
    /// What was written since the last call.
    pub fn take_written(&mut self) -> Vec<u8> {
        self.lines.take_written()
    }
}

impl Form {
    /// Whether numbers and times never need quotes.
    fn keeps_bare(&self) -> bool {
        let is_written = |it: char| it.is_alphanumeric() || "-+.: ()".contains(it);
        self.null.is_empty() && !is_written(self.delimiter) && !is_written(self.quote)
    }

    /// Appends a number or a time, which needs no quotes.
    fn push_bare<W: Write>(
        &self,
        lines: &mut Gathered<W>,
        column: &Cells,
        row: usize,
    ) -> Result<()> {
        if column.is_null(row) {
            return Ok(());
        }
        let (text, mut write) = lines.parts();
        column.push_text(row, text, &mut write)
    }

    fn push_cell<W: Write>(
        &self,
        lines: &mut Gathered<W>,
        column: &Cells,
        row: usize,
        value: &mut String,
    ) -> Result<()> {
        if column.is_null(row) {
            lines.text.push_str(&self.null);
            return Ok(());
        }
        // Text like that of null is quoted, to differ from it.
        if let Some(text) = column.text(row) {
            return self.push_text(lines, text, *text == *self.null);
        }
        value.clear();
        let mut is_open = false;
        column.push_text(row, value, &mut |value: &mut String| {
            // What is longer than a piece is quoted, needed or not: the rest is not known yet.
            if !is_open {
                lines.text.push(self.quote);
                is_open = true;
            }
            self.push_quoted(lines, value)?;
            value.clear();
            Ok::<(), Error>(())
        })?;
        if !is_open {
            return self.push_text(lines, value, *value == self.null);
        }
        self.push_quoted(lines, value)?;
        lines.text.push(self.quote);
        Ok(())
    }

    /// Appends a field, quoted if it must be or `force`.
    fn push_text<W: Write>(&self, lines: &mut Gathered<W>, text: &str, force: bool) -> Result<()> {
        let is_padded = text.starts_with(' ') || text.ends_with(' ');
        if force || is_padded || self.is_special(text) {
            lines.text.push(self.quote);
            self.push_quoted(lines, text)?;
            lines.text.push(self.quote);
            return Ok(());
        }
        pieces(text).try_for_each(|it| {
            lines.text.push_str(it);
            lines.write_if_long()
        })
    }

    /// Whether a character of the text needs quotes around it.
    fn is_special(&self, text: &str) -> bool {
        let special = [self.delimiter, self.quote, '\n', '\r', '\'', '"'];
        if !special.iter().all(char::is_ascii) {
            return text.contains(special);
        }
        let special = special.map(|it| it as u8);
        // Without a branch for each byte.
        let in_chunk = |bytes: &[u8]| {
            bytes.iter().fold(false, |found, byte| {
                special.iter().fold(found, |found, it| found | (it == byte))
            })
        };
        text.as_bytes().chunks(SPECIAL_BYTES).any(in_chunk)
    }

    /// Appends what stands between quotes.
    fn push_quoted<W: Write>(&self, lines: &mut Gathered<W>, text: &str) -> Result<()> {
        pieces(text).try_for_each(|piece| {
            for (index, part) in piece.split(self.quote).enumerate() {
                if index > 0 {
                    lines.text.extend([self.quote, self.quote]);
                }
                lines.text.push_str(part);
            }
            lines.write_if_long()
        })
    }
}

impl<W: Write> Gathered<W> {
    pub(crate) fn new(output: W, name: &'static str) -> Gathered<W> {
        Gathered { text: String::new(), output, name }
    }

    /// Writes the text if it is long enough.
    pub(crate) fn write_if_long(&mut self) -> Result<()> {
        if self.text.len() < PIECE_BYTES { Ok(()) } else { self.write() }
    }

    /// Writes the text, unless the query is cancelled.
    pub(crate) fn write(&mut self) -> Result<()> {
        let (output, name) = (&mut self.output, self.name);
        write_piece(output, name, &mut self.text)
    }

    /// Writes bytes that are complete lines, after the text.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write()?;
        self.output.write_all(bytes).map_err(|it| Error::io(self.name, it))
    }

    /// What takes text that is as long as a piece.
    pub(crate) fn parts(&mut self) -> (&mut String, impl FnMut(&mut String) -> Result<()>) {
        let (output, name) = (&mut self.output, self.name);
        (&mut self.text, move |it: &mut String| write_piece(output, name, it))
    }

    /// Gives the output back.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.write()?;
        self.output.flush().map_err(|it| Error::io(self.name, it))?;
        Ok(self.output)
    }
}

impl Gathered<Vec<u8>> {
    pub(crate) fn take_written(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}

fn write_piece(output: &mut impl Write, name: &str, text: &mut String) -> Result<()> {
    check_cancelled()?;
    let result = output.write_all(text.as_bytes());
    text.clear();
    // A single large value does not keep its memory.
    text.shrink_to(4 * PIECE_BYTES);
    result.map_err(|it| Error::io(name, it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;
    use volley_memory::{CancellationToken, with_cancellation};
    use volley_types::{Field, Type, Value};
    use volley_vector::Vector;

    /// Notes the longest write.
    #[derive(Default)]
    struct Output {
        bytes: Vec<u8>,
        longest: usize,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.bytes.extend_from_slice(bytes);
            self.longest = self.longest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(columns: Vec<Vector>, rows: usize, null: &str) -> Output {
        let fields = columns.iter().enumerate();
        let fields =
            fields.map(|(index, it)| Field::new(format!("c{index}"), it.data_type().clone()));
        let schema: Schema = fields.collect();
        let mut writer =
            CsvWriter::new(Output::default(), &schema, ',').with_texts('"', null.into());
        writer.write(&Batch::new(columns, rows)).unwrap();
        writer.finish().unwrap()
    }

    #[track_caller]
    fn check(data_type: Type, value: Value, null: &str, expected: &str) {
        let column = Vector::from_values(data_type, &[Value::Null, value]);
        let output = written(vec![column], 2, null);
        assert_eq!(String::from_utf8(output.bytes).unwrap(), format!("{null}\n{expected}\n"));
    }

    #[test]
    fn fields_are_quoted_where_needed() {
        check(Type::Varchar, Value::text("plain"), "", "plain");
        check(Type::Varchar, Value::text(""), "", "\"\"");
        check(Type::Varchar, Value::text("a\"b"), "", "\"a\"\"b\"");
        check(Type::Varchar, Value::text(" a"), "", "\" a\"");
        check(Type::Varchar, Value::text("nil"), "nil", "\"nil\"");
        check(Type::BigInt, Value::BigInt(7), "7", "\"7\"");
        let list = |it: &[i64]| Value::Array(it.iter().map(|it| Value::BigInt(*it)).collect());
        check(Type::array(Type::BigInt), list(&[1]), "", "[1]");
        check(Type::array(Type::BigInt), list(&[1, 2]), "", "\"[1, 2]\"");
    }

    #[test]
    fn numbers_and_times_are_written_as_with_quotes_where_needed() {
        let values = [
            (Type::BigInt, Value::BigInt(i64::MIN)),
            (Type::Integer, Value::Integer(-7)),
            (Type::SmallInt, Value::SmallInt(3)),
            (Type::HugeInt, Value::HugeInt(i128::MAX)),
            (Type::Double, Value::Double(f64::NAN)),
            (Type::Double, Value::Double(-0.0)),
            (Type::Double, Value::Double(1e300)),
            (Type::Decimal { precision: 12, scale: 2 }, Value::Decimal(-5)),
            (Type::Decimal { precision: 30, scale: 2 }, Value::Decimal(12_345)),
            (Type::Date, Value::Date(-800_000)),
            (Type::Timestamp, Value::Timestamp(1_500_000)),
            (Type::Boolean, Value::Boolean(true)),
        ];
        for (data_type, value) in values {
            let flat = Vector::from_values(data_type.clone(), &[value.clone(), Value::Null]);
            let constant = Vector::constant(data_type.clone(), &value, 2);
            for column in [flat, constant] {
                let bare = written(vec![column.clone()], 2, "").bytes;
                // A text for NULL makes the writer look at each value.
                let checked = written(vec![column], 2, "none").bytes;
                let checked = String::from_utf8(checked).unwrap().replace("none", "");
                assert_eq!(String::from_utf8(bare).unwrap(), checked, "{data_type}");
            }
        }
        let form = |delimiter, quote, null: &str| Form { delimiter, quote, null: null.into() };
        assert!(form(',', '"', "").keeps_bare() && form('\t', '\'', "").keeps_bare());
        assert!(!form(',', '"', "7").keeps_bare() && !form('-', '"', "").keeps_bare());
        assert!(!form('1', '"', "").keeps_bare() && !form(';', 'e', "").keeps_bare());
    }

    #[test]
    fn special_characters_are_found_anywhere() {
        for delimiter in [',', 'é'] {
            let form = Form { delimiter, quote: '"', null: String::new() };
            for length in [0, 1, 31, 32, 33, 100] {
                let plain = "x".repeat(length);
                assert!(!form.is_special(&plain));
                for special in [delimiter, '"', '\'', '\n', '\r'] {
                    assert!(form.is_special(&format!("{plain}{special}{plain}")), "{special:?}");
                }
            }
        }
    }

    #[test]
    fn large_fields_are_written_in_pieces() {
        let text = "x\"".repeat(200_000);
        let numbers: Vec<Value> = (0..100_000).map(Value::BigInt).collect();
        let numbers = Value::Array(numbers.into());
        let columns = vec![
            Vector::constant(Type::Varchar, &Value::text(&text), 3),
            Vector::constant(Type::array(Type::BigInt), &numbers, 3),
            Vector::constant(Type::Varchar, &Value::text("y".repeat(300_000)), 3),
        ];
        let output = written(columns, 3, "");
        assert!(output.longest < 5 * PIECE_BYTES, "{}", output.longest);
        let array = numbers.display(&Type::array(Type::BigInt)).to_string();
        let quoted = text.replace('"', "\"\"");
        let line = format!("\"{quoted}\",\"{array}\",{}\n", "y".repeat(300_000));
        assert!(output.bytes == line.repeat(3).as_bytes());
    }

    #[test]
    fn nobody_waits_for_what_is_not_wanted() {
        let schema = Schema::new(vec![Field::new("c", Type::BigInt)]);
        let mut writer = CsvWriter::new(Vec::new(), &schema, ',');
        let batch = Batch::new(vec![Vector::constant(Type::BigInt, &Value::BigInt(1), 9)], 9);
        let result =
            with_cancellation(&CancellationToken::after_checks(0), || writer.write(&batch));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
