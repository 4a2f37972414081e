//! Reads batches from text.

use crate::{
    columns::{TextField, Texts, parse_column, parses},
    csv_decode::{CsvDecoder, Rejected, TextRows},
    csv_options::CsvReadOptions,
    feed::Feed,
    json_count::ObjectCounter,
    rejects::{RejectKind, RejectedLine},
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation};
use volley_vector::{Batch, Rows, arrow::from_arrow};

/// How much memory the decoders take for each byte of text that they hold.
pub(crate) const DECODER_BYTES_PER_BYTE: usize = 2;

/// What they take for each value: of CSV, where it ends and whether it is null; of JSON, an element
/// of the tape and where its text ends, in vectors that grow by doubling.
pub(crate) const CSV_BYTES_PER_VALUE: usize = 16;
const JSON_BYTES_PER_VALUE: usize = 40;

/// Bytes of text after which a batch ends with fewer rows: the size of a read, and about half of it
/// for JSON, whose values take more memory.
const CSV_BATCH_BYTES: usize = 1 << 20;
const JSON_BATCH_BYTES: usize = 512 << 10;

/// JSON that is decoded at once: its values are counted before, and what is left of it when a batch
/// is full is counted again.
const JSON_PIECE_BYTES: usize = 128 << 10;

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
    /// Maximum bytes of text, and of JSON values, of rows that were not returned.
    held_bytes: usize,
    held_values: usize,
    bytes_read: u64,
    /// What is known of the rows of the last batch, if lines that do not fit are collected.
    last: LastRows,
}

/// The lines of the rows of a batch.
#[derive(Default)]
struct LastRows {
    lines: Vec<i64>,
    texts: Vec<String>,
    /// The place of each column in the file.
    places: Vec<usize>,
}

pub(crate) enum Kind {
    Csv(Box<CsvDecoder>, Arc<CsvReadOptions>),
    Json(Box<arrow_json::reader::Decoder>),
    /// JSON without columns.
    JsonCount(ObjectCounter),
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
        let (path, bytes_read) = (path.to_owned(), 0);
        let (held_bytes, held_values) = (0, 0);
        let last = LastRows::default();
        TextReader {
            feed,
            kind,
            fields,
            path,
            reservation,
            held_bytes,
            held_values,
            bytes_read,
            last,
        }
    }

    /// Collects a row of the last batch whose value of a column that was read does not fit its
    /// type, if such lines are collected.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn reject(&self, row: usize, column: usize, name: &str, message: String) -> Result<()> {
        let Kind::Csv(_, options) = &self.kind else { return Ok(()) };
        let Some(rejects) = &options.rejects else { return Ok(()) };
        let line = self.last.lines.get(row).copied().unwrap_or_default();
        rejects.add(RejectedLine {
            file: self.path.clone(),
            line: u64::try_from(line).unwrap_or_default(),
            column: Some((self.last.places.get(column).map_or(0, |it| it + 1), name.to_owned())),
            kind: RejectKind::Cast,
            text: self.last.texts.get(row).cloned().unwrap_or_default(),
            message,
        })
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

    /// The number of the chunk that the rows of the last step come from, of a file that several
    /// readers share.
    pub fn chunk(&self) -> u32 {
        self.feed.chunk()
    }

    /// How much of the file is read, from 0 to 1, by all readers that share it.
    pub fn file_share(&self) -> f64 {
        self.feed.file_share()
    }

    fn read(&mut self) -> Result<TextStep> {
        if self.feed.ends_chunk()
            && let Some(batch) = self.end_chunk()?
        {
            return Ok(TextStep::Batch(batch));
        }
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
        let (decoded, is_full) = match &mut self.kind {
            Kind::Csv(decoder, _) => {
                let values = decoder.values().saturating_add(decoder.line_fields());
                let values = values.saturating_mul(CSV_BYTES_PER_VALUE);
                self.reservation.resize(most.saturating_add(values))?;
                if offered == 0 {
                    decoder.finish()?;
                }
                let decoded = decoder.decode(bytes)?;
                add_rejected(decoder, &self.path)?;
                let is_large = self.held_bytes + decoded >= CSV_BATCH_BYTES && decoder.values() > 0;
                (decoded, offered == 0 || decoder.is_full() || is_large)
            }
            Kind::Json(decoder) => {
                let bytes = whole_lines(bytes.get(..JSON_PIECE_BYTES).unwrap_or(bytes));
                self.held_values = self.held_values.saturating_add(values_at_most(bytes));
                let values = self.held_values.saturating_mul(JSON_BYTES_PER_VALUE);
                self.reservation.resize(most.saturating_add(values))?;
                // An empty slice tells the decoder that the input has ended.
                let decoded = decoder.decode(bytes).map_err(from_arrow_error)?;
                let is_large =
                    self.held_bytes + decoded >= JSON_BATCH_BYTES && !decoder.has_partial_record();
                (decoded, offered == 0 || decoded < bytes.len() || is_large)
            }
            Kind::JsonCount(counter) => {
                self.reservation.resize(held)?;
                let counted = counter.decode(bytes)?;
                (counted, offered == 0 || counter.is_full())
            }
        };
        self.feed.consume(decoded);
        // What is counted is not held.
        if !matches!(self.kind, Kind::JsonCount(_)) {
            self.held_bytes += decoded;
        }
        if !is_full {
            return Ok(TextStep::Progress);
        }
        Ok(match self.flush()? {
            Flushed::Nothing => TextStep::End,
            Flushed::Rows(batch) if batch.rows() == 0 => TextStep::Progress,
            Flushed::Rows(batch) => TextStep::Batch(batch),
        })
    }
}

/// What a decoder held.
enum Flushed {
    /// No row.
    Nothing,
    /// A batch; of rows that do not fit, it may have none.
    Rows(Batch),
}

impl TextReader {
    /// The rows of a chunk that was read: a batch has rows of one chunk.
    fn end_chunk(&mut self) -> Result<Option<Batch>> {
        Ok(match self.flush()? {
            Flushed::Rows(batch) if batch.rows() > 0 => Some(batch),
            _ => None,
        })
    }

    /// The rows that the decoder holds.
    fn flush(&mut self) -> Result<Flushed> {
        let batch = match &mut self.kind {
            Kind::Csv(decoder, options) => {
                let Some(rows) = decoder.flush() else { return Ok(Flushed::Nothing) };
                let (batch, dropped) = csv_batch(&rows, &self.fields, options, &self.path)?;
                if options.rejects.is_some() {
                    self.last = LastRows::of(rows, &dropped);
                }
                self.reservation.resize(batch.retained_bytes())?;
                batch
            }
            Kind::Json(decoder) => {
                let records = decoder.flush().map_err(from_arrow_error)?;
                let Some(records) = records else { return Ok(Flushed::Nothing) };
                self.reservation.resize(records.get_array_memory_size())?;
                json_batch(&records, &self.fields)?
            }
            Kind::JsonCount(counter) => match counter.flush()? {
                0 => return Ok(Flushed::Nothing),
                rows => Batch::new(Vec::new(), rows),
            },
        };
        (self.held_bytes, self.held_values) = (0, 0);
        Ok(Flushed::Rows(batch))
    }
}

/// The lines that are there as a whole, or else all: objects mostly end with their lines.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    memchr::memrchr(b'\n', bytes).map_or(bytes, |end| bytes.get(..=end).unwrap_or(bytes))
}

/// How many values of JSON there are at most: behind what opens, commas and colons.
fn values_at_most(bytes: &[u8]) -> usize {
    let is_before = |it: &u8| u8::from(matches!(it, b',' | b':' | b'[' | b'{'));
    // As many as a byte counts: so that many are counted by one instruction.
    let chunks = bytes.chunks(usize::from(u8::MAX));
    chunks.map(|chunk| usize::from(chunk.iter().map(is_before).sum::<u8>())).sum()
}

/// Collects the lines that the decoder left out.
fn add_rejected(decoder: &mut CsvDecoder, path: &str) -> Result<()> {
    let Some(rejects) = decoder.rejects() else { return Ok(()) };
    for Rejected { line, kind, message, text } in decoder.take_rejected() {
        let file = path.to_owned();
        rejects.add(RejectedLine { file, line, column: None, kind, text, message })?;
    }
    Ok(())
}

/// The lines as columns of their types; without those that do not fit, if they are ignored.
fn csv_batch(
    rows: &TextRows,
    fields: &[TextField],
    options: &CsvReadOptions,
    path: &str,
) -> Result<(Batch, Vec<usize>)> {
    let count = rows.count;
    let (mut columns, mut dropped) = (Vec::with_capacity(fields.len()), Vec::new());
    for ((column, field), place) in rows.columns.iter().zip(fields).zip(&rows.places) {
        let texts = Texts::new(&column.text, &column.offsets, column.nulls())?;
        let (vector, misfits) = parse_column(texts, field)?;
        for misfit in misfits {
            let line = rows.lines.get(misfit.row).copied().unwrap_or_default();
            if !options.ignore_errors {
                return Err(misfit.error.at("line", line).at("column", &field.name));
            }
            if let Some(rejects) = &options.rejects {
                rejects.add(RejectedLine {
                    file: path.to_owned(),
                    line: u64::try_from(line).unwrap_or_default(),
                    column: Some((place + 1, field.name.clone())),
                    kind: RejectKind::Cast,
                    text: rows.texts.get(misfit.row).cloned().unwrap_or_default(),
                    message: misfit.error.message().to_owned(),
                })?;
            }
            dropped.push(misfit.row);
        }
        columns.push(vector);
    }
    let batch = Batch::new(columns, count);
    if dropped.is_empty() {
        return Ok((batch, dropped));
    }
    dropped.sort_unstable();
    dropped.dedup();
    let kept = (0..count).filter(|it| dropped.binary_search(it).is_err());
    let batch = batch.select(&Rows::from_indices(count, kept));
    Ok((batch, dropped))
}

impl LastRows {
    /// Those that are not among `dropped`, which ascend.
    fn of(rows: TextRows, dropped: &[usize]) -> LastRows {
        let is_kept = |it: &usize| dropped.binary_search(it).is_err();
        let (lines, texts) =
            (rows.lines.into_iter().enumerate(), rows.texts.into_iter().enumerate());
        LastRows {
            lines: lines.filter(|it| is_kept(&it.0)).map(|it| it.1).collect(),
            texts: texts.filter(|it| is_kept(&it.0)).map(|it| it.1).collect(),
            places: rows.places,
        }
    }
}

/// What the decoder of JSON made, texts as values of their types.
fn json_batch(records: &RecordBatch, fields: &[TextField]) -> Result<Batch> {
    let column = |(array, field): (&ArrayRef, &TextField)| {
        let texts = array.as_any().downcast_ref::<StringArray>();
        let Some(texts) = texts.filter(|_| parses(&field.data_type)) else {
            return from_arrow(array);
        };
        let (vector, misfits) = parse_column(Texts::of_array(texts)?, field)?;
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
    use crate::tests::open_file;
    use crate::{CsvFile, JsonFile, JsonReadOptions};

    fn open(path: &std::path::Path) -> CsvFile {
        let (options, pool) = (CsvReadOptions::default(), Pool::root("test", None));
        CsvFile::open(open_file(path), &options, &pool).unwrap()
    }

    #[test]
    fn text_is_charged_before_its_rows_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.csv");
        // The quote on the second line is never closed.
        let text = format!("a,b\n1,\"{}", "x".repeat(8 << 20));
        std::fs::write(&path, text).unwrap();
        let file = open(&path);
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

    /// The rows of each batch of a JSON or CSV file, read with so much memory.
    fn batches(name: &str, text: &str, memory: usize) -> Result<Vec<usize>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let pool = Pool::root("query", Some(memory));
        let mut reader = if name.ends_with(".csv") {
            open(&path).read(&[0, 1], 1024, &pool)?
        } else {
            let free = Pool::root("test", None);
            let files = vec![open_file(&path)];
            let files = JsonFile::open_all(files, &JsonReadOptions::default(), &free)?;
            files[0].read(&[0], 1024, &pool)?
        };
        let mut batches = Vec::new();
        loop {
            match reader.step()? {
                TextStep::Batch(batch) => batches.push(batch.rows()),
                TextStep::Progress => {}
                TextStep::End => return Ok(batches),
            }
        }
    }

    #[test]
    fn long_rows_come_in_small_batches() {
        let list = format!("{{\"a\": [{}1]}}\n", "1,".repeat(100_000)).repeat(40);
        let text = format!("{{\"a\": \"{}\"}}\n", "x".repeat(200_000)).repeat(40);
        let lines = "a,b\n".to_owned() + &format!("1,{}\n", "x".repeat(200_000)).repeat(40);
        for (name, text) in [("f.json", &list), ("f.json", &text), ("f.csv", &lines)] {
            let rows = batches(name, text, 40 << 20).unwrap();
            assert_eq!(rows.iter().sum::<usize>(), 40);
            assert!(rows.len() > 4, "{rows:?}");
        }
        // Lines that are not too long come in whole batches.
        assert_eq!(
            batches("f.json", &"{\"a\": 1}\n".repeat(3000), 1 << 20).unwrap(),
            [1024, 1024, 952]
        );
    }

    #[test]
    fn values_of_json_are_charged() {
        // Much more values than bytes of text would tell.
        let object = format!("{{\"a\": [{}1]}}\n", "1,".repeat(1 << 20));
        let error = batches("f.json", &object, 16 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert_eq!(batches("f.json", &object, 128 << 20).unwrap(), [1]);
    }

    #[test]
    fn a_character_split_between_fields_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("split.csv");
        for bytes in [&b"a,b\n\xe6,\x97\xa5\n"[..], b"a,b\nx,\xe6\n\x97\xa5,y\n"] {
            std::fs::write(&path, bytes).unwrap();
            let file = open(&path);
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
