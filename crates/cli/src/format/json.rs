//! JSON: an array of objects, or an object per line.
//!
//! Numbers are numbers (also decimals, digit by digit), NaN and infinities are null, as JSON has
//! none; everything that JSON does not know is text. A repeated column name gets a number.

use super::{Cells, Printer};
use std::{
    collections::HashSet,
    io::{self, Write},
};
use volley::{Schema, Type, Value, row_field_name};

pub(super) struct JsonPrinter {
    array: bool,
    first: bool,
    /// Column names as JSON text, distinct.
    names: Vec<String>,
}

impl JsonPrinter {
    pub(super) fn new(array: bool) -> JsonPrinter {
        JsonPrinter { array, first: true, names: Vec::new() }
    }
}

impl Printer for JsonPrinter {
    fn begin(&mut self, schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        self.names = distinct_names(schema).iter().map(|it| quoted(it)).collect();
        if self.array { write!(out, "[") } else { Ok(()) }
    }

    fn batch(&mut self, schema: &Schema, batch: &Cells, out: &mut dyn Write) -> io::Result<()> {
        let mut line = String::new();
        for row in 0..batch.rows {
            line.clear();
            if self.array && !self.first {
                line.push_str(",\n ");
            }
            self.first = false;
            line.push('{');
            for (column, data_type) in schema.types().enumerate() {
                if column > 0 {
                    line.push(',');
                }
                line.push_str(&self.names[column]);
                line.push(':');
                push_json(&mut line, &batch.columns[column][row], data_type);
            }
            line.push('}');
            if !self.array {
                line.push('\n');
            }
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, _schema: &Schema, out: &mut dyn Write) -> io::Result<()> {
        if self.array { writeln!(out, "]") } else { Ok(()) }
    }
}

fn distinct_names(schema: &Schema) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut distinct = |name: &str| {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|it| seen.insert(it.clone())).unwrap_or_default()
    };
    schema.fields.iter().map(|it| distinct(&it.name)).collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn push_json(out: &mut String, value: &Value, data_type: &Type) {
    match (value, data_type) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Real(value), _) if !value.is_finite() => out.push_str("null"),
        (Value::Double(value), _) if !value.is_finite() => out.push_str("null"),
        (Value::Boolean(_), _) => out.push_str(&value.display(data_type).to_string()),
        (Value::Decimal(_), _) => {
            // JSON wants a digit before the point.
            let text = value.display(data_type).to_string();
            let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |it| ("-", it));
            out.push_str(sign);
            if digits.starts_with('.') {
                out.push('0');
            }
            out.push_str(digits);
        }
        (_, data_type) if data_type.is_numeric() => {
            out.push_str(&value.display(data_type).to_string());
        }
        (Value::Array(elements), Type::Array(element)) => {
            let push = |out: &mut String, it: &Value| push_json(out, it, element);
            push_all(out, ['[', ']'], elements.iter(), push);
        }
        (Value::Array(elements), Type::FixedArray(array)) => {
            let push = |out: &mut String, it: &Value| push_json(out, it, &array.0);
            push_all(out, ['[', ']'], elements.iter(), push);
        }
        (Value::Row(values), Type::Row(fields)) => {
            let named = fields.iter().enumerate().zip(values.iter());
            push_all(out, ['{', '}'], named, |out, ((index, field), value)| {
                out.push_str(&quoted(&row_field_name(field, index)));
                out.push(':');
                push_json(out, value, &field.data_type);
            });
        }
        (Value::Map(entries), Type::Map(entry)) => {
            push_all(out, ['{', '}'], entries.iter(), |out, (key, value)| {
                out.push_str(&quoted(&key.display(&entry.0).to_string()));
                out.push(':');
                push_json(out, value, &entry.1);
            });
        }
        _ => out.push_str(&quoted(&value.display(data_type).to_string())),
    }
}

fn push_all<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(close);
}
