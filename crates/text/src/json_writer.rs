//! Writes one JSON object per line.

use crate::csv_writer::Gathered;
use std::io::Write;
use volley_error::Result;
use volley_types::Schema;
use volley_vector::{Batch, Cells, PlainJson, push_json_string};

/// Writes batches as JSON lines.
pub struct JsonWriter<W: Write + Send> {
    lines: Gathered<W>,
    schema: Schema,
    /// What stands before each value: a comma, except for the first one, the column's name and a
    /// colon.
    names: Vec<String>,
}

impl<W: Write + Send> JsonWriter<W> {
    /// A writer of columns of `schema`.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn new(output: W, schema: &Schema) -> Result<JsonWriter<W>> {
        let names = schema.fields.iter().enumerate().map(|(index, field)| {
            let mut name = String::from(if index == 0 { "" } else { "," });
            push_json_string(&mut name, &field.name);
            name.push(':');
            name
        });
        let (lines, names) = (Gathered::new(output, "JSON output"), names.collect());
        Ok(JsonWriter { lines, schema: schema.clone(), names })
    }

    /// Appends the rows of a batch. JSON has no NaN and no infinity: they become null.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports; cancelled.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let columns = batch.cells(&self.schema)?;
        for row in 0..batch.rows() {
            self.write_row(&columns, row)?;
            self.lines.write_if_long()?;
        }
        self.lines.write()
    }

    fn write_row(&mut self, columns: &[Cells], row: usize) -> Result<()> {
        let (json, mut full) = self.lines.parts();
        json.push('{');
        for (column, name) in columns.iter().zip(&self.names) {
            json.push_str(name);
            column.push_json(row, &PlainJson, json, &mut full)?;
        }
        json.push_str("}\n");
        Ok(())
    }

    /// Appends lines that another writer of the same columns wrote.
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

impl JsonWriter<Vec<u8>> {
    /// What was written since the last call.
    pub fn take_written(&mut self) -> Vec<u8> {
        self.lines.take_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Field, Type, Value};
    use volley_vector::Vector;

    #[test]
    fn rows_are_objects() {
        let fields = [("a \"b\"", Type::BigInt), ("s", Type::Varchar)];
        let fields = fields.map(|(name, data_type)| Field::new(name, data_type));
        let schema = Schema::new(fields.to_vec());
        let mut writer = JsonWriter::new(Vec::new(), &schema).unwrap();
        let numbers = Vector::from_values(Type::BigInt, &[Value::BigInt(1), Value::Null]);
        let texts = Vector::constant(Type::Varchar, &Value::text("x\ny"), 2);
        writer.write(&Batch::new(vec![numbers, texts], 2)).unwrap();
        let expected =
            "{\"a \\\"b\\\"\":1,\"s\":\"x\\ny\"}\n{\"a \\\"b\\\"\":null,\"s\":\"x\\ny\"}\n";
        assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn large_values_are_whole() {
        let text = "\"x".repeat(200_000);
        let schema = Schema::new(vec![Field::new("s", Type::Varchar)]);
        let mut writer = JsonWriter::new(Vec::new(), &schema).unwrap();
        let texts = Vector::constant(Type::Varchar, &Value::text(&text), 2);
        writer.write(&Batch::new(vec![texts], 2)).unwrap();
        let line = format!("{{\"s\":\"{}\"}}\n", text.replace('"', "\\\""));
        assert!(writer.finish().unwrap() == line.repeat(2).as_bytes());
    }
}
