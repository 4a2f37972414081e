//! Reads batches from text.

use crate::{columns::parse_column, input::FileStream, text_type::TextType};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use volley_types::Field;
use volley_vector::{Batch, Vector, arrow::from_arrow};

/// Reads the rows of a text file, forward.
pub struct TextReader {
    stream: FileStream,
    kind: Kind,
    /// The columns that are read.
    fields: Vec<Field>,
    path: String,
    reservation: Reservation,
    bytes_read: u64,
}

pub(crate) enum Kind {
    Csv(Box<arrow_csv::reader::Decoder>),
    Json(Box<arrow_json::reader::Decoder>),
}

impl Kind {
    fn decode(&mut self, bytes: &[u8]) -> Result<usize, ArrowError> {
        match self {
            Kind::Csv(decoder) => decoder.decode(bytes),
            Kind::Json(decoder) => decoder.decode(bytes),
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Kind::Csv(decoder) => decoder.flush(),
            Kind::Json(decoder) => decoder.flush(),
        }
    }

    /// Whether the batch is complete before the file's end.
    fn is_full(&self, decoded: usize, offered: usize) -> bool {
        match self {
            Kind::Csv(decoder) => decoder.capacity() == 0,
            Kind::Json(_) => decoded < offered,
        }
    }
}

impl TextReader {
    pub(crate) fn new(
        stream: FileStream,
        kind: Kind,
        fields: Vec<Field>,
        path: &str,
        pool: &Pool,
    ) -> TextReader {
        let reservation = pool.reservation();
        TextReader { stream, kind, fields, path: path.to_owned(), reservation, bytes_read: 0 }
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    ///
    /// I/O; corruption: text that is not of its column's type, lines of a wrong number of fields;
    /// out of memory.
    pub fn next(&mut self) -> Result<Option<Batch>> {
        self.read().map_err(|it| it.at("file", &self.path))
    }

    /// Bytes read since the last call.
    pub fn take_bytes_read(&mut self) -> u64 {
        let before = self.bytes_read;
        self.bytes_read = self.stream.position();
        self.bytes_read - before
    }

    fn read(&mut self) -> Result<Option<Batch>> {
        loop {
            let bytes = self.stream.fill()?;
            let offered = bytes.len();
            // At the end the decoder is told by an empty slice.
            let decoded = self.kind.decode(bytes).map_err(from_arrow_error)?;
            let is_full = self.kind.is_full(decoded, offered);
            self.stream.consume(decoded);
            if offered == 0 || is_full {
                break;
            }
        }
        let Some(records) = self.kind.flush().map_err(from_arrow_error)? else {
            return Ok(None);
        };
        self.reservation.resize(records.get_array_memory_size())?;
        let rows = records.num_rows();
        let columns = records.columns().iter().zip(&self.fields);
        let columns = columns.map(|(array, field)| {
            self.column(array, field).map_err(|it| it.at("column", &field.name))
        });
        Ok(Some(Batch::new(columns.collect::<Result<Vec<_>>>()?, rows)))
    }

    fn column(&self, array: &dyn Array, field: &Field) -> Result<Vector> {
        let empty_is_null = matches!(self.kind, Kind::Csv(_));
        match array.as_any().downcast_ref::<StringArray>() {
            Some(texts) if TextType::of(&field.data_type).is_some() => {
                parse_column(texts, &field.data_type, empty_is_null)
            }
            _ => from_arrow(array),
        }
    }
}

/// What the decoders found wrong.
pub(crate) fn from_arrow_error(error: ArrowError) -> Error {
    match error {
        ArrowError::CsvError(message)
        | ArrowError::JsonError(message)
        | ArrowError::ParseError(message)
        | ArrowError::SchemaError(message)
        | ArrowError::InvalidArgumentError(message) => {
            Error::corruption(format!("invalid text: {message}"))
        }
        other => Error::corruption("invalid text").caused_by(other),
    }
}
