//! Files of JSON objects: one per line, concatenated, or in an array.

use crate::{
    chunks::FileChunks,
    columns::{TextField, parses},
    feed::Feed,
    input::{Compression, FileStream, READ_BYTES},
    json_chunks::{JsonChunks, JsonOrigin},
    json_count::ObjectCounter,
    json_sample::JsonSample,
    json_shape::Shape,
    reader::{Kind, TextReader, from_arrow_error},
    text_type::{TextFormats, TypeOrigin},
};
use arrow_schema::{DataType as ArrowType, Field as ArrowField, Schema as ArrowSchema};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::{
    Field, Schema, Type,
    custom::{Json, TimestampTz},
};
use volley_vector::arrow::type_from_arrow;

/// Lines that types are inferred from.
const SAMPLE_ROWS: usize = 20_480;

/// How JSON files are read.
#[derive(Clone, Debug, Default)]
pub struct JsonReadOptions {
    /// How objects stand in a file.
    pub format: JsonFormat,
    /// Names and types of the columns; empty: they are detected.
    pub columns: Vec<(String, Type)>,
    /// How files are compressed; `None`: as their names' endings tell.
    pub compression: Option<Compression>,
}

/// How objects stand in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonFormat {
    /// In an array, if a file begins with one.
    #[default]
    Auto,
    /// In an array.
    Array,
    /// One behind the other, with or without ends of lines between them.
    Lines,
}

/// A JSON file whose columns are known.
#[derive(Debug)]
pub struct JsonFile {
    file: Arc<dyn RandomAccessFile>,
    options: Arc<JsonReadOptions>,
    columns: Arc<Columns>,
}

/// The columns of files.
#[derive(Debug)]
struct Columns {
    /// What the decoder reads: texts where the schema may say dates.
    stored: ArrowSchema,
    /// What the columns are read as, to be cast to the types of `schema`.
    read_types: Vec<Type>,
    schema: Schema,
}

impl JsonFile {
    /// Infers the common columns of files from the beginning of each, unless the options
    /// say them. A file that lacks a column has nulls there. `pool` is charged with what that takes
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when there is no JSON object; unsupported: a field that is a list or an
    /// object in some lines and something else in others, columns of JSON in the options; out of
    /// memory: an object is too large.
    pub fn open_all(
        files: Vec<Arc<dyn RandomAccessFile>>,
        options: &JsonReadOptions,
        pool: &Pool,
    ) -> Result<Vec<JsonFile>> {
        let columns = match options.columns.is_empty() {
            true => found_columns(&files, options, pool)?,
            false => given_columns(&options.columns)?,
        };
        let (options, columns) = (Arc::new(options.clone()), Arc::new(columns));
        let file = |file| {
            let (options, columns) = (Arc::clone(&options), Arc::clone(&columns));
            JsonFile { file, options, columns }
        };
        Ok(files.into_iter().map(file).collect())
    }

    /// The type that the column at `place` is read as.
    pub fn read_type(&self, place: usize) -> Option<&Type> {
        self.columns.read_types.get(place)
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
        &self.columns.schema
    }

    /// The objects for several readers.
    pub fn chunks(&self, pool: &Pool) -> FileChunks {
        FileChunks::new(JsonChunks::new(JsonOrigin {
            file: Arc::clone(&self.file),
            options: Arc::clone(&self.options),
            pool: pool.clone(),
        }))
    }

    /// How many readers of chunks have something to do, at most.
    pub fn chunks_max(&self) -> u64 {
        self.file.size_bytes().div_ceil(READ_BYTES)
    }

    /// Reads the columns at `columns`, in batches of at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// Internal, if there is no such column.
    pub fn read(&self, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<TextReader> {
        let stream = begin(&self.file, &self.options, pool);
        let stream = stream.map_err(|it| it.at("file", self.path()))?;
        self.reader(Feed::Stream(Box::new(stream)), columns, batch_rows, pool)
    }

    /// As [`JsonFile::read`], of the objects that other readers of `chunks` do not take.
    ///
    /// # Errors
    ///
    /// As [`JsonFile::read`].
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
        let kind = match columns.is_empty() {
            true => Kind::JsonCount(ObjectCounter::new(batch_rows)),
            false => Kind::Json(Box::new(self.decoder(columns, batch_rows)?)),
        };
        let fields = columns.iter().map(|it| self.field(*it)).collect::<Option<Vec<_>>>();
        let fields = fields.ok_or_else(|| Error::internal("no such column"))?;
        Ok(TextReader::new(feed, kind, fields, self.path(), pool))
    }

    fn field(&self, index: usize) -> Option<TextField> {
        let Field { name, data_type } = self.schema().fields.get(index)?.clone();
        let is_found = self.options.columns.is_empty();
        let origin = if is_found { TypeOrigin::Found } else { TypeOrigin::Declared };
        Some(TextField { name, data_type, origin, formats: TextFormats::default() })
    }

    fn decoder(&self, columns: &[usize], rows: usize) -> Result<arrow_json::reader::Decoder> {
        let schema = self.columns.stored.project(columns).map_err(from_arrow_error)?;
        arrow_json::ReaderBuilder::new(Arc::new(schema))
            .with_batch_size(rows)
            .with_coerce_primitive(true)
            .build_decoder()
            .map_err(from_arrow_error)
    }
}

/// The columns of the decoder and of the table, for files without explicit columns.
fn found_columns(
    files: &[Arc<dyn RandomAccessFile>],
    options: &JsonReadOptions,
    pool: &Pool,
) -> Result<Columns> {
    let mut shape = Shape::Unknown;
    for file in files {
        let here = infer_shape(file, options, pool);
        let merged = here.and_then(|it| shape.merge(it));
        shape = merged.map_err(|it| it.at("file", file.path()))?;
    }
    let Shape::Object(columns) = shape else {
        let path = files.first().map(|it| it.path()).unwrap_or_default();
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
    let schema = Schema::new(fields);
    // The session's zone stands for one that is not written.
    let read_as = |it: &Type| if TimestampTz::is(it) { Type::Varchar } else { it.clone() };
    let read_types = schema.types().map(read_as).collect();
    Ok(Columns { stored: ArrowSchema::new(stored), read_types, schema })
}

/// As [`found_columns`], of columns as given: their values are read as text, within nested ones,
/// too.
fn given_columns(columns: &[(String, Type)]) -> Result<Columns> {
    let (mut stored, mut read_types) = (Vec::new(), Vec::new());
    for (name, data_type) in columns {
        if has_json(data_type) {
            let message = format!("option columns with {data_type}: {name}");
            let error = Error::unsupported(message);
            return Err(error.hint("such columns are read where types are found out"));
        }
        let read_type = match parses(data_type) {
            true => data_type.clone(),
            false => with_texts(data_type),
        };
        stored.push(ArrowField::new(name, arrow_of(&read_type), true));
        read_types.push(read_type);
    }
    let fields = columns.iter().map(|it| Field::new(&it.0, it.1.clone()));
    Ok(Columns { stored: ArrowSchema::new(stored), read_types, schema: fields.collect() })
}

/// Whether values of JSON are in it, which are not read as they stand in the file.
fn has_json(data_type: &Type) -> bool {
    match data_type {
        Type::Array(element) => has_json(element),
        Type::FixedArray(array) => has_json(&array.0),
        Type::Map(entry) => has_json(&entry.0) || has_json(&entry.1),
        Type::Row(fields) => fields.iter().any(|it| has_json(&it.data_type)),
        other => *other == Json::data_type(),
    }
}

/// The type with text in the place of all that has no parts.
fn with_texts(data_type: &Type) -> Type {
    match data_type {
        Type::Array(element) => Type::array(with_texts(element)),
        Type::FixedArray(array) => Type::array(with_texts(&array.0)),
        Type::Map(entry) => Type::map(Type::Varchar, with_texts(&entry.1)),
        Type::Row(fields) => {
            Type::row(fields.iter().map(|it| Field::new(&it.name, with_texts(&it.data_type))))
        }
        _ => Type::Varchar,
    }
}

/// What the decoder is to read for a type that [`with_texts`] gave, or one that is parsed here.
fn arrow_of(read_type: &Type) -> ArrowType {
    let field = |name: &str, it: &Type| ArrowField::new(name, arrow_of(it), true);
    match read_type {
        Type::Array(element) => ArrowType::List(Arc::new(field("item", element))),
        Type::Map(entry) => {
            let key = ArrowField::new("key", ArrowType::Utf8, false);
            let entry = ArrowType::Struct(vec![key, field("value", &entry.1)].into());
            ArrowType::Map(Arc::new(ArrowField::new("entries", entry, false)), false)
        }
        Type::Row(fields) => {
            ArrowType::Struct(fields.iter().map(|it| field(&it.name, &it.data_type)).collect())
        }
        _ => ArrowType::Utf8,
    }
}

/// A file from its first object on.
pub(crate) fn begin(
    file: &Arc<dyn RandomAccessFile>,
    options: &JsonReadOptions,
    pool: &Pool,
) -> Result<FileStream> {
    let compression = options.compression.unwrap_or_else(|| Compression::of(file.path()));
    let mut stream = FileStream::new(file, compression, pool)?;
    let first = stream.fill()?.iter().find(|it| !it.is_ascii_whitespace());
    let is_array = first == Some(&b'[');
    match options.format {
        JsonFormat::Array if !is_array && first.is_some() => {
            let error = Error::corruption("JSON file that is no array");
            return Err(error.hint("format = 'auto' reads it in any form"));
        }
        JsonFormat::Array | JsonFormat::Auto if is_array => stream.unwrap_array()?,
        _ => {}
    }
    Ok(stream)
}

/// What the first objects have in common.
fn infer_shape(
    file: &Arc<dyn RandomAccessFile>,
    options: &JsonReadOptions,
    pool: &Pool,
) -> Result<Shape> {
    let mut objects = JsonSample::new(begin(file, options, pool)?, pool);
    let mut shape = Shape::Unknown;
    for _ in 0..SAMPLE_ROWS {
        match objects.next()? {
            None => break,
            Some(object @ Shape::Object(_)) => shape = shape.merge(object)?,
            Some(_) => return Err(Error::corruption("JSON line that is no object")),
        }
    }
    Ok(shape)
}
