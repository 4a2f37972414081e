//! CSV files.

use crate::{
    columns::{TextField, parses},
    csv_chunks::{CsvChunks, Origin},
    csv_decode::{CsvDecoder, CsvShape},
    csv_format::detect_format,
    csv_options::CsvReadOptions,
    feed::Feed,
    input::{Compression, FileStream, READ_BYTES},
    reader::{Kind, TextReader},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::{RandomAccessFile, open_file};
use volley_memory::Pool;
use volley_types::{Schema, Type};

/// A CSV file whose format is known.
#[derive(Clone, Debug)]
pub struct CsvFile {
    file: Arc<dyn RandomAccessFile>,
    options: Arc<CsvReadOptions>,
    shape: CsvShape,
    schema: Schema,
}

impl CsvFile {
    /// Opens a file and finds out from its beginning what the options do not say: delimiter,
    /// header, types.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the file is empty; invalid query: options that do not fit the file.
    pub fn open(path: &str, options: &CsvReadOptions) -> Result<CsvFile> {
        let file = open_file(path)?;
        let options = Arc::new(options.clone());
        let found = detect_format(|| begin(&file, &options), &options);
        let (shape, schema) = found.map_err(|it| it.at("file", path))?;
        Ok(CsvFile { file, options, shape, schema })
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
        for field in &mut file.schema.fields {
            let wanted = schema.index_of(&field.name).and_then(|it| schema.fields.get(it));
            if let Some(wanted) = wanted {
                field.data_type = wanted.data_type.clone();
            }
        }
        file
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
    pub fn chunks(&self, pool: &Pool) -> Option<CsvChunks> {
        CsvChunks::new(Origin {
            file: Arc::clone(&self.file),
            options: Arc::clone(&self.options),
            shape: self.shape,
            pool: pool.clone(),
        })
    }

    /// How many readers of chunks have something to do, at most.
    pub fn chunks_max(&self) -> u64 {
        self.file.size_bytes().div_ceil(READ_BYTES)
    }

    /// Reads the columns at `columns`, in batches of at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// I/O; internal, when there is no such column.
    pub fn read(&self, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<TextReader> {
        let stream = begin(&self.file, &self.options).map_err(|it| it.at("file", self.path()))?;
        self.reader(Feed::Stream(Box::new(stream)), columns, batch_rows, pool)
    }

    /// As [`CsvFile::read`], of the lines that other readers of `chunks` do not take.
    ///
    /// # Errors
    ///
    /// As [`CsvFile::read`].
    pub fn read_chunks(
        &self,
        chunks: &Arc<CsvChunks>,
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
        Some(TextField { name: field.name, data_type: field.data_type, origin })
    }
}

/// The file from its first line on that counts.
pub(crate) fn begin(
    file: &Arc<dyn RandomAccessFile>,
    options: &CsvReadOptions,
) -> Result<FileStream> {
    let compression = options.compression.unwrap_or_else(|| Compression::of(file.path()));
    let mut stream = FileStream::new(file, compression)?;
    stream.skip_lines(options.skip_lines)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_all_lines_if_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.csv");
        // Much more lines than are looked at by default, in few bytes.
        let lines: String = (0..50_000).map(|it| format!("{it},{it}\n")).collect();
        std::fs::write(&path, format!("i,j\n{lines}1,x\n")).unwrap();
        let type_of = |sample_rows| {
            let options = CsvReadOptions { sample_rows, ..CsvReadOptions::default() };
            let file = CsvFile::open(path.to_str().unwrap(), &options).unwrap();
            file.schema().fields[1].data_type.clone()
        };
        assert_eq!(type_of(CsvReadOptions::default().sample_rows), Type::BigInt);
        assert_eq!(type_of(u64::MAX), Type::Varchar);
        assert_eq!(type_of(60_000), Type::Varchar);
    }
}
