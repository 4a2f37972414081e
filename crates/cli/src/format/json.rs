//! JSON: an array of objects, or an object per line.
//!
//! A repeated column name gets a number.

use super::{Lines, PrintError, Printer, write_text};
use std::{
    collections::HashSet,
    io::{self, Write},
};
use volley::{Batch, PlainJson, Schema};

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

    fn batch(
        &mut self,
        schema: &Schema,
        batch: &Batch,
        out: &mut dyn Write,
    ) -> Result<(), PrintError> {
        let columns = batch.cells(schema)?;
        let mut lines = Lines::new(out);
        for row in 0..batch.rows() {
            lines.text.push_str(if self.array && !self.first { ",\n " } else { "" });
            self.first = false;
            lines.text.push('{');
            for (index, (column, name)) in columns.iter().zip(&self.names).enumerate() {
                lines.text.push_str(if index == 0 { "" } else { "," });
                lines.text.push_str(name);
                lines.text.push(':');
                let out = &mut *lines.out;
                column.push_json(row, &PlainJson, &mut lines.text, &mut |it: &mut String| {
                    write_text(out, it).map_err(PrintError::Output)
                })?;
            }
            lines.push(if self.array { "}" } else { "}\n" })?;
        }
        Ok(lines.write()?)
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
