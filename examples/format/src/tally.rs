//! A format of files: numbers of 8 bytes behind the text `TALLY1`.

use bytes::Bytes;
use std::{
    io::Write,
    ops::Range,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use volley::{
    Batch, Error, Field, Pool, Reservation, Result, Schema, Type, Vector,
    connector::{
        FormatExtension, FormatFile, FormatReader, FormatRequest, FormatWriter, SourceStep,
    },
    io::{BufferPool, Pending, RandomAccessFile},
};

const MAGIC: &[u8] = b"TALLY1";

/// Numbers of a split: 4 MB.
const SPLIT_ROWS: u64 = 1 << 19;

/// The format, for `SessionBuilder::add_file_format`.
#[derive(Debug)]
pub struct TallyFormat;

impl FormatExtension for TallyFormat {
    fn name(&self) -> &'static str {
        "tally"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".tally"]
    }

    fn open(&self, file: Arc<dyn RandomAccessFile>, _pool: &Pool) -> Result<Arc<dyn FormatFile>> {
        let begin = file.read(0..file.size_bytes().min(MAGIC.len() as u64))?;
        if begin != MAGIC {
            let error = Error::corruption("not a tally: it does not begin with TALLY1");
            return Err(error.at("file", file.path()));
        }
        let bytes = file.size_bytes() - MAGIC.len() as u64;
        if !bytes.is_multiple_of(8) {
            return Err(Error::corruption("a tally has 8 bytes per number").at("file", file.path()));
        }
        let schema = Schema::new(vec![Field::new("n", Type::BigInt)]);
        Ok(Arc::new(Tally { file, schema, rows: bytes / 8 }))
    }

    fn write(
        &self,
        mut output: Box<dyn Write + Send>,
        columns: &Schema,
        options: &[(String, String)],
    ) -> Result<Box<dyn FormatWriter>> {
        let [Field { data_type: Type::BigInt | Type::Integer, .. }] = columns.fields.as_slice()
        else {
            return Err(Error::unsupported("a tally has one column of integers"));
        };
        if let Some((name, _)) = options.first() {
            return Err(Error::invalid_query(format!("a tally has no option {name}")));
        }
        output.write_all(MAGIC).map_err(|it| Error::io("tally", it))?;
        Ok(Box::new(TallyWriter(output)))
    }
}

/// An open file.
#[derive(Debug)]
struct Tally {
    file: Arc<dyn RandomAccessFile>,
    schema: Schema,
    rows: u64,
}

impl Tally {
    /// The numbers of a split.
    fn rows_of(&self, split: usize) -> Range<u64> {
        let start = (split as u64 * SPLIT_ROWS).min(self.rows);
        start..(start + SPLIT_ROWS).min(self.rows)
    }
}

impl FormatFile for Tally {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    fn splits(&self) -> usize {
        self.rows.div_ceil(SPLIT_ROWS) as usize
    }

    fn split_bytes(&self, split: usize) -> u64 {
        let rows = self.rows_of(split);
        (rows.end - rows.start) * 8
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn read(
        &self,
        split: usize,
        columns: &[usize],
        request: &FormatRequest,
    ) -> Result<Box<dyn FormatReader>> {
        let rows = self.rows_of(split);
        let start = MAGIC.len() as u64 + rows.start * 8;
        let bytes = start..start + (rows.end - rows.start) * 8;
        let mut charge = request.pool.reservation();
        charge.resize((bytes.end - bytes.start) as usize)?;
        let len = bytes.end - bytes.start;
        let reading = Arc::clone(&self.file).start_read(bytes, &BufferPool::default());
        let (columns, batch_rows) = (columns.len(), request.batch_rows);
        let rest = Bytes::new();
        Ok(Box::new(TallyReader { reading: Some(reading), rest, len, columns, batch_rows, charge }))
    }
}

/// Reads a split with one request.
struct TallyReader {
    reading: Option<Pending<Bytes>>,
    /// Numbers that come next.
    rest: Bytes,
    len: u64,
    /// How many times the only column is asked for: not at all when rows are counted.
    columns: usize,
    batch_rows: usize,
    /// Of the bytes, released with the reader.
    #[expect(dead_code, reason = "it is held, and not looked at")]
    charge: Reservation,
}

impl FormatReader for TallyReader {
    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        if let Some(reading) = &mut self.reading {
            match reading.as_mut().poll(&mut Context::from_waker(waker)) {
                Poll::Pending => return Ok(SourceStep::Blocked),
                Poll::Ready(bytes) => self.rest = bytes?,
            }
            self.reading = None;
        }
        let rows = self.batch_rows.min(self.rest.len() / 8);
        if rows == 0 {
            return Ok(SourceStep::NeedSplit);
        }
        let bytes = self.rest.split_to(rows * 8);
        let numbers = bytes.chunks_exact(8).filter_map(|it| it.try_into().ok());
        let numbers: Vec<i64> = numbers.map(i64::from_le_bytes).collect();
        let column = Vector::native::<i64>(Type::BigInt, numbers, None);
        Ok(SourceStep::Batch(Batch::new(vec![column; self.columns], rows)))
    }

    fn bytes_read(&self) -> u64 {
        if self.reading.is_none() { self.len } else { 0 }
    }
}

struct TallyWriter(Box<dyn Write + Send>);

impl FormatWriter for TallyWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let mut bytes = Vec::with_capacity(batch.rows() * 8);
        for value in batch.column(0).to_values()? {
            let number = value.as_i128().and_then(|it| i64::try_from(it).ok());
            let number = number.ok_or_else(|| Error::invalid_value("a tally has no nulls"))?;
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.0.write_all(&bytes).map_err(|it| Error::io("tally", it))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.0.flush().map_err(|it| Error::io("tally", it))
    }
}
