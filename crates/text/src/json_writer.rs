//! Writes one JSON object per line.

use std::{fmt::Write as _, io::Write};
use volley_error::{Error, Result};
use volley_types::{Schema, Type, Value, row_field_name};
use volley_vector::Batch;

/// Writes batches as JSON lines.
pub struct JsonWriter<W: Write + Send> {
    output: W,
    schema: Schema,
    line: String,
}

impl<W: Write + Send> JsonWriter<W> {
    /// A writer of columns of `schema`.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn new(output: W, schema: &Schema) -> Result<JsonWriter<W>> {
        Ok(JsonWriter { output, schema: schema.clone(), line: String::new() })
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
            self.line.push('{');
            for (index, (column, field)) in columns.iter().zip(&self.schema.fields).enumerate() {
                if index > 0 {
                    self.line.push(',');
                }
                push_text(&mut self.line, &field.name);
                self.line.push(':');
                let value = column.get(row).unwrap_or(&Value::Null);
                push_value(&mut self.line, value, &field.data_type);
            }
            self.line.push_str("}\n");
            let result = self.output.write_all(self.line.as_bytes());
            self.line.clear();
            result.map_err(|it| Error::io("JSON output", it))?;
        }
        Ok(())
    }

    /// Gives the output back.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(mut self) -> Result<W> {
        self.output.flush().map_err(|it| Error::io("JSON output", it))?;
        Ok(self.output)
    }
}

/// Appends a value. JSON has no NaN and no infinity: they become null.
fn push_value(line: &mut String, value: &Value, data_type: &Type) {
    match (value, data_type) {
        (Value::Null, _) => line.push_str("null"),
        (Value::Real(value), _) if !value.is_finite() => line.push_str("null"),
        (Value::Double(value), _) if !value.is_finite() => line.push_str("null"),
        (Value::Varchar(text), _) => push_text(line, text),
        (Value::Array(elements), Type::Array(element)) => {
            push_list(line, ['[', ']'], elements.iter(), |line, it| push_value(line, it, element));
        }
        (Value::Array(elements), Type::FixedArray(array)) => {
            push_list(line, ['[', ']'], elements.iter(), |line, it| push_value(line, it, &array.0));
        }
        (Value::Row(values), Type::Row(fields)) => {
            let named = fields.iter().enumerate().zip(values.iter());
            push_list(line, ['{', '}'], named, |line, ((index, field), it)| {
                push_text(line, &row_field_name(field, index));
                line.push(':');
                push_value(line, it, &field.data_type);
            });
        }
        (Value::Map(entries), Type::Map(types)) => {
            push_list(line, ['{', '}'], entries.iter(), |line, (key, value)| {
                push_text(line, &key.display(&types.0).to_string());
                line.push(':');
                push_value(line, value, &types.1);
            });
        }
        (value, data_type) => {
            let text = value.display(data_type).to_string();
            if data_type.is_numeric() || *data_type == Type::Boolean {
                line.push_str(&text);
            } else {
                push_text(line, &text);
            }
        }
    }
}

fn push_list<T>(
    line: &mut String,
    brackets: [char; 2],
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    line.push(brackets[0]);
    for (index, item) in items.enumerate() {
        if index > 0 {
            line.push(',');
        }
        push(line, item);
    }
    line.push(brackets[1]);
}

/// Appends a string in quotes.
fn push_text(line: &mut String, text: &str) {
    line.push('"');
    for character in text.chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            control if u32::from(control) < 32 => {
                let _ = write!(line, "\\u{:04x}", u32::from(control));
            }
            other => line.push(other),
        }
    }
    line.push('"');
}
