//! Files of one JSON object per line.

use crate::{
    input::FileStream,
    json_shape::Shape,
    reader::{Kind, TextReader, from_arrow_error},
};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use std::{io::BufReader, sync::Arc};
use volley_error::{Error, Result};
use volley_io::{RandomAccessFile, open_file};
use volley_memory::Pool;
use volley_types::{Field, Schema};
use volley_vector::arrow::type_from_arrow;

/// Lines that types are inferred from.
const SAMPLE_ROWS: usize = 20_480;

/// A JSON lines file whose columns are known.
#[derive(Debug)]
pub struct JsonFile {
    file: Arc<dyn RandomAccessFile>,
    /// What the decoder reads: texts where the schema may say dates.
    stored: ArrowSchema,
    schema: Schema,
}

impl JsonFile {
    /// Opens files and infers their common columns from the beginning of each. A file that lacks a
    /// column has nulls there.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when there is no JSON object; unsupported: a field that is a list or an
    /// object in some lines and something else in others.
    pub fn open_all(paths: &[String]) -> Result<Vec<JsonFile>> {
        let mut files = Vec::with_capacity(paths.len());
        let mut shape = Shape::Unknown;
        for path in paths {
            let file = open_file(path)?;
            let here = infer_shape(&file);
            let merged = here.and_then(|it| shape.merge(it));
            shape = merged.map_err(|it| it.at("file", path))?;
            files.push(file);
        }
        let Shape::Object(columns) = shape else {
            let path = paths.first().map(String::as_str).unwrap_or_default();
            return Err(Error::corruption("JSON file without objects").at("file", path));
        };
        let (mut stored, mut fields) = (Vec::new(), Vec::new());
        for (name, shape) in columns {
            let read_as = shape.data_type();
            let data_type = match shape {
                Shape::Text(text) => text.data_type(),
                _ => type_from_arrow(&read_as)?,
            };
            fields.push(Field::new(&name, data_type));
            stored.push(ArrowField::new(name, read_as, true));
        }
        let (stored, schema) = (ArrowSchema::new(stored), Schema::new(fields));
        let file = |file| JsonFile { file, stored: stored.clone(), schema: schema.clone() };
        Ok(files.into_iter().map(file).collect())
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.file.path()
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Reads the columns at `columns`, in batches of at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// Internal, when there is no such column.
    pub fn read(&self, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<TextReader> {
        let decoder = self.decoder(columns, batch_rows)?;
        let fields = columns.iter().map(|it| self.schema.fields.get(*it).cloned());
        let fields = fields.collect::<Option<Vec<_>>>();
        let fields = fields.ok_or_else(|| Error::internal("no such column"))?;
        let stream = FileStream::new(Arc::clone(&self.file));
        Ok(TextReader::new(stream, Kind::Json(Box::new(decoder)), fields, self.path(), pool))
    }

    fn decoder(&self, columns: &[usize], rows: usize) -> Result<arrow_json::reader::Decoder> {
        let schema = self.stored.project(columns).map_err(from_arrow_error)?;
        arrow_json::ReaderBuilder::new(Arc::new(schema))
            .with_batch_size(rows)
            .with_coerce_primitive(true)
            .build_decoder()
            .map_err(from_arrow_error)
    }
}

/// What the first lines have in common.
fn infer_shape(file: &Arc<dyn RandomAccessFile>) -> Result<Shape> {
    let stream = BufReader::new(FileStream::new(Arc::clone(file)));
    let lines = serde_json::Deserializer::from_reader(stream).into_iter::<Shape>();
    let mut shape = Shape::Unknown;
    for line in lines.take(SAMPLE_ROWS) {
        let line = line.map_err(|it| {
            let message = format!("invalid JSON in line {}: {it}", it.line());
            Error::corruption(message)
        })?;
        if !matches!(line, Shape::Object(_)) {
            return Err(Error::corruption("JSON line that is no object"));
        }
        shape = shape.merge(line)?;
    }
    Ok(shape)
}
