//! CSV files.

use crate::{
    chunks::FileChunks,
    columns::{TextField, parses},
    csv_chunks::{CsvChunks, Origin},
    csv_decode::{CsvDecoder, CsvShape},
    csv_format::{Detected, detect_format},
    csv_options::{CsvReadOptions, NewLine},
    feed::Feed,
    input::{Compression, FileStream, READ_BYTES},
    reader::{Kind, TextReader},
    text_type::TextFormats,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::{Schema, Type};

/// A CSV file whose format is known.
#[derive(Clone, Debug)]
pub struct CsvFile {
    file: Arc<dyn RandomAccessFile>,
    options: Arc<CsvReadOptions>,
    shape: CsvShape,
    schema: Schema,
    /// For each column, how its dates or timestamps are written, if that was detected.
    formats: Arc<[Option<TextFormats>]>,
}

impl CsvFile {
    /// Finds out from the beginning of a file what the options do not say: delimiter, header,
    /// types. `pool` is charged with what that takes meanwhile.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the file is empty; invalid query: options that do not fit the file;
    /// out of memory: a line is too long.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        options: &CsvReadOptions,
        pool: &Pool,
    ) -> Result<CsvFile> {
        let options = Arc::new(options.clone());
        let found = detect_format(|| begin(&file, &options, pool), &options, pool);
        let Detected { shape, schema, formats } = found.map_err(|it| it.at("file", file.path()))?;
        Ok(CsvFile { file, options, shape, schema, formats: formats.into() })
    }

    /// What is read.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.file.path()
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The file with the types that a schema has for its columns, by name.
    pub fn with_types(&self, schema: &Schema) -> CsvFile {
        let mut file = self.clone();
        for (place, field) in file.schema.fields.iter_mut().enumerate() {
            let wanted = schema.index_near(&field.name, place);
            let wanted = wanted.and_then(|it| schema.fields.get(it));
            if let Some(wanted) = wanted {
                field.data_type = wanted.data_type.clone();
            }
        }
        file
    }

    /// What stands between fields, or [`NO_DELIMITER`](crate::NO_DELIMITER).
    pub fn delimiter(&self) -> u8 {
        self.shape.delimiter
    }

    /// How dates, times and numbers of a column are written.
    pub fn formats_of(&self, index: usize) -> TextFormats {
        let given = &self.options.formats;
        match self.formats.get(index).and_then(Option::as_ref) {
            Some(found) => TextFormats {
                date: given.date.clone().or_else(|| found.date.clone()),
                timestamp: given.timestamp.clone().or_else(|| found.timestamp.clone()),
                has_decimal_comma: given.has_decimal_comma,
            },
            None => given.clone(),
        }
    }

    /// Whether the first line has the names of the columns.
    pub fn has_header(&self) -> bool {
        self.shape.has_header
    }

    /// What ends the first line, as the option `new_line` writes it.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn line_end(&self, pool: &Pool) -> Result<&'static str> {
        match self.options.form.new_line {
            NewLine::Lf => return Ok("\\n"),
            NewLine::Cr => return Ok("\\r"),
            NewLine::CrLf => return Ok("\\r\\n"),
            NewLine::Any => {}
        }
        let mut stream = begin(&self.file, &self.options, pool)?;
        let bytes = stream.fill()?;
        let end = bytes.iter().position(|it| matches!(it, b'\n' | b'\r'));
        let end = end.and_then(|it| bytes.get(it..)).unwrap_or_default();
        Ok(match end {
            [b'\r', b'\n', ..] => "\\r\\n",
            [b'\r', ..] => "\\r",
            _ => "\\n",
        })
    }

    /// Whether lines that do not fit are left out.
    pub fn ignores_errors(&self) -> bool {
        self.options.ignore_errors
    }

    /// Whether columns of this type are read as such; others are read as VARCHAR.
    pub fn reads(data_type: &Type) -> bool {
        parses(data_type)
    }

    /// The lines for several readers; `None`, when one has to read them all.
    pub fn chunks(&self, pool: &Pool) -> Option<FileChunks> {
        let chunks = CsvChunks::new(Origin {
            file: Arc::clone(&self.file),
            options: Arc::clone(&self.options),
            shape: self.shape,
            pool: pool.clone(),
        });
        chunks.map(FileChunks::new)
    }

    /// How many readers of chunks have something to do, at most.
    pub fn chunks_max(&self) -> u64 {
        self.file.size_bytes().div_ceil(READ_BYTES)
    }

    /// Reads the columns at `columns`, in batches of at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// I/O; internal, if there is no such column.
    pub fn read(&self, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<TextReader> {
        let stream = begin(&self.file, &self.options, pool);
        let stream = stream.map_err(|it| it.at("file", self.path()))?;
        self.reader(Feed::Stream(Box::new(stream)), columns, batch_rows, pool)
    }

    /// As [`CsvFile::read`], of the lines that other readers of `chunks` do not take.
    ///
    /// # Errors
    ///
    /// As [`CsvFile::read`].
    pub fn read_chunks(
        &self,
        chunks: &Arc<FileChunks>,
        columns: &[usize],
        batch_rows: usize,
        pool: &Pool,
    ) -> Result<TextReader> {
        self.reader(Feed::chunks(chunks), columns, batch_rows, pool)
    }

    fn reader(
        &self,
        feed: Feed,
        columns: &[usize],
        batch_rows: usize,
        pool: &Pool,
    ) -> Result<TextReader> {
        let options = Arc::clone(&self.options);
        let decoder = CsvDecoder::new(options, self.shape, columns.to_vec(), batch_rows);
        let fields = columns.iter().map(|it| self.field(*it)).collect::<Option<Vec<_>>>();
        let fields = fields.ok_or_else(|| Error::internal("no such column"))?;
        let kind = Kind::Csv(Box::new(decoder), Arc::clone(&self.options));
        Ok(TextReader::new(feed, kind, fields, self.path(), pool))
    }

    fn field(&self, index: usize) -> Option<TextField> {
        let field = self.schema.fields.get(index)?.clone();
        let origin = self.options.type_origin(index, &field.name);
        Some(TextField {
            name: field.name,
            data_type: field.data_type,
            origin,
            formats: self.formats_of(index),
        })
    }
}

/// The file from its first line on that counts.
pub(crate) fn begin(
    file: &Arc<dyn RandomAccessFile>,
    options: &CsvReadOptions,
    pool: &Pool,
) -> Result<FileStream> {
    let compression = options.compression.unwrap_or_else(|| Compression::of(file.path()));
    let stream = FileStream::new(file, compression, pool)?.transcoded(options.encoding)?;
    let mut stream = stream.with_delimiter(options.delimiter_text.as_deref())?;
    stream.skip_lines(options.skip_lines)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::open_file;
    use volley_error::ErrorKind;

    /// A file of these pieces, opened with so much memory.
    fn open(pieces: &[&str], memory: Option<usize>) -> Result<CsvFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.csv");
        std::fs::write(&path, pieces.concat()).unwrap();
        let pool = Pool::root("test", memory);
        let file = CsvFile::open(open_file(&path), &CsvReadOptions::default(), &pool);
        assert_eq!(pool.stats().bytes, 0);
        file
    }

    #[test]
    fn a_first_line_may_be_longer_than_a_sample() {
        let long = "x".repeat(6 << 20);
        let file = open(&[&long, ",b\n1,2\n"], None).unwrap();
        assert_eq!(file.schema().len(), 2);
        assert_eq!(file.schema().fields[1].name, "b");
        let file = open(&["a,\"", &long, "\n\"\n1,2\n"], None).unwrap();
        assert_eq!(
            file.schema().types().cloned().collect::<Vec<_>>(),
            [Type::BigInt, Type::BigInt]
        );
    }

    #[test]
    fn what_finding_out_a_format_takes_is_charged() {
        let long = "x".repeat(6 << 20);
        for pieces in [&[&long, ",b\n1,2\n"][..], &["a,b\n1,\"", &long, "\"\n"]] {
            let error = open(pieces, Some(8 << 20)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        }
    }

    #[test]
    fn less_is_looked_at_where_memory_is_short() {
        let lines = "1;2.5;x\n".repeat(1 << 20);
        let file = open(&["a;b;c\n", &lines], Some(1 << 20)).unwrap();
        let types: Vec<Type> = file.schema().types().cloned().collect();
        assert_eq!(types, [Type::BigInt, Type::Double, Type::Varchar]);
    }

    #[test]
    fn names_may_be_many_and_the_same() {
        let header = "a,".repeat(50_000) + "A_3,a\n";
        let file = open(&[&header, &"1,".repeat(50_001), "1\n"], None).unwrap();
        let names: Vec<&str> = file.schema().fields.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names[..4], ["a", "a_1", "a_2", "a_3"]);
        assert_eq!(names[50_000..], ["A_3_1", "a_50000"]);
    }

    #[test]
    fn types_are_those_of_all_lines_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.csv");
        // Much more lines than are looked at by default, in few bytes.
        let lines: String = (0..50_000).map(|it| format!("{it},{it}\n")).collect();
        std::fs::write(&path, format!("i,j\n{lines}1,x\n")).unwrap();
        let type_of = |sample_rows| {
            let options = CsvReadOptions { sample_rows, ..CsvReadOptions::default() };
            let pool = Pool::root("test", None);
            let file = CsvFile::open(open_file(&path), &options, &pool).unwrap();
            file.schema().fields[1].data_type.clone()
        };
        assert_eq!(type_of(CsvReadOptions::default().sample_rows), Type::BigInt);
        assert_eq!(type_of(u64::MAX), Type::Varchar);
        assert_eq!(type_of(60_000), Type::Varchar);
    }
}
