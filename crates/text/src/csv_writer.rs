//! Writes CSV: values as people read them, quotes where needed.

use std::io::Write;
use volley_error::{Error, Result};
use volley_types::{Schema, Value};
use volley_vector::Batch;

/// Writes batches as CSV.
pub struct CsvWriter<W: Write + Send> {
    output: W,
    schema: Schema,
    delimiter: char,
    quote: char,
    null: String,
    line: String,
}

impl<W: Write + Send> CsvWriter<W> {
    /// A writer of columns of `schema`, with `delimiter` between fields.
    pub fn new(output: W, schema: &Schema, delimiter: char) -> CsvWriter<W> {
        let (schema, quote, null, line) = (schema.clone(), '"', String::new(), String::new());
        CsvWriter { output, schema, delimiter, quote, null, line }
    }

    /// The writer with another quote than `"`, and another text for NULL than none.
    pub fn with_texts(self, quote: char, null: String) -> CsvWriter<W> {
        CsvWriter { quote, null, ..self }
    }

    /// Writes the line of column names.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn write_header(&mut self) -> Result<()> {
        for (index, field) in self.schema.fields.iter().enumerate() {
            if index > 0 {
                self.line.push(self.delimiter);
            }
            let force = field.name.is_empty();
            push_field(&mut self.line, &field.name, (self.delimiter, self.quote), force);
        }
        self.line.push('\n');
        self.flush_line()
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns = batch.columns().iter().map(|it| it.to_values());
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.rows() {
            for (index, (column, field)) in columns.iter().zip(&self.schema.fields).enumerate() {
                if index > 0 {
                    self.line.push(self.delimiter);
                }
                match column.get(row) {
                    None | Some(Value::Null) => self.line.push_str(&self.null),
                    // Text like that of null is quoted, to differ from it.
                    Some(Value::Varchar(text)) => {
                        let force = **text == *self.null;
                        push_field(&mut self.line, text, (self.delimiter, self.quote), force);
                    }
                    Some(value) => {
                        let text = value.display(&field.data_type).to_string();
                        let force = text == self.null;
                        push_field(&mut self.line, &text, (self.delimiter, self.quote), force);
                    }
                }
            }
            self.line.push('\n');
            self.flush_line()?;
        }
        Ok(())
    }

    /// Gives the output back.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(mut self) -> Result<W> {
        self.output.flush().map_err(|it| Error::io("CSV output", it))?;
        Ok(self.output)
    }

    fn flush_line(&mut self) -> Result<()> {
        let result = self.output.write_all(self.line.as_bytes());
        self.line.clear();
        result.map_err(|it| Error::io("CSV output", it))
    }
}

/// Appends a field, quoted if it must be or `force`.
fn push_field(line: &mut String, text: &str, (delimiter, quote): (char, char), force: bool) {
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if !force && !padded && !text.contains([delimiter, quote, '\n', '\r', '\'', '"']) {
        line.push_str(text);
        return;
    }
    line.push(quote);
    for (index, part) in text.split(quote).enumerate() {
        if index > 0 {
            line.extend([quote, quote]);
        }
        line.push_str(part);
    }
    line.push(quote);
}
