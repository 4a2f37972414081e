//! Reads batches from text.

use crate::{
    columns::{TextField, Texts, parse_column, parses},
    csv_decode::{CsvDecoder, TextRows},
    csv_options::CsvReadOptions,
    feed::Feed,
    text_type::TextFormats,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation};
use volley_vector::{Batch, Rows, arrow::from_arrow};

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
    feed: Feed,
    kind: Kind,
    /// The columns that are read.
    fields: Vec<TextField>,
    path: String,
    reservation: Reservation,
    /// Bytes of text of rows that were not put out.
    held_bytes: usize,
    bytes_read: u64,
}

pub(crate) enum Kind {
    Csv(Box<CsvDecoder>, Arc<CsvReadOptions>),
    Json(Box<arrow_json::reader::Decoder>),
}

impl TextReader {
    pub(crate) fn new(
        feed: Feed,
        kind: Kind,
        fields: Vec<TextField>,
        path: &str,
        pool: &Pool,
    ) -> TextReader {
        let reservation = pool.reservation();
        let (path, held_bytes, bytes_read) = (path.to_owned(), 0, 0);
        TextReader { feed, kind, fields, path, reservation, held_bytes, bytes_read }
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
        self.bytes_read = self.feed.position();
        self.bytes_read - before
    }

    fn read(&mut self) -> Result<TextStep> {
        if let (Some(line), Kind::Csv(decoder, _)) = (self.feed.advance()?, &mut self.kind) {
            decoder.pass_to_line(line);
        }
        let bytes = self.feed.bytes();
        let offered = bytes.len();
        if self.held_bytes > BATCH_BYTES_MAX {
            return Err(Error::new(ErrorKind::OutOfMemory, "lines of a batch are too long")
                .hint("read fewer lines at once, such as with SET batch_rows = 64"));
        }
        let held = self.held_bytes.saturating_add(self.feed.held_bytes());
        let most = held.saturating_mul(DECODER_BYTES_PER_BYTE);
        self.reservation.resize(most)?;
        let (decoded, is_full) = match &mut self.kind {
            Kind::Csv(decoder, _) if offered == 0 => {
                decoder.finish()?;
                (0, true)
            }
            Kind::Csv(decoder, _) => {
                let decoded = decoder.decode(bytes)?;
                (decoded, decoder.is_full())
            }
            // At the end the decoder is told by an empty slice.
            Kind::Json(decoder) => {
                let decoded = decoder.decode(bytes).map_err(from_arrow_error)?;
                (decoded, decoded < offered)
            }
        };
        self.feed.consume(decoded);
        self.held_bytes += decoded;
        if offered > 0 && !is_full {
            return Ok(TextStep::Progress);
        }
        self.held_bytes = 0;
        let batch = match &mut self.kind {
            Kind::Csv(decoder, options) => {
                let Some(rows) = decoder.flush() else { return Ok(TextStep::End) };
                let batch = csv_batch(&rows, &self.fields, options)?;
                self.reservation.resize(batch.retained_bytes())?;
                batch
            }
            Kind::Json(decoder) => {
                let records = decoder.flush().map_err(from_arrow_error)?;
                let Some(records) = records else { return Ok(TextStep::End) };
                self.reservation.resize(records.get_array_memory_size())?;
                json_batch(&records, &self.fields)?
            }
        };
        Ok(if batch.rows() == 0 { TextStep::Progress } else { TextStep::Batch(batch) })
    }
}

/// The lines as columns of their types; without those that do not fit, if they are ignored.
fn csv_batch(rows: &TextRows, fields: &[TextField], options: &CsvReadOptions) -> Result<Batch> {
    let count = rows.lines.len();
    let (mut columns, mut dropped) = (Vec::with_capacity(fields.len()), Vec::new());
    for (column, field) in rows.columns.iter().zip(fields) {
        let texts = Texts::new(&column.text, &column.offsets, column.nulls())?;
        let (vector, misfits) = parse_column(texts, field, &options.formats)?;
        for misfit in misfits {
            if !options.ignore_errors {
                let line = rows.lines.get(misfit.row).copied().unwrap_or_default();
                return Err(misfit.error.at("line", line).at("column", &field.name));
            }
            dropped.push(misfit.row);
        }
        columns.push(vector);
    }
    let batch = Batch::new(columns, count);
    if dropped.is_empty() {
        return Ok(batch);
    }
    dropped.sort_unstable();
    let kept = (0..count).filter(|it| dropped.binary_search(it).is_err());
    Ok(batch.select(&Rows::from_indices(count, kept)))
}

/// What the decoder of JSON made, texts as values of their types.
fn json_batch(records: &RecordBatch, fields: &[TextField]) -> Result<Batch> {
    let column = |(array, field): (&ArrayRef, &TextField)| {
        let texts = array.as_any().downcast_ref::<StringArray>();
        let Some(texts) = texts.filter(|_| parses(&field.data_type)) else {
            return from_arrow(array);
        };
        let formats = TextFormats::default();
        let (vector, misfits) = parse_column(Texts::of_array(texts)?, field, &formats)?;
        match misfits.into_iter().next() {
            Some(misfit) => Err(misfit.error),
            None => Ok(vector),
        }
    };
    let columns = records.columns().iter().zip(fields);
    let columns = columns.map(|it| column(it).map_err(|error| error.at("column", &it.1.name)));
    Ok(Batch::new(columns.collect::<Result<Vec<_>>>()?, records.num_rows()))
}

/// What the decoders found wrong.
pub(crate) fn from_arrow_error(error: ArrowError) -> Error {
    match error {
        ArrowError::JsonError(message)
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
        let file = CsvFile::open(path.to_str().unwrap(), &CsvReadOptions::default()).unwrap();
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
            let file = CsvFile::open(path.to_str().unwrap(), &CsvReadOptions::default()).unwrap();
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
