//! Reads batches from text.

use crate::{columns::parse_column, input::FileStream, text_type::TextType};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation};
use volley_types::Field;
use volley_vector::{Batch, Vector, arrow::from_arrow};

/// How much memory the decoders take for each byte of text that they hold.
const DECODER_BYTES_PER_BYTE: usize = 2;

/// Text that a batch holds at most: offsets of the decoders' columns have 31 bits.
const BATCH_BYTES_MAX: usize = 1 << 30;

/// What a text reader did.
#[derive(Debug)]
pub enum TextStep {
    /// At least one row.
    Batch(Batch),
    /// Read some text; a batch takes more.
    Progress,
    /// There is no further row.
    End,
}

/// Reads the rows of a text file, forward.
pub struct TextReader {
    stream: FileStream,
    kind: Kind,
    /// The columns that are read.
    fields: Vec<Field>,
    path: String,
    reservation: Reservation,
    /// Bytes of text of rows that were not put out.
    held_bytes: usize,
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
        let (path, held_bytes, bytes_read) = (path.to_owned(), 0, 0);
        TextReader { stream, kind, fields, path, reservation, held_bytes, bytes_read }
    }

    /// Reads on, about a megabyte of text at most.
    ///
    /// # Errors
    ///
    /// I/O; corruption: text that is not of its column's type, lines of a wrong number of fields;
    /// out of memory.
    pub fn step(&mut self) -> Result<TextStep> {
        self.read().map_err(|it| it.at("file", &self.path))
    }

    /// Bytes read since the last call.
    pub fn take_bytes_read(&mut self) -> u64 {
        let before = self.bytes_read;
        self.bytes_read = self.stream.position();
        self.bytes_read - before
    }

    fn read(&mut self) -> Result<TextStep> {
        let bytes = self.stream.fill()?;
        let offered = bytes.len();
        if self.held_bytes > BATCH_BYTES_MAX {
            return Err(Error::new(ErrorKind::OutOfMemory, "lines of a batch are too long")
                .hint("read fewer lines at once, such as with SET batch_rows = 64"));
        }
        let most = self.held_bytes.saturating_add(offered).saturating_mul(DECODER_BYTES_PER_BYTE);
        self.reservation.resize(most)?;
        // At the end the decoder is told by an empty slice.
        let decoded = self.kind.decode(bytes).map_err(from_arrow_error)?;
        let is_full = self.kind.is_full(decoded, offered);
        self.stream.consume(decoded);
        self.held_bytes += decoded;
        if offered > 0 && !is_full {
            return Ok(TextStep::Progress);
        }
        self.held_bytes = 0;
        let Some(records) = self.kind.flush().map_err(from_arrow_error)? else {
            return Ok(TextStep::End);
        };
        self.reservation.resize(records.get_array_memory_size())?;
        let rows = records.num_rows();
        let columns = records.columns().iter().zip(&self.fields);
        let columns = columns.map(|(array, field)| {
            self.column(array, field).map_err(|it| it.at("column", &field.name))
        });
        Ok(TextStep::Batch(Batch::new(columns.collect::<Result<Vec<_>>>()?, rows)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CsvFile;

    #[test]
    fn text_is_charged_before_its_rows_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.csv");
        // The quote on the second line is never closed.
        let text = format!("a,b\n1,\"{}", "x".repeat(8 << 20));
        std::fs::write(&path, text).unwrap();
        let file = CsvFile::open(path.to_str().unwrap(), None).unwrap();
        let columns: Vec<usize> = (0..file.schema().len()).collect();
        let pool = Pool::root("query", Some(4 << 20));
        let mut reader = file.read(&columns, 1024, &pool).unwrap();
        let mut steps = 0;
        let error = loop {
            match reader.step() {
                Ok(TextStep::Progress) => steps += 1,
                Ok(other) => panic!("{other:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert!(steps > 0);
        drop(reader);
        assert_eq!(pool.stats().bytes, 0);
    }

    #[test]
    fn a_character_split_between_fields_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("split.csv");
        for bytes in [&b"a,b\n\xe6,\x97\xa5\n"[..], b"a,b\nx,\xe6\n\x97\xa5,y\n"] {
            std::fs::write(&path, bytes).unwrap();
            let file = CsvFile::open(path.to_str().unwrap(), None).unwrap();
            for columns in [&[0, 1][..], &[0], &[1]] {
                let pool = Pool::root("query", None);
                let mut reader = file.read(columns, 1024, &pool).unwrap();
                let error = loop {
                    match reader.step() {
                        Ok(TextStep::Progress) => {}
                        Ok(other) => panic!("{other:?}"),
                        Err(error) => break error,
                    }
                };
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            }
        }
    }
}
