//! CSV files.

use crate::{
    csv_format::{CsvFormat, detect_format},
    input::FileStream,
    reader::{Kind, TextReader},
};
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::{RandomAccessFile, open_file};
use volley_memory::Pool;
use volley_types::Schema;

/// What types are inferred from.
const SAMPLE_BYTES: u64 = 4 << 20;

/// A CSV file whose format is known.
#[derive(Debug)]
pub struct CsvFile {
    file: Arc<dyn RandomAccessFile>,
    format: CsvFormat,
    /// Where the text begins: after a byte order mark.
    start: usize,
}

impl CsvFile {
    /// Opens a file and infers its delimiter, header and types from its beginning. With `schema`,
    /// columns of the same names take their types from there.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the file is empty.
    pub fn open(path: &str, schema: Option<&Schema>) -> Result<CsvFile> {
        let file = open_file(path)?;
        let sample_bytes = file.size_bytes().min(SAMPLE_BYTES);
        let sample = file.read(0..sample_bytes)?;
        let start = if sample.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let text = sample.get(start..).unwrap_or_default();
        let format = detect_format(text, sample_bytes == file.size_bytes());
        let mut format = format.map_err(|it| it.at("file", path))?;
        for field in &mut format.schema.fields {
            let known = schema.and_then(|it| it.fields.get(it.index_of(&field.name)?));
            if let Some(known) = known {
                field.data_type = known.data_type.clone();
            }
        }
        Ok(CsvFile { file, format, start })
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.file.path()
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.format.schema
    }

    /// Reads the columns at `columns`, in batches of at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// Internal, when there is no such column.
    pub fn read(&self, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<TextReader> {
        let field = |index: usize| ArrowField::new(format!("{index}"), DataType::Utf8, true);
        let fields: Vec<ArrowField> = (0..self.format.schema.len()).map(field).collect();
        let decoder = arrow_csv::ReaderBuilder::new(Arc::new(ArrowSchema::new(fields)))
            .with_delimiter(self.format.delimiter)
            .with_header(self.format.has_header)
            .with_batch_size(batch_rows)
            .with_projection(columns.to_vec())
            .build_decoder();
        let fields = columns.iter().map(|it| self.format.schema.fields.get(*it).cloned());
        let fields = fields.collect::<Option<Vec<_>>>();
        let fields = fields.ok_or_else(|| Error::internal("no such column"))?;
        let mut stream = FileStream::new(Arc::clone(&self.file));
        stream.fill()?;
        stream.consume(self.start);
        Ok(TextReader::new(stream, Kind::Csv(Box::new(decoder)), fields, self.path(), pool))
    }
}
